//! A shard: its table, its timers and its totals. The operations on them are in the submodules.

mod accounts;
mod chains;
mod changed;
mod digest;
mod due;
mod durable;
mod entities;
mod identities;
mod images;
mod look;
mod replay;
mod values;

use crate::account_parts::AccountPartsMap;
use crate::blocks::Blocks;
use crate::entry::{Armed, Head, STEP, TableEntry, TableEntryKind, UNARMED};
use crate::identities::{Identities, IndexedIdentity};
use crate::index::Index;
use crate::key::KeyHasher;
use crate::table::{Table, TablePosition};
use crate::timers::{NEAR, TimerGroup, Timers, tick_of};
use crate::transfer_name::WaitingTransfers;
use crate::working_account::WorkingAccount;
use crate::{ChainRoom, Config, Key, Memory, Stats, Version};
use scurry_codec::{FrameWriter, LogFormat, is_in_parts};
use scurry_ledger::{Time, Totals};

pub use crate::table::WalkLimit;
pub use changed::ChangedKeys;
pub use digest::{Compared, EntryCopy};
pub use durable::ReplayError;
pub use replay::Step;

/// One shard.
///
/// Invariants: every account in the table is counted in `totals`; each entry has at most one timer, armed no later than
/// the first time something in it is due, and removed entries have none; with an index, every live entity is in it;
/// every identity of an account is in `identities`.
#[derive(Debug)]
pub struct Shard {
    config: Config,
    table: Table,
    timers: Timers,
    index: Option<Index>,
    identities: Identities,
    /// Identities that the account under replay had before its Changes.
    identities_before: Vec<IndexedIdentity>,
    /// Former identities that Changes have forgotten and the index still has, with the hashes of the accounts' keys.
    forgotten: Vec<(u64, IndexedIdentity)>,
    totals: Totals,
    stats: Stats,
    /// The greatest version that was issued or seen.
    version_last: Version,
    /// The account that the current command works on.
    working: WorkingAccount,
    /// Reusable buffers for chains, and the working accounts of a chain beyond the first.
    chain_room: ChainRoom,
    chain_accounts: Vec<WorkingAccount>,
    /// Parts of busy accounts that are stored outside their images.
    annexes: AccountPartsMap,
    /// Freed blocks of images that grew, for reuse.
    blocks: Blocks,
    /// Frames of committed records, for the log. None when nothing is logged.
    journal: Option<FrameWriter>,
    /// Number of calls of [`Shard::clear`].
    clears: u64,
    /// Keys that have changed. None when no host tracks them.
    changed: Option<ChangedKeys>,
    /// Transfers of accounts here that need a step of the host.
    pub(crate) transfers: WaitingTransfers,
    /// Digests of another node that were compared with this shard, until the host takes them.
    compared: Vec<Compared>,
}

impl Shard {
    /// Creates an empty shard.
    pub fn new(config: Config) -> Shard {
        let hasher = KeyHasher::new(config.hash_key);
        Shard {
            table: Table::new(hasher.clone()),
            timers: Timers::default(),
            index: config.entity_index.then(|| Index::new(hasher.clone())),
            identities: Identities::new(hasher, config.unique_identities.clone()),
            identities_before: Vec::new(),
            forgotten: Vec::new(),
            totals: Totals::default(),
            stats: Stats::default(),
            version_last: Version::ABSENT,
            working: WorkingAccount::new(
                config.limits.clone(),
                config.apart_len,
                config.account_len_max,
            ),
            chain_room: ChainRoom::default(),
            chain_accounts: Vec::new(),
            annexes: AccountPartsMap::default(),
            blocks: Blocks::new(STEP),
            journal: None,
            clears: 0,
            changed: None,
            transfers: WaitingTransfers::default(),
            compared: Vec::new(),
            config,
        }
    }

