//! A shard: its table, its timers, its totals. What is done with them stands in the files below.

mod accounts;
mod chains;
mod changed;
mod due;
mod durable;
mod entities;
mod identities;
mod images;
mod look;
mod replay;
mod values;

use crate::annex::Annexes;
use crate::blocks::Blocks;
use crate::entry::{Armed, Entry, Head, Kind, STEP, UNARMED};
use crate::identities::{Hashed, Identities};
use crate::index::Index;
use crate::key::KeyHasher;
use crate::slate::Slate;
use crate::table::{Place, Table};
use crate::timers::{Lane, NEAR, Timers, tick_of};
use crate::{ChainRoom, Config, Key, Memory, Stats, Version};
use scurry_codec::{FrameWriter, LogFormat, is_apart};
use scurry_ledger::{Time, Totals};

pub use changed::ChangedKeys;
pub use durable::ReplayError;
pub use replay::Step;

/// One shard.
///
/// Invariants: every account in the table has been taken into `totals`; a timer is armed no
/// later than the first thing that is due in an entry, one at most for each, and none for what
/// is gone; with an index, every entity that lives stands in it; and every identity of
/// an account in `identities`.
#[derive(Debug)]
pub struct Shard {
    config: Config,
    table: Table,
    timers: Timers,
    index: Option<Index>,
    identities: Identities,
    /// Identities of the account whose Changes are replayed, before them.
    identities_before: Vec<Hashed>,
    totals: Totals,
    stats: Stats,
    /// The greatest version that was given or seen.
    version_last: Version,
    /// The account that a command works on.
    slate: Slate,
    /// Room of chains, and the accounts that one works on beside that on the slate.
    chain_room: ChainRoom,
    chain_slates: Vec<Slate>,
    /// Parts of busy accounts that are kept apart from their images.
    annexes: Annexes,
    /// Blocks that images have grown out of.
    blocks: Blocks,
    /// Frames of what is committed, for the log. None while nothing is to be kept.
    journal: Option<FrameWriter>,
    /// How often everything was forgotten.
    clears: u64,
    /// Keys that have changed. None while nobody wants to know.
    changed: Option<ChangedKeys>,
}

impl Shard {
    /// An empty shard.
    pub fn new(config: Config) -> Shard {
        let hasher = KeyHasher::new(config.hash_key);
        Shard {
            table: Table::new(hasher.clone()),
            timers: Timers::default(),
            index: config.entity_index.then(|| Index::new(hasher.clone())),
            identities: Identities::new(hasher, config.unique_identities.clone()),
            identities_before: Vec::new(),
            totals: Totals::default(),
            stats: Stats::default(),
            version_last: Version::ABSENT,
            slate: Slate::new(config.limits.clone(), config.apart_len, config.account_len_max),
            chain_room: ChainRoom::default(),
            chain_slates: Vec::new(),
            annexes: Annexes::default(),
            blocks: Blocks::new(STEP),
            journal: None,
            clears: 0,
            changed: None,
            config,
        }
    }

