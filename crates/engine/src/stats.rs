//! What a shard counts.

/// Counts since the shard began, and what it holds now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Bytes of entries, table and timers, as the shard counts them.
    pub memory_bytes: u64,
    /// Keys that exist.
    pub keys: u64,
    /// Of these, accounts.
    pub accounts: u64,
    /// Commits, denials and those of timers included.
    pub commits: u64,
    /// Denials.
    pub denials: u64,
    /// Duplicates that got their stored answer.
    pub replays: u64,
    /// Refusals.
    pub rejects: u64,
    /// Commits made by timers.
    pub expiries: u64,
    /// Commands refused for want of memory.
    pub out_of_memory: u64,
}
