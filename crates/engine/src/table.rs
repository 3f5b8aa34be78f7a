//! The hash table of entries. It stores no hash and no key beside the entry.

use crate::entry::{Entry, Kind};
use foldhash::fast::FixedState;
use hashbrown::HashTable;
use std::hash::BuildHasher;

/// Entries by key.
#[derive(Debug)]
pub(crate) struct Table {
    entries: HashTable<Entry>,
    hasher: FixedState,
    /// Bytes of all entries.
    entry_bytes: u64,
    accounts: u64,
}

/// Bytes of one slot of the table: the entry's pointer and length, and a byte of the hash.
const SLOT_BYTES: u64 = size_of::<Entry>() as u64 + 1;

impl Table {
    pub(crate) fn new(seed: u64) -> Table {
        let hasher = FixedState::with_seed(seed);
        Table { entries: HashTable::new(), hasher, entry_bytes: 0, accounts: 0 }
    }

    pub(crate) fn hash(&self, key: &[u8]) -> u64 {
        self.hasher.hash_one(key)
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(crate) fn accounts(&self) -> u64 {
        self.accounts
    }

    pub(crate) fn memory_bytes(&self) -> u64 {
        // The table fills up to 7/8 of its slots before it grows.
        let slots = (self.entries.capacity() as u64 * 8).div_ceil(7);
        self.entry_bytes + slots * SLOT_BYTES
    }

    pub(crate) fn find(&self, hash: u64, key: &[u8]) -> Option<&Entry> {
        self.entries.find(hash, |entry| entry.key() == key)
    }

    /// The entry whose key has exactly this hash and whose timer is armed for this tick.
    pub(crate) fn find_armed(&self, hash: u64, tick: u64) -> Option<&Entry> {
        self.entries
            .find(hash, |entry| entry.armed() == tick && self.hasher.hash_one(entry.key()) == hash)
    }

    pub(crate) fn find_mut(&mut self, hash: u64, key: &[u8]) -> Option<&mut Entry> {
        self.entries.find_mut(hash, |entry| entry.key() == key)
    }

    /// Sets what a key holds. An entry that exists keeps its kind.
    pub(crate) fn set(&mut self, hash: u64, kind: Kind, key: &[u8], value: &[u8]) {
        match self.entries.find_mut(hash, |entry| entry.key() == key) {
            Some(entry) => {
                self.entry_bytes -= entry.memory_bytes();
                entry.set_value(value);
                self.entry_bytes += entry.memory_bytes();
            }
            None => {
                let entry = Entry::new(kind, key, value);
                self.entry_bytes += entry.memory_bytes();
                self.accounts += u64::from(kind == Kind::Account);
                let hasher = &self.hasher;
                self.entries.insert_unique(hash, entry, |entry| hasher.hash_one(entry.key()));
            }
        }
    }

    pub(crate) fn remove(&mut self, hash: u64, key: &[u8]) {
        if let Ok(found) = self.entries.find_entry(hash, |entry| entry.key() == key) {
            let (entry, _) = found.remove();
            self.entry_bytes -= entry.memory_bytes();
            self.accounts -= u64::from(entry.kind() == Kind::Account);
        }
    }

    pub(crate) fn clear(&mut self) {
        self.entries = HashTable::new();
        self.entry_bytes = 0;
        self.accounts = 0;
    }
}
