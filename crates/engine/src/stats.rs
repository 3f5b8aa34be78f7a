//! What a shard counts.

use scurry_ledger::Cause;

/// Counts since the shard began, and what it holds now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Bytes of all that the shard holds, as it counts them: the sum of [`Stats::memory`].
    pub memory_bytes: u64,
    /// The same by kind.
    pub memory: Memory,
    /// Keys that exist. Those that have expired count until a timer has removed them.
    pub keys: u64,
    /// Of these, accounts.
    pub accounts: u64,
    /// Of these, plain values.
    pub values: u64,
    /// Of these, entities that live.
    pub entities: u64,
    /// Of values and entities, those that expire.
    pub expiring: u64,
    /// Deleted entities that are remembered. They are not keys.
    pub tombstones: u64,
    /// Timers that are armed: one at most for each entry that can come due.
    pub timers: u64,
    /// Commits, denials and those of timers included.
    pub commits: u64,
    /// Denials by cause.
    pub denials: Denials,
    /// Duplicates that got their stored answer.
    pub replays: u64,
    /// Refusals.
    pub rejects: u64,
    /// Commits made by timers.
    pub expiries: u64,
    /// Sessions that these ended.
    pub sessions_expired: u64,
    /// Buckets whose available amount these expired.
    pub buckets_expired: u64,
    /// Plain values and entities that expired, and tombstones that were forgotten.
    pub expired: u64,
    /// Commands refused for want of memory.
    pub out_of_memory: u64,
    /// Keys that one look-up has compared, at most: above [`PROBE_LEN_MAX`] somebody makes keys
    /// collide.
    pub longest_probe: u32,
}

/// Keys that a look-up compares at most while their hashes are spread. A segment has 448 entries
/// and tags of seven bits, so a key meets three and a half others with its tag if it passes all of
/// them, which it does not: that 16 are met by chance in any one look-up is less likely than 2^-60.
/// Nothing is refused beyond it: look-ups stay right and become slow.
pub const PROBE_LEN_MAX: u32 = 16;

/// Denials by cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Denials {
    /// Too little in the buckets of the unit.
    pub balance: u64,
    /// No bucket of the unit.
    pub no_bucket: u64,
    /// A limit that was reached.
    pub limit: u64,
    /// Another command of the same chain.
    pub chain: u64,
    /// An account that is suspended or closed.
    pub status: u64,
}

impl Denials {
    pub(crate) fn count(&mut self, cause: Cause) {
        match cause {
            // What is denied now tells its cause: only older stored answers tell none.
            Cause::Balance | Cause::None | Cause::Untold => self.balance += 1,
            Cause::NoBucket => self.no_bucket += 1,
            Cause::Limit(_) => self.limit += 1,
            Cause::Chain => self.chain += 1,
            Cause::Status => self.status += 1,
        }
    }

    /// Adds those of another shard.
    pub fn add(&mut self, other: &Denials) {
        self.balance += other.balance;
        self.no_bucket += other.no_bucket;
        self.limit += other.limit;
        self.chain += other.chain;
        self.status += other.status;
    }

    /// Denials with the code CREDIT_LIMIT_REACHED.
    pub fn for_credit(&self) -> u64 {
        self.balance + self.no_bucket + self.limit
    }

    /// All of them.
    pub fn sum(&self) -> u64 {
        self.for_credit() + self.chain + self.status
    }
}

/// Bytes by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// Entries of accounts, and blocks that are kept for them.
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
    /// Adds that of another shard.
    pub fn add(&mut self, other: &Memory) {
        self.accounts += other.accounts;
        self.values += other.values;
        self.entities += other.entities;
        self.table += other.table;
        self.timers += other.timers;
        self.index += other.index;
    }

    /// All of it.
    pub fn sum(&self) -> u64 {
        self.accounts + self.values + self.entities + self.table + self.timers + self.index
    }
}

impl Stats {
    /// Adds those of another shard.
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