    /// A key with its hash.
    pub fn key<'a>(&self, bytes: &'a [u8]) -> Key<'a> {
        self.table.hasher().key(bytes)
    }

    /// Changes the bound on memory; what is there stays, also above it.
    pub fn set_memory_max(&mut self, memory_max: Option<u64>) {
        self.config.memory_max = memory_max;
    }

    /// Sums over the accounts of this shard, without what is due and not yet committed.
    pub fn totals(&self) -> &Totals {
        &self.totals
    }

    /// Keys that exist. Those that have expired count until a timer has removed them.
    pub fn len(&self) -> usize {
        self.table.len() - self.table.sum(Kind::Tombstone).entries as usize
    }

    /// Keys that exist, and deleted entities that are remembered: what a walk comes past.
    pub fn entries(&self) -> usize {
        self.table.len()
    }

    /// True when no key exists.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Forgets everything, tombstones included, but for the greatest version.
    pub fn clear(&mut self) {
        if let Some(journal) = &mut self.journal {
            journal.clear();
        }
        self.clears += 1;
        self.give_identities_up();
        self.table.clear();
        self.annexes = Annexes::default();
        self.blocks.clear();
        self.timers.clear();
        self.index = self.config.entity_index.then(|| Index::new(self.table.hasher().clone()));
        self.totals = Totals::default();
    }

    /// Counts.
    pub fn stats(&self) -> Stats {
        let memory = self.memory();
        Stats {
            memory_bytes: memory.sum(),
            memory,
            longest_probe: self.longest_probe(),
            keys: self.len() as u64,
            accounts: self.table.sum(Kind::Account).entries,
            values: self.table.sum(Kind::Value).entries,
            entities: self.table.sum(Kind::Entity).entries,
            tombstones: self.table.sum(Kind::Tombstone).entries,
            timers: self.timers.len(Lane::Accounts) + self.timers.len(Lane::Others),
            // Whatever expires has its timer, and so has every tombstone.
            expiring: self.timers.len(Lane::Others) - self.table.sum(Kind::Tombstone).entries,
            ..self.stats
        }
    }

    fn memory(&self) -> Memory {
        Memory {
            accounts: self.table.sum(Kind::Account).bytes
                + self.blocks.memory_bytes()
                + self.annexes.memory_bytes(),
            values: self.table.sum(Kind::Value).bytes,
            entities: self.table.sum(Kind::Entity).bytes + self.table.sum(Kind::Tombstone).bytes,
            table: self.table.slots_memory_bytes(),
            timers: self.timers.memory_bytes(),
            index: self.index.as_ref().map_or(0, Index::memory_bytes)
                + self.identities.memory_bytes(),
        }
    }

    /// True when nothing that takes memory may be done; it is counted then.
    pub fn refuses_memory(&mut self) -> bool {
        let full = self.config.memory_max.is_some_and(|max| self.memory().sum() >= max);
        self.stats.out_of_memory += u64::from(full);
        full
    }

    /// Where a key's entry is, unless it counts as absent.
    fn find(&self, now: Time, key: Key<'_>) -> Option<Place> {
        self.table.find(key).filter(|&place| !self.table.at(place).is_over(now))
    }

    /// As [`Shard::find`], and removes an entry that counts as absent.
    fn expire(&mut self, now: Time, key: Key<'_>) -> Option<Place> {
        let place = self.table.find(key)?;
        if !self.table.at(place).is_over(now) {
            return Some(place);
        }
        self.let_go(key.hash(), place);
        None
    }

    /// Removes what has expired. In a group that is a record: nodes whose clocks differ would else not agree
    /// on what is there.
    fn let_go(&mut self, hash: u64, place: Place) {
        self.stats.expired += 1;
        let entry = self.remove(hash, place);
        if let Some(journal) = &mut self.journal
            && journal.format() == LogFormat::Replicated
        {
            journal.remove(entry.key());
        }
    }

    /// Writes what a key holds: over what is at the place, or anew. Accounts are not written so.
    fn write(&mut self, key: Key<'_>, place: Option<Place>, head: Head, value: &[u8]) {
        self.changes(key.bytes());
        let place = match place {
            None => self.table.insert(key.hash(), Entry::new(head, key.bytes(), value)),
            Some(place) if self.table.at(place).has_shape_of(head) => {
                self.table.update(place, |entry| {
                    entry.set_value(value);
                    entry.set_head(head);
                });
                place
            }
            Some(place) => {
                self.replace(place, Entry::new(head, key.bytes(), value));
                place
            }
        };
        if let Some(expires) = head.expires {
            self.arm(key.hash(), place, expires);
        }
    }

    /// Puts another entry of the same key in the place of one; the timer stays if it can.
    fn replace(&mut self, place: Place, mut entry: Entry) {
        let old = self.table.at(place);
        let armed = old.armed();
        if entry.expires().is_some() {
            entry.arm(armed);
        } else {
            self.timers.disarm(Lane::of(old.kind()), armed, old.key());
        }
        if is_apart_entry(old) {
            self.annexes.remove(old.key());
        }
        self.table.update(place, |old| *old = entry);
    }

    /// Removes an entry and all that points to it.
    fn remove(&mut self, hash: u64, place: Place) -> Entry {
        let entry = self.table.remove(place);
        self.changes(entry.key());
        if is_apart_entry(&entry) {
            self.annexes.remove(entry.key());
        }
        self.timers.disarm(Lane::of(entry.kind()), entry.armed(), entry.key());
        if let Some(value_hash) = self.value_hash(&entry) {
            self.unindex(hash, value_hash);
        }
        entry
    }

    /// Arms the entry's timer, unless it is armed for sooner.
    fn arm(&mut self, hash: u64, place: Place, due: Time) {
        let entry = self.table.at(place);
        let (armed, lane, tick) = (entry.armed(), Lane::of(entry.kind()), tick_of(due));
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

    /// Takes the entry's timer away.
    fn disarm(&mut self, place: Place) {
        let entry = self.table.at(place);
        self.timers.disarm(Lane::of(entry.kind()), entry.armed(), entry.key());
        self.table.at_mut(place).arm(Armed { timer: 0, tick: UNARMED });
    }

    /// The hash under which an entry stands in the index, if it does.
    fn value_hash(&self, entry: &Entry) -> Option<u64> {
        let index = self.index.as_ref().filter(|_| entry.kind() == Kind::Entity)?;
        Some(index.value_hash(entry.value()))
    }

    /// Takes a pair out of the index, unless an entity of the table is still called so: itself,
    /// or by accident another.
    fn unindex(&mut self, hash: u64, value_hash: u64) {
        let is_so = |entry: &Entry| self.value_hash(entry) == Some(value_hash);
        if !self.table.of_hash(hash).any(is_so)
            && let Some(index) = &mut self.index
        {
            index.remove(value_hash, hash);
        }
    }
}

/// True for an account that is kept in parts.
#[inline]
fn is_apart_entry(entry: &Entry) -> bool {
    entry.kind() == Kind::Account && is_apart(entry.value())
}
