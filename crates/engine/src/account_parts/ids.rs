//! Index of an annex by id: a hash table of places. The record at a place contains its id, so the table holds only
//! places.

use super::hash::hash_of;
use hashbrown::HashTable;
use std::mem;

/// Most places in one table; more are divided among [`PARTS`] tables.
const UNDIVIDED_MAX: usize = 4_096;
/// Tables of a large index. Each grows on its own, so no command waits for all of them to be rehashed.
const PARTS: usize = 256;

/// Places of type `P` by the ids of the records there.
#[derive(Debug)]
pub(super) struct Ids<P> {
    /// Either one table or [`PARTS`].
    parts: Vec<HashTable<P>>,
    len: usize,
    /// Bytes of the tables' slots.
    bytes: usize,
}

impl<P> Default for Ids<P> {
    fn default() -> Ids<P> {
        Ids { parts: vec![HashTable::new()], len: 0, bytes: 0 }
    }
}

impl<P: Copy> Ids<P> {
    /// Finds the place of an id. `id_at` returns the id of the record at a place.
    pub(super) fn find<'a>(&self, id: &[u8], id_at: impl Fn(P) -> &'a [u8]) -> Option<P> {
        let hash = hash_of(id);
        self.parts[self.part_of(hash)].find(hash, |&place| id_at(place) == id).copied()
    }

    /// Adds the place of an id that is not in the index.
    pub(super) fn insert<'a>(&mut self, id: &[u8], place: P, id_at: impl Fn(P) -> &'a [u8]) {
        if self.len == UNDIVIDED_MAX && self.parts.len() == 1 {
            self.divide(&id_at);
        }
        let hash = hash_of(id);
        let part = self.part_of(hash);
        let part = &mut self.parts[part];
        self.bytes -= part.allocation_size();
        part.insert_unique(hash, place, |&place| hash_of(id_at(place)));
        self.bytes += part.allocation_size();
        self.len += 1;
    }

    /// Removes the place of an id.
    pub(super) fn remove(&mut self, id: &[u8], is_it: impl Fn(P) -> bool) {
        let hash = hash_of(id);
        let part = self.part_of(hash);
        if let Ok(found) = self.parts[part].find_entry(hash, |&place| is_it(place)) {
            found.remove();
            self.len -= 1;
        }
    }

    /// Returns the bytes of the tables.
    pub(super) fn memory_bytes(&self) -> usize {
        self.parts.capacity() * mem::size_of::<HashTable<P>>() + self.bytes
    }

    fn part_of(&self, hash: u64) -> usize {
        // Uses other bits than those that select a slot within a table.
        (hash >> 24) as usize & (self.parts.len() - 1)
    }

    fn divide<'a>(&mut self, id_at: &impl Fn(P) -> &'a [u8]) {
        let parts = (0..PARTS).map(|_| HashTable::new()).collect();
        for place in mem::replace(&mut self.parts, parts).into_iter().flatten() {
            let hash = hash_of(id_at(place));
            let part = self.part_of(hash);
            self.parts[part].insert_unique(hash, place, |&place| hash_of(id_at(place)));
        }
        self.bytes = self.parts.iter().map(HashTable::allocation_size).sum();
    }
}
