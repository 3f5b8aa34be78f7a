//! Bounds: everything that can grow has one. They are arguments of `decide`, never read from
//! a global, so that every host of one account can show which bounds it decided under.

use crate::Overrun;

/// Account id, longest, bytes.
pub const ACCOUNT_ID_LEN_MAX: usize = 128;
/// Answers that an open session can keep at most (the configurable bound is below or equal).
pub const ANSWERS_MAX: usize = 8;
/// The greatest bound on the sessions, session ids or transactions of one account.
pub const IDS_MAX: usize = 100_000_000;
/// Items in one session or one request at most.
pub const ITEMS_MAX: usize = 16;
/// Buckets in one account at most.
pub const BUCKETS_MAX: usize = 64;
/// Limits in one account at most (the configurable bound is below or equal): each is looked at by
/// every grant.
pub const LIMITS_MAX: usize = 16;
/// Commands in one chain at most.
pub const CHAIN_MAX: usize = 16;
/// Opaque blob, longest, bytes.
pub const BLOB_LEN_MAX: usize = 1024;

/// The configurable bounds and defaults of one store.
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
    /// Items of one session and of one request, at most [`ITEMS_MAX`].
    pub items_max: usize,
    /// Stored answers of one open session, 1 to [`ANSWERS_MAX`].
    pub answers_max: usize,
    /// Remembered transaction ids of one account.
    pub transactions_max: usize,
    /// Opaque blob of a session, bytes, at most [`BLOB_LEN_MAX`].
    pub blob_len_max: usize,
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
            answers_max: ANSWERS_MAX,
            // More than a thousand a second for the hour in which they are remembered.
            transactions_max: 4_000_000,
            blob_len_max: 256,
            tombstone_ms: 240_000,
            transaction_ms: 3_600_000,
            validity_ms_default: 600_000,
            tcc_ms_max: 7 * 24 * 3_600_000,
            overrun_default: Overrun::Overdraw,
        }
    }
}
