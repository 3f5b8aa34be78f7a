//! Read-only operations on keys of any kind.

use super::Shard;
use crate::entry::{TableEntry, TableEntryKind};
use crate::{AccountSlot, Key, KeyHasher, KeyKind, NeededParts};
use scurry_codec::decode_state;
use scurry_ledger::{Status, Time};
use std::hash::{Hash, Hasher};
use std::hint::black_box;
use std::ops::ControlFlow;

/// Most keys that one call of [`Shard::touch`] loads.
const TOUCHED_MAX: usize = 64;

/// Bytes of a slot of the table: the entry's pointer and length, and a byte of the hash.
const SLOT_BYTES: u64 = size_of::<TableEntry>() as u64 + 1;

impl Shard {
    /// Returns a copy of this shard's key hasher.
    pub fn hasher(&self) -> KeyHasher {
        self.table.hasher().clone()
    }

    /// Returns the most keys that one look-up has compared. Above [`crate::PROBE_LEN_MAX`] a client is making keys
    /// collide.
    #[inline]
    pub fn longest_probe(&self) -> u32 {
        self.table.longest_probe()
    }

    /// Returns the kind of a key, None for a missing key and for a deleted entity.
    pub fn kind(&self, now: Time, key: Key<'_>) -> Option<KeyKind> {
        self.shown(now, self.table.at(self.table.find(key)?))
    }

    /// Reports whether the key exists.
    pub fn exists(&self, now: Time, key: Key<'_>) -> bool {
        self.kind(now, key).is_some()
    }

    /// Returns the bytes of a key with its value and its slot of the table.
    pub fn memory_usage(&self, now: Time, key: Key<'_>) -> Option<u64> {
        let entry = self.table.at(self.table.find(key)?);
        self.shown(now, entry).map(|_| entry.memory_bytes() + SLOT_BYTES)
    }

    /// Visits keys in the order of their hashes: from the cursor on, about `count` of them, and always a bounded
    /// number. Returns the next cursor, 0 at the end. Cursors are below 2^48. Every key that exists from the first call
    /// to the last is visited exactly once.
    pub fn scan(
        &self,
        now: Time,
        cursor: u64,
        count: usize,
        mut visit: impl FnMut(&[u8], KeyKind),
    ) -> u64 {
        self.scan_until(now, cursor, count, |key, kind| {
            visit(key, kind);
            ControlFlow::Continue(())
        })
    }

    /// Scans as [`Shard::scan`] does, but stops when a visit breaks: the next call resumes at that key. The cursor
    /// returned is then the same as before when no other key precedes that key.
    pub fn scan_until(
        &self,
        now: Time,
        cursor: u64,
        count: usize,
        mut visit: impl FnMut(&[u8], KeyKind) -> ControlFlow<()>,
    ) -> u64 {
        self.table.scan(cursor, count.max(1), |entry| match self.shown(now, entry) {
            Some(kind) => visit(entry.key(), kind),
            None => ControlFlow::Continue(()),
        })
    }

    /// Scans as [`Shard::scan`] does, accounts only, each with its status and version after its last Commit.
    pub fn scan_accounts(
        &self,
        cursor: u64,
        count: usize,
        mut visit: impl FnMut(&[u8], Status, u64),
    ) -> u64 {
        self.table.scan(cursor, count.max(1), |entry| {
            if entry.kind() == TableEntryKind::Account {
                let (status, version) = state_of(entry.value());
                visit(entry.key(), status, version);
            }
            ControlFlow::Continue(())
        })
    }

    /// Scans as [`Shard::scan_until`] does, but only the tombstones of deleted entities.
    pub fn scan_tombstones(
        &self,
        now: Time,
        cursor: u64,
        count: usize,
        mut visit: impl FnMut(&[u8]) -> ControlFlow<()>,
    ) -> u64 {
        self.table.scan(cursor, count.max(1), |entry| {
            if entry.kind() == TableEntryKind::Tombstone && !entry.is_over(now) {
                return visit(entry.key());
            }
            ControlFlow::Continue(())
        })
    }

    /// Loads into the cache what the next commands need, for up to 64 keys given by their hashes. The loads of each
    /// pass are independent, so their cache misses overlap.
    pub fn touch(&self, hashes: &[u64]) {
        let mut places = [None; TOUCHED_MAX];
        for (place, hash) in places.iter_mut().zip(hashes.iter().copied()) {
            *place = self.table.guess(hash);
        }
        let entries = || places.iter().flatten().map(|&place| self.table.at(place));
        for entry in entries() {
            black_box(entry.address());
        }
        for entry in entries() {
            black_box(entry.lines());
        }
    }

    /// Feeds a hasher with everything that a command could see of a key, so that equal input means an equal state. A
    /// key that does not exist feeds a mark only.
    pub fn hash_state(&mut self, now: Time, key: Key<'_>, hasher: &mut impl Hasher) {
        let place = self.find(now, key);
        place.is_some().hash(hasher);
        let Some(place) = place else { return };
        let entry = self.table.at(place);
        let head = (entry.kind() as u8, entry.expires(), entry.version());
        (head, entry.value()).hash(hasher);
        if entry.kind() == TableEntryKind::Account {
            // Due changes count as done but are not in the image yet; the next due time shows how far they have gone.
            let needed = NeededParts::default();
            self.slot(key, Some(place)).view(now, &needed).expect("it is an account");
            self.working.next_due().hash(hasher);
        }
    }

    /// Returns the kind of an entry that clients can see, None for tombstones and expired entries.
    fn shown(&self, now: Time, entry: &TableEntry) -> Option<KeyKind> {
        let shown = entry.kind() != TableEntryKind::Tombstone && !entry.is_over(now);
        shown.then(|| entry.kind().key_kind())
    }
}

/// Reads status and version from an image that this shard has written.
fn state_of(image: &[u8]) -> (Status, u64) {
    decode_state(image).expect("only the shard writes images into its table")
}
