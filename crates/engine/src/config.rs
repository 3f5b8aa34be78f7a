//! What a shard is told once.

use scurry_ledger::Limits;

/// The settings of one shard.
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// Bounds and defaults of the ledger.
    pub limits: Limits,
    /// Commands that would take more memory are refused above this many bytes.
    pub memory_max: Option<u64>,
    /// Seed of the hash table; a server draws it at random, a simulation fixes it.
    pub hash_seed: u64,
}
