//! Index of entities by value, or of accounts by identity. It stores only hashes of values and positions of keys, in an
//! order in which a paged query can resume whatever was inserted or removed meanwhile. The shard compares what it finds
//! with the entries.

use crate::key::{CURSOR_SHIFT, KeyHasher, position};
use std::collections::BTreeSet;

/// Pairs of a value's hash and a key's position.
#[derive(Debug)]
pub(crate) struct Index {
    pairs: BTreeSet<(u64, u64)>,
    hasher: KeyHasher,
}

/// Bytes of a pair of 16 in a B-tree that is two thirds full.
const PAIR_BYTES: u64 = 30;

impl Index {
    pub(crate) fn new(hasher: KeyHasher) -> Index {
        Index { pairs: BTreeSet::new(), hasher }
    }

    /// Returns the hash under which entities with a value are indexed.
    pub(crate) fn value_hash(&self, value: &[u8]) -> u64 {
        self.hasher.hash(value)
    }

    pub(crate) fn insert(&mut self, value_hash: u64, key_hash: u64) {
        self.pairs.insert((value_hash, position(key_hash)));
    }

    pub(crate) fn remove(&mut self, value_hash: u64, key_hash: u64) {
        self.pairs.remove(&(value_hash, position(key_hash)));
    }

    /// Returns hashes of keys whose entities may have the value, from the cursor on, each with its cursor.
    pub(crate) fn find(
        &self,
        value: &[u8],
        cursor: u64,
    ) -> impl Iterator<Item = (u64, u64)> + use<'_> {
        self.find_hash(self.value_hash(value), cursor)
    }

    /// Searches as [`Index::find`] does, by the hash of the value.
    pub(crate) fn find_hash(&self, value: u64, cursor: u64) -> impl Iterator<Item = (u64, u64)> {
        let first = cursor.min(u64::MAX >> CURSOR_SHIFT) << CURSOR_SHIFT;
        self.pairs
            .range((value, first)..=(value, u64::MAX))
            .map(|(_, position)| (position.rotate_right(7), position >> CURSOR_SHIFT))
    }

    pub(crate) fn memory_bytes(&self) -> u64 {
        self.pairs.len() as u64 * PAIR_BYTES
    }
}
