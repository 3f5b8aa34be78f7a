//! What a shard is told once.

use crate::{ACCOUNT_LEN_MAX, APART_LEN, UniqueIdentities};
use scurry_codec::HashKey;
use scurry_ledger::Limits;

/// The settings of one shard.
#[derive(Clone, Debug)]
pub struct Config {
    /// Bounds and defaults of the ledger.
    pub limits: Limits,
    /// Bytes above which nothing is taken that needs more memory.
    pub memory_max: Option<u64>,
    /// The secret of the hash table. All shards of one server share it. A server draws it from
    /// the operating system's randomness at each start; a simulation fixes it.
    pub hash_key: HashKey,
    /// Number of this node in versions of entities, 0 to [`crate::NODE_MAX`]. Shards that may
    /// hold copies of one entity need different ones.
    pub node: u16,
    /// Kinds of identities of which no two accounts may have the same; none where each kind may be had
    /// by many. All shards of one server have clones of one.
    pub unique_identities: Option<UniqueIdentities>,
    /// Entities can be found by their value.
    pub entity_index: bool,
    /// How long a deleted entity is remembered, ms: longer than any copy of a write may be late.
    pub entity_tombstone_ms: i64,
    /// Bytes of sessions, tombstones and transactions above which an account is kept in parts, so that
    /// its commands cost no more than those of a small one.
    pub apart_len: usize,
    /// Bytes of them above which an account takes no more, at most [`ACCOUNT_LEN_MAX`].
    pub account_len_max: usize,
    /// How far a writer's version may lie ahead of this shard's clock, ms.
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