    /// Returns a key together with its hash.
    pub fn key<'a>(&self, bytes: &'a [u8]) -> Key<'a> {
        self.table.hasher().key(bytes)
    }

    /// Changes the memory limit. Existing entries stay even when they exceed it.
    pub fn set_memory_max(&mut self, memory_max: Option<u64>) {
        self.config.memory_max = memory_max;
    }

    /// Returns the sums over the accounts of this shard, without due expiries that are not committed yet.
    pub fn totals(&self) -> &Totals {
        &self.totals
    }

    /// Returns the number of keys. Expired keys count until a timer removes them.
    pub fn len(&self) -> usize {
        self.table.len() - self.table.sum(TableEntryKind::Tombstone).entries as usize
    }

    /// Returns the number of keys and remembered tombstones: the entries that a walk visits.
    pub fn entries(&self) -> usize {
        self.table.len()
    }

    /// Reports whether no key exists.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the comparisons with digests of another node since the last call.
    pub fn take_compared(&mut self) -> Vec<Compared> {
        std::mem::take(&mut self.compared)
    }

    /// Reports whether a transfer waits for a step of the host.
    #[inline]
    pub fn has_waiting_transfers(&self) -> bool {
        !self.transfers.is_empty()
    }

    /// Removes everything, tombstones included. Only the greatest version is kept.
    pub fn clear(&mut self) {
        if let Some(journal) = &mut self.journal {
            journal.clear();
        }
        self.clears += 1;
        self.give_identities_up();
        self.table.clear();
        self.annexes = AccountPartsMap::default();
        self.blocks.clear();
        self.timers.clear();
        self.index = self.config.entity_index.then(|| Index::new(self.table.hasher().clone()));
        self.totals = Totals::default();
    }

    /// Returns the shard's counters.
    pub fn stats(&self) -> Stats {
        let memory = self.memory();
        Stats {
            memory_bytes: memory.sum(),
            memory,
            longest_probe: self.longest_probe(),
            keys: self.len() as u64,
            accounts: self.table.sum(TableEntryKind::Account).entries,
            values: self.table.sum(TableEntryKind::Value).entries,
            entities: self.table.sum(TableEntryKind::Entity).entries,
            tombstones: self.table.sum(TableEntryKind::Tombstone).entries,
            timers: self.timers.len(TimerGroup::Accounts) + self.timers.len(TimerGroup::Others),
            // Each expiring entry has one timer, and so does each tombstone.
            expiring: self.timers.len(TimerGroup::Others)
                - self.table.sum(TableEntryKind::Tombstone).entries,
            ..self.stats
        }
    }

    fn memory(&self) -> Memory {
        Memory {
            accounts: self.table.sum(TableEntryKind::Account).bytes
                + self.blocks.memory_bytes()
                + self.annexes.memory_bytes(),
            values: self.table.sum(TableEntryKind::Value).bytes,
            entities: self.table.sum(TableEntryKind::Entity).bytes
                + self.table.sum(TableEntryKind::Tombstone).bytes,
            table: self.table.slots_memory_bytes(),
            timers: self.timers.memory_bytes(),
            index: self.index.as_ref().map_or(0, Index::memory_bytes)
                + self.identities.memory_bytes(),
        }
    }

    /// Reports whether the memory limit is reached, and counts that as a refusal.
    pub fn refuses_memory(&mut self) -> bool {
        let full = self.config.memory_max.is_some_and(|max| self.memory().sum() >= max);
        self.stats.out_of_memory += u64::from(full);
        full
    }

    /// Finds a key's entry, unless it has expired.
    fn find(&self, now: Time, key: Key<'_>) -> Option<TablePosition> {
        self.table.find(key).filter(|&place| !self.table.at(place).is_over(now))
    }

    /// Finds a key's entry as [`Shard::find`] does, and removes it if it has expired.
    fn expire(&mut self, now: Time, key: Key<'_>) -> Option<TablePosition> {
        let place = self.table.find(key)?;
        if !self.table.at(place).is_over(now) {
            return Some(place);
        }
        self.remove_expired(key.hash(), place);
        None
    }

    /// Removes an expired entry. In a group the removal is logged: otherwise nodes whose clocks differ would disagree
    /// on which keys exist.
    fn remove_expired(&mut self, hash: u64, place: TablePosition) {
        self.stats.expired += 1;
        let entry = self.remove(hash, place);
        if let Some(journal) = &mut self.journal
            && journal.format() == LogFormat::Replicated
        {
            journal.remove(entry.key());
        }
    }

    /// Writes a key's entry, over the one at the place or as a new one. Not used for accounts.
    fn write(&mut self, key: Key<'_>, place: Option<TablePosition>, head: Head, value: &[u8]) {
        self.changes(key.bytes());
        let place = match place {
            None => self.table.insert(key.hash(), TableEntry::new(head, key.bytes(), value)),
            Some(place) if self.table.at(place).has_shape_of(head) => {
                self.table.update(place, |entry| {
                    entry.set_value(value);
                    entry.set_head(head);
                });
                place
            }
            Some(place) => {
                self.replace(place, TableEntry::new(head, key.bytes(), value));
                place
            }
        };
        if let Some(expires) = head.expires {
            self.arm(key.hash(), place, expires);
        }
    }

    /// Replaces an entry with another of the same key; the timer is kept if possible.
    fn replace(&mut self, place: TablePosition, mut entry: TableEntry) {
        let old = self.table.at(place);
        let armed = old.armed();
        if entry.expires().is_some() {
            entry.arm(armed);
        } else {
            self.timers.disarm(TimerGroup::of(old.kind()), armed, old.key());
        }
        if is_entry_in_parts(old) {
            self.annexes.remove(old.key());
        }
        self.table.update(place, |old| *old = entry);
    }

    /// Removes an entry with its timer, index entry and annex.
    fn remove(&mut self, hash: u64, place: TablePosition) -> TableEntry {
        let entry = self.table.remove(place);
        self.changes(entry.key());
        if is_entry_in_parts(&entry) {
            self.annexes.remove(entry.key());
        }
        self.timers.disarm(TimerGroup::of(entry.kind()), entry.armed(), entry.key());
        if let Some(value_hash) = self.value_hash(&entry) {
            self.unindex(hash, value_hash);
        }
        entry
    }

    /// Arms the entry's timer, unless it is armed for an earlier time.
    fn arm(&mut self, hash: u64, place: TablePosition, due: Time) {
        let entry = self.table.at(place);
        let (armed, lane, tick) = (entry.armed(), TimerGroup::of(entry.kind()), tick_of(due));
        let sooner = match armed.tick {
            NEAR => due < self.timers.near_time(armed),
            armed => tick < armed,
        };
        if sooner {
            self.timers.disarm(lane, armed, entry.key());
            let armed = self.timers.arm(lane, hash, tick);
            self.table.at_mut(place).arm(armed);
        }
    }

    /// Disarms the entry's timer.
    fn disarm(&mut self, place: TablePosition) {
        let entry = self.table.at(place);
        self.timers.disarm(TimerGroup::of(entry.kind()), entry.armed(), entry.key());
        self.table.at_mut(place).arm(Armed { timer: 0, tick: UNARMED });
    }

    /// Returns the hash of an entry's value in the index, None when the entry is not indexed.
    fn value_hash(&self, entry: &TableEntry) -> Option<u64> {
        let index = self.index.as_ref().filter(|_| entry.kind() == TableEntryKind::Entity)?;
        Some(index.value_hash(entry.value()))
    }

    /// Removes a pair from the index, unless an entity of the table still has that key hash and value: the same entity,
    /// or one whose hash collides.
    fn unindex(&mut self, hash: u64, value_hash: u64) {
        let is_so = |entry: &TableEntry| self.value_hash(entry) == Some(value_hash);
        if !self.table.of_hash(hash).any(is_so)
            && let Some(index) = &mut self.index
        {
            index.remove(value_hash, hash);
        }
    }
}

/// Reports whether an entry is an account that is kept in parts.
#[inline]
fn is_entry_in_parts(entry: &TableEntry) -> bool {
    entry.kind() == TableEntryKind::Account && is_in_parts(entry.value())
}
