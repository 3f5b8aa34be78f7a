//! The settings of a shard, fixed at its start.

use crate::{ACCOUNT_LEN_MAX, APART_LEN, UniqueIdentities};
use scurry_codec::HashKey;
use scurry_ledger::Limits;

/// The settings of one shard.
#[derive(Clone, Debug)]
pub struct Config {
    /// Limits and defaults of the ledger.
    pub limits: Limits,
    /// Bytes above which commands that need more memory are refused; None for no limit.
    pub memory_max: Option<u64>,
    /// The secret of the hash table, shared by all shards of one server. A server draws it from the operating system's
    /// randomness at each start; a simulation fixes it.
    pub hash_key: HashKey,
    /// Number of this node in versions of entities, 0 to [`crate::NODE_MAX`]. Shards that may hold copies of the same
    /// entity need different numbers.
    pub node: u16,
    /// Kinds of identities that must be unique; None when no kind is unique. All shards of one server have clones of
    /// the same value.
    pub unique_identities: Option<UniqueIdentities>,
    /// Whether entities can be found by their value.
    pub entity_index: bool,
    /// How long a tombstone is kept, ms: longer than any copy of a write can be delayed.
    pub entity_tombstone_ms: i64,
    /// Bytes of sessions, tombstones and transactions above which an account is kept in parts, so that its commands
    /// cost no more than those of a small account.
    pub apart_len: usize,
    /// Most bytes of them that an account may have, at most [`ACCOUNT_LEN_MAX`].
    pub account_len_max: usize,
    /// Most milliseconds that a writer's version may be ahead of this shard's clock.
    pub version_ahead_ms_max: i64,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            limits: Limits::default(),
            memory_max: None,
            hash_key: HashKey::known(0),
            node: 0,
            unique_identities: None,
            entity_index: false,
            entity_tombstone_ms: 24 * 3_600_000,
            apart_len: APART_LEN,
            account_len_max: ACCOUNT_LEN_MAX,
            version_ahead_ms_max: 3_600_000,
        }
    }
}
