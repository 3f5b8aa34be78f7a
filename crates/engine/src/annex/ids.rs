//! Where the things of an annex are, by their ids: a hash table of places. What lies at a place tells
//! its id, so that the table holds nothing but places.

use hashbrown::HashTable;
use std::hash::{BuildHasher, RandomState};
use std::mem;

/// Places in one table; more are divided among [`PARTS`].
const UNDIVIDED_MAX: usize = 4_096;
/// Tables of many places. Each grows by itself: no command waits for all of them to be hashed anew.
const PARTS: usize = 256;

/// Places of type `P` by the ids of what is there.
#[derive(Debug)]
pub(super) struct Ids<P> {
    /// One, or [`PARTS`].
    parts: Vec<HashTable<P>>,
    len: usize,
    /// The secret of the hash: clients choose ids.
    secret: RandomState,
}

impl<P> Default for Ids<P> {
    fn default() -> Ids<P> {
        Ids { parts: vec![HashTable::new()], len: 0, secret: RandomState::new() }
    }
}

impl<P: Copy> Ids<P> {
    /// The place of an id. `id_at` tells the id of what is at a place.
    pub(super) fn find<'a>(&self, id: &[u8], id_at: impl Fn(P) -> &'a [u8]) -> Option<P> {
        let hash = self.secret.hash_one(id);
        self.parts[self.part_of(hash)].find(hash, |&place| id_at(place) == id).copied()
    }

    /// Notes the place of an id that is not there.
    pub(super) fn insert<'a>(&mut self, id: &[u8], place: P, id_at: impl Fn(P) -> &'a [u8]) {
        if self.len == UNDIVIDED_MAX && self.parts.len() == 1 {
            self.divide(&id_at);
        }
        let (hash, secret) = (self.secret.hash_one(id), &self.secret);
        let part = self.part_of(hash);
        self.parts[part].insert_unique(hash, place, |&place| secret.hash_one(id_at(place)));
        self.len += 1;
    }

    /// Forgets the place of an id.
    pub(super) fn remove(&mut self, id: &[u8], is_it: impl Fn(P) -> bool) {
        let hash = self.secret.hash_one(id);
        let part = self.part_of(hash);
        if let Ok(found) = self.parts[part].find_entry(hash, |&place| is_it(place)) {
            found.remove();
            self.len -= 1;
        }
    }

    /// Bytes of the tables.
    pub(super) fn memory_bytes(&self) -> usize {
        let tables = self.parts.capacity() * mem::size_of::<HashTable<P>>();
        tables + self.parts.iter().map(HashTable::allocation_size).sum::<usize>()
    }

    fn part_of(&self, hash: u64) -> usize {
        // Other bits than those that the tables look at.
        (hash >> 24) as usize & (self.parts.len() - 1)
    }

    fn divide<'a>(&mut self, id_at: &impl Fn(P) -> &'a [u8]) {
        let parts = (0..PARTS).map(|_| HashTable::new()).collect();
        for place in mem::replace(&mut self.parts, parts).into_iter().flatten() {
            let (hash, secret) = (self.secret.hash_one(id_at(place)), &self.secret);
            let part = self.part_of(hash);
            self.parts[part].insert_unique(hash, place, |&place| secret.hash_one(id_at(place)));
        }
    }
}
