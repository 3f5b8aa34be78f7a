//! What a host asks about keys of any kind.

use super::Shard;
use crate::entry::{Entry, Kind};
use crate::{Home, Key, KeyHasher, KeyKind, Needed};
use scurry_codec::decode_state;
use scurry_ledger::{Status, Time};
use std::hash::{Hash, Hasher};
use std::hint::black_box;
use std::ops::ControlFlow;

/// Keys that [`Shard::touch`] takes at once.
const TOUCHED_MAX: usize = 64;

/// Bytes of a slot of the table: the entry's place and length, and a byte of the hash.
const SLOT_BYTES: u64 = size_of::<Entry>() as u64 + 1;

impl Shard {
    /// The hasher of this shard's seed, apart from it.
    pub fn hasher(&self) -> KeyHasher {
        self.table.hasher().clone()
    }

    /// Keys that one look-up has compared at most: above [`crate::PROBE_LEN_MAX`] somebody makes
    /// keys collide.
    #[inline]
    pub fn longest_probe(&self) -> u32 {
        self.table.longest_probe()
    }

    /// The kind of a key; none for nothing, and for a deleted entity.
    pub fn kind(&self, now: Time, key: Key<'_>) -> Option<KeyKind> {
        self.shown(now, self.table.at(self.table.find(key)?))
    }

    /// True when the key holds anything.
    pub fn exists(&self, now: Time, key: Key<'_>) -> bool {
        self.kind(now, key).is_some()
    }

    /// Bytes that a key and what it holds take, with its slot of the table.
    pub fn memory_usage(&self, now: Time, key: Key<'_>) -> Option<u64> {
        let entry = self.table.at(self.table.find(key)?);
        self.shown(now, entry).map(|_| entry.memory_bytes() + SLOT_BYTES)
    }

    /// Visits keys in the order of their hashes: from the cursor on, about `count` of them, a
    /// bounded number at any rate. Returns the cursor to go on with, 0 at the end. Cursors are
    /// below 2^48. Every key that is there from the first call to the last is visited, once.
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

    /// As [`Shard::scan`], and a visit that breaks ends it: it goes on at that key. The cursor is then
    /// the same as before where no other key stands before it.
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

    /// As [`Shard::scan`], accounts alone, each with its status and version as its last Commit left them.
    pub fn scan_accounts(
        &self,
        cursor: u64,
        count: usize,
        mut visit: impl FnMut(&[u8], Status, u64),
    ) -> u64 {
        self.table.scan(cursor, count.max(1), |entry| {
            if entry.kind() == Kind::Account {
                let (status, version) = state_of(entry.value());
                visit(entry.key(), status, version);
            }
            ControlFlow::Continue(())
        })
    }

    /// As [`Shard::scan_until`], the entities that are deleted and remembered, and nothing else.
    pub fn scan_tombstones(
        &self,
        now: Time,
        cursor: u64,
        count: usize,
        mut visit: impl FnMut(&[u8]) -> ControlFlow<()>,
    ) -> u64 {
        self.table.scan(cursor, count.max(1), |entry| {
            if entry.kind() == Kind::Tombstone && !entry.is_over(now) {
                return visit(entry.key());
            }
            ControlFlow::Continue(())
        })
    }

    /// Loads what the next commands need, for up to 64 keys of a batch, given by their hashes: in
    /// each pass the loads do not wait for each other, so that their cache misses overlap.
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

    /// Feeds a hasher with all that a command could see of a key: as long as that is the same, so
    /// is what is fed. Nothing but a mark for a key that holds nothing.
    pub fn hash_state(&mut self, now: Time, key: Key<'_>, hasher: &mut impl Hasher) {
        let place = self.find(now, key);
        place.is_some().hash(hasher);
        let Some(place) = place else { return };
        let entry = self.table.at(place);
        let head = (entry.kind() as u8, entry.expires(), entry.version());
        (head, entry.value()).hash(hasher);
        if entry.kind() == Kind::Account {
            // What is due counts as done, and the image does not show it yet: what comes due next
            // tells how far that has gone.
            let needed = Needed::default();
            self.slot(key, Some(place)).view(now, &needed).expect("it is an account");
            self.slate.next_due().hash(hasher);
        }
    }

    /// The kind under which an entry is shown, if it is.
    fn shown(&self, now: Time, entry: &Entry) -> Option<KeyKind> {
        let shown = entry.kind() != Kind::Tombstone && !entry.is_over(now);
        shown.then(|| entry.kind().key_kind())
    }
}

/// Status and version of the account that an image of this shard's shows.
fn state_of(image: &[u8]) -> (Status, u64) {
    decode_state(image).expect("only the shard writes images into its table")
}
