//! The counters of a shard.

use scurry_ledger::Cause;

/// Counts since the shard was created, and its current contents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Bytes of everything in the shard, as the shard counts them: the sum of [`Stats::memory`].
    pub memory_bytes: u64,
    /// Those bytes by kind.
    pub memory: Memory,
    /// Existing keys. Expired keys count until a timer removes them.
    pub keys: u64,
    /// Keys that are accounts.
    pub accounts: u64,
    /// Keys that are plain values.
    pub values: u64,
    /// Keys that are live entities.
    pub entities: u64,
    /// Values and entities that expire.
    pub expiring: u64,
    /// Remembered tombstones of deleted entities. They are not keys.
    pub tombstones: u64,
    /// Armed timers: at most one for each entry in which something can become due.
    pub timers: u64,
    /// Commits, including denials and commits by timers.
    pub commits: u64,
    /// Denials by cause.
    pub denials: Denials,
    /// Duplicates that got their stored answer.
    pub replays: u64,
    /// Rejected commands.
    pub rejects: u64,
    /// Commits made by timers.
    pub expiries: u64,
    /// Sessions that timers ended.
    pub sessions_expired: u64,
    /// Buckets whose available amount timers expired.
    pub buckets_expired: u64,
    /// Plain values and entities that expired, and tombstones that were forgotten.
    pub expired: u64,
    /// Commands refused for lack of memory.
    pub out_of_memory: u64,
    /// Most keys that one look-up has compared. Above [`PROBE_LEN_MAX`] a client is making keys collide.
    pub longest_probe: u32,
}

/// Most keys that a look-up compares while hashes are well spread. A segment has 448 entries and tags of seven bits, so
/// a look-up that passed all of them would meet three and a half other keys with its tag, and it passes fewer. Meeting
/// 16 by chance in one look-up is less likely than 2^-60. Beyond it nothing is refused: look-ups stay correct and
/// become slow.
pub const PROBE_LEN_MAX: u32 = 16;

/// Denials by cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Denials {
    /// The buckets of the unit have too little.
    pub balance: u64,
    /// The account has no bucket of the unit.
    pub no_bucket: u64,
    /// A limit is reached.
    pub limit: u64,
    /// Another command of the same chain was denied.
    pub chain: u64,
    /// The account is suspended or closed.
    pub status: u64,
    /// The session has as many items as it may have.
    pub items: u64,
}

impl Denials {
    pub(crate) fn count(&mut self, cause: Cause) {
        match cause {
            // New denials always have a cause: only older stored answers lack one.
            Cause::Balance | Cause::Bucket(_) | Cause::None | Cause::Untold => self.balance += 1,
            Cause::NoBucket => self.no_bucket += 1,
            Cause::Limit { .. } => self.limit += 1,
            Cause::Chain => self.chain += 1,
            Cause::Status => self.status += 1,
            Cause::Items => self.items += 1,
        }
    }

    /// Adds the counts of another shard.
    pub fn add(&mut self, other: &Denials) {
        self.balance += other.balance;
        self.no_bucket += other.no_bucket;
        self.limit += other.limit;
        self.chain += other.chain;
        self.status += other.status;
        self.items += other.items;
    }

    /// Returns the denials with the code CREDIT_LIMIT_REACHED.
    pub fn for_credit(&self) -> u64 {
        self.balance + self.no_bucket + self.limit + self.items
    }

    /// Returns the sum of all denials.
    pub fn sum(&self) -> u64 {
        self.for_credit() + self.chain + self.status
    }
}

/// Bytes by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// Entries of accounts, and blocks kept for them.
    pub accounts: u64,
    /// Entries of plain values.
    pub values: u64,
    /// Entries of entities, and tombstones.
    pub entities: u64,
    /// Slots and directory of the table.
    pub table: u64,
    /// Timers.
    pub timers: u64,
    /// The indexes: of accounts by identity, of entities by value.
    pub index: u64,
}

impl Memory {
    /// Adds the bytes of another shard.
    pub fn add(&mut self, other: &Memory) {
        self.accounts += other.accounts;
        self.values += other.values;
        self.entities += other.entities;
        self.table += other.table;
        self.timers += other.timers;
        self.index += other.index;
    }

    /// Returns the sum of all kinds.
    pub fn sum(&self) -> u64 {
        self.accounts + self.values + self.entities + self.table + self.timers + self.index
    }
}

impl Stats {
    /// Adds the counts of another shard.
    pub fn add(&mut self, other: &Stats) {
        self.memory_bytes += other.memory_bytes;
        self.memory.add(&other.memory);
        self.keys += other.keys;
        self.accounts += other.accounts;
        self.values += other.values;
        self.entities += other.entities;
        self.expiring += other.expiring;
        self.tombstones += other.tombstones;
        self.timers += other.timers;
        self.commits += other.commits;
        self.denials.add(&other.denials);
        self.replays += other.replays;
        self.rejects += other.rejects;
        self.expiries += other.expiries;
        self.sessions_expired += other.sessions_expired;
        self.buckets_expired += other.buckets_expired;
        self.expired += other.expired;
        self.out_of_memory += other.out_of_memory;
        self.longest_probe = self.longest_probe.max(other.longest_probe);
    }
}
