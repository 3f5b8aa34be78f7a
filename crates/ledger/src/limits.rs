//! Bounds: everything that can grow has one. They are arguments of `decide` and never read from a global, so that each
//! host of an account can show which bounds it used for a decision.

use crate::Overrun;

/// Longest account id, bytes.
pub const ACCOUNT_ID_LEN_MAX: usize = 128;
/// Most answers that an open session can keep (the configured bound is at most this).
pub const ANSWERS_MAX: usize = 8;
/// Greatest configurable bound on the sessions, session ids or transactions of one account.
pub const IDS_MAX: usize = 100_000_000;
/// Most items in one command (the configured bound is at most this).
pub const ITEMS_MAX: usize = 64;
/// Most items in one session (the configured bound is at most this): [`crate::ItemAt`] has a byte for the position.
pub const SESSION_ITEMS_MAX: usize = 256;
/// Most buckets in one account.
pub const BUCKETS_MAX: usize = 64;
/// Most keys of the items that one bucket is for.
pub const BUCKET_KEYS_MAX: usize = 64;
/// Most limits in one account (the configured bound is at most this). Every grant looks at each of them.
pub const LIMITS_MAX: usize = 16;
/// Most former identities of one account.
pub const FORMER_IDENTITIES_MAX: usize = 16;
/// Most commands in one chain.
pub const CHAIN_MAX: usize = 16;
/// Longest opaque blob, bytes.
pub const BLOB_LEN_MAX: usize = 1024;

/// Configurable bounds and defaults of one store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Identities of one account.
    pub identities_max: usize,
    /// Buckets of one account, at most [`BUCKETS_MAX`].
    pub buckets_max: usize,
    /// Counters of one account.
    pub counters_max: usize,
    /// Limits of one account ([`crate::Limit`]), at most [`LIMITS_MAX`].
    pub limits_max: usize,
    /// Open sessions of one account.
    pub sessions_max: usize,
    /// Open sessions and tombstones of one account together.
    pub session_ids_max: usize,
    /// Items of one command, at most [`ITEMS_MAX`].
    pub items_max: usize,
    /// Items of one session, at most [`SESSION_ITEMS_MAX`].
    pub session_items_max: usize,
    /// Stored answers of one open session, 1 to [`ANSWERS_MAX`].
    pub answers_max: usize,
    /// Remembered transaction ids of one account.
    pub transactions_max: usize,
    /// Opaque blob of a session, bytes, at most [`BLOB_LEN_MAX`].
    pub blob_len_max: usize,
    /// Denials that one command records for readers of the log, at most [`ITEMS_MAX`]; 0 for none.
    pub denials_max: usize,
    /// How long a closed session is remembered, ms.
    pub tombstone_ms: i64,
    /// How long a transaction id is remembered, ms.
    pub transaction_ms: i64,
    /// Validity of a grant when the request names none, ms. Tcc defaults to twice that.
    pub validity_ms_default: i64,
    /// Longest Tcc, ms.
    pub tcc_ms_max: i64,
    /// Overrun policy of sessions that name none.
    pub overrun_default: Overrun,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            identities_max: 8,
            buckets_max: 32,
            counters_max: 32,
            limits_max: LIMITS_MAX,
            sessions_max: 1_000_000,
            session_ids_max: 4_000_000,
            items_max: ITEMS_MAX,
            session_items_max: SESSION_ITEMS_MAX,
            answers_max: ANSWERS_MAX,
            // More than a thousand a second for the hour in which they are remembered.
            transactions_max: 4_000_000,
            blob_len_max: 256,
            denials_max: 16,
            tombstone_ms: 240_000,
            transaction_ms: 3_600_000,
            validity_ms_default: 600_000,
            tcc_ms_max: 7 * 24 * 3_600_000,
            overrun_default: Overrun::Overdraw,
        }
    }
}
