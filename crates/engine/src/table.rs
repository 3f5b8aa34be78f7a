//! The hash table of entries. It stores neither hashes nor keys outside the entries.
//!
//! Extendible hashing (docs/adr/0009-table.md): a directory over the first bits of [`position`] names segments, each a
//! small hashbrown table. A full segment is split alone, so an insert moves the entries of one segment at most, however
//! large the table is. The directory is in the order of positions, so a scan is too, whatever segments split meanwhile.

mod chunk;
mod scan;

pub use chunk::WalkLimit;

use crate::entry::{TableEntry, TableEntryKind};
use crate::key::{Key, KeyHasher, position};
use hashbrown::HashTable;
use std::cell::Cell;
use std::hint::black_box;

/// Slots of a segment, as long as the directory can be deepened to split it.
const SEGMENT_SLOTS_MAX: usize = 512;
/// Entries of a segment before it is split: hashbrown fills seven of eight slots. A split moves at most this many.
const SEGMENT_LEN_MAX: usize = SEGMENT_SLOTS_MAX / 8 * 7;
/// Two neighbours with at most this many entries together are merged. It is well below what a split leaves, so that
/// inserting and removing one key cannot make a segment split and merge repeatedly.
const MERGED_LEN_MAX: usize = SEGMENT_LEN_MAX / 4;
/// Average entries per segment when a table is sized for a known number of entries: few segments then grow enough to be
/// split.
const SEGMENT_LEN_MADE: u64 = SEGMENT_LEN_MAX as u64 / 16 * 15;
/// Most leading bits of a position that the directory distinguishes: enough for 10^9 keys. Beyond that, segments grow.
const DEPTH_MAX: u32 = 22;
/// Bytes of an allocator's overhead per block.
const BLOCK_BYTES: u64 = 8;

/// Position of an entry in the table, valid until the next insert or removal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TablePosition {
    segment: u32,
    bucket: usize,
}

/// Number and bytes of the entries of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct KindSum {
    pub(crate) entries: u64,
    pub(crate) bytes: u64,
}

/// Entries by key.
#[derive(Debug)]
pub(crate) struct Table {
    /// Segment numbers, 2^depth of them, in the order of positions.
    directory: Vec<u32>,
    depth: u32,
    segments: Vec<HashTable<TableEntry>>,
    /// Leading bits that all positions of a segment share, by segment number.
    depths: Vec<u8>,
    /// Number of segments of each depth. When none has the greatest depth, the directory is halved.
    at_depth: [u32; DEPTH_MAX as usize + 1],
    /// Numbers of unused segments.
    free: Vec<u32>,
    hasher: KeyHasher,
    sums: [KindSum; TableEntryKind::COUNT],
    /// Bytes of the segments' slots.
    slot_bytes: u64,
    /// Most keys that one look-up has compared. A cell, because a look-up does not otherwise change the table.
    longest_probe: Cell<u32>,
}

impl Table {
    pub(crate) fn new(hasher: KeyHasher) -> Table {
        let mut at_depth = [0; DEPTH_MAX as usize + 1];
        at_depth[0] = 1;
        Table {
            directory: vec![0],
            depth: 0,
            segments: vec![HashTable::new()],
            depths: vec![0],
            at_depth,
            free: vec![],
            hasher,
            sums: Default::default(),
            slot_bytes: 0,
            longest_probe: Cell::new(0),
        }
    }

    pub(crate) fn hasher(&self) -> &KeyHasher {
        &self.hasher
    }

    pub(crate) fn len(&self) -> usize {
        self.sums.iter().map(|sum| sum.entries as usize).sum()
    }

    /// Returns the most keys that one look-up has compared since the table was made. hashbrown compares entries whose
    /// seven tag bits match, so it is 1 or 2 as long as hashes are well spread.
    pub(crate) fn longest_probe(&self) -> u32 {
        self.longest_probe.get()
    }

    pub(crate) fn sum(&self, kind: TableEntryKind) -> KindSum {
        self.sums[kind as usize]
    }

    /// Returns the bytes of everything except the entries.
    pub(crate) fn slots_memory_bytes(&self) -> u64 {
        let numbers = (self.directory.capacity() + self.free.capacity()) * size_of::<u32>();
        let segments = self.segments.capacity() * size_of::<HashTable<TableEntry>>();
        (numbers + segments + self.depths.capacity()) as u64 + self.slot_bytes
    }

    pub(crate) fn find(&self, key: Key<'_>) -> Option<TablePosition> {
        self.find_by(key.hash(), |entry| entry.key() == key.bytes())
    }

    /// Finds the entry of this hash that has this timer.
    pub(crate) fn find_timer(&self, hash: u64, timer: u32) -> Option<TablePosition> {
        use crate::entry::UNARMED;
        self.find_by(hash, |entry| {
            let armed = entry.armed();
            armed.tick != UNARMED && armed.timer == timer
        })
    }

    /// Returns the entries whose key has exactly this hash: normally one, rarely more.
    pub(crate) fn of_hash(&self, hash: u64) -> impl Iterator<Item = &TableEntry> {
        self.segments[self.segment_of(hash) as usize]
            .iter_hash(hash)
            .filter(move |entry| self.hasher.hash(entry.key()) == hash)
    }

    pub(crate) fn at(&self, place: TablePosition) -> &TableEntry {
        let entry = self.segments[place.segment as usize].get_bucket(place.bucket);
        entry.expect("a place is used before the next entry comes or goes")
    }

    /// Returns an entry for changes that keep the length of its allocation.
    pub(crate) fn at_mut(&mut self, place: TablePosition) -> &mut TableEntry {
        let entry = self.segments[place.segment as usize].get_bucket_mut(place.bucket);
        entry.expect("a place is used before the next entry comes or goes")
    }

    /// Applies a change that may alter the length of the entry's allocation. The key stays; the kind may change.
    pub(crate) fn update(&mut self, place: TablePosition, change: impl FnOnce(&mut TableEntry)) {
        let entry = self.segments[place.segment as usize].get_bucket_mut(place.bucket);
        let entry = entry.expect("a place is used before the next entry comes or goes");
        let sum = &mut self.sums[entry.kind() as usize];
        sum.entries -= 1;
        sum.bytes -= entry.memory_bytes();
        change(entry);
        let sum = &mut self.sums[entry.kind() as usize];
        sum.entries += 1;
        sum.bytes += entry.memory_bytes();
    }

    /// Inserts an entry whose key is not in the table.
    pub(crate) fn insert(&mut self, hash: u64, entry: TableEntry) -> TablePosition {
        let sum = &mut self.sums[entry.kind() as usize];
        sum.entries += 1;
        sum.bytes += entry.memory_bytes();
        let mut segment = self.segment_of(hash);
        while self.is_full(segment) {
            self.split(segment, position(hash));
            segment = self.segment_of(hash);
        }
        let hasher = &self.hasher;
        let entries = &mut self.segments[segment as usize];
        let before = slot_bytes(entries);
        let bucket =
            entries.insert_unique(hash, entry, |entry| hasher.hash(entry.key())).bucket_index();
        self.slot_bytes = self.slot_bytes - before + slot_bytes(entries);
        TablePosition { segment, bucket }
    }

    pub(crate) fn remove(&mut self, place: TablePosition) -> TableEntry {
        let entries = &mut self.segments[place.segment as usize];
        let found = entries.get_bucket_entry(place.bucket);
        let Ok(found) = found else {
            panic!("a place is used before the next entry comes or goes");
        };
        let (entry, _) = found.remove();
        let sum = &mut self.sums[entry.kind() as usize];
        sum.entries -= 1;
        sum.bytes -= entry.memory_bytes();
        let (len, buckets) = (entries.len(), entries.num_buckets());
        if len * 8 < buckets && buckets > 16 {
            self.shrink(place.segment);
            self.merge(place.segment, position(self.hasher.hash(entry.key())));
        }
        entry
    }

    /// Returns the bucket that a look-up of this hash would examine first, for [`crate::Shard::touch`]. It loads
    /// control bytes, but neither slot nor entry.
    pub(crate) fn guess(&self, hash: u64) -> Option<TablePosition> {
        self.find_by(hash, |_| true)
    }

    /// Makes as many segments of an empty table as this many entries need, so that inserting them moves no entry,
    /// except in the few segments that fill above the average.
    pub(crate) fn make_room(&mut self, entries: u64) {
        let mut depth = 0;
        while depth < DEPTH_MAX && entries >> depth > SEGMENT_LEN_MADE {
            depth += 1;
        }
        if depth == 0 || self.len() > 0 {
            return;
        }
        let count = 1 << depth;
        self.clear();
        self.segments = std::iter::repeat_with(|| HashTable::with_capacity(SEGMENT_LEN_MAX))
            .take(count)
            .collect();
        self.slot_bytes = self.segments.iter().map(slot_bytes).sum();
        self.directory = (0..1 << depth).collect();
        self.depth = depth;
        self.depths = vec![u8::try_from(depth).expect("at most DEPTH_MAX"); count];
        self.at_depth = [0; DEPTH_MAX as usize + 1];
        self.at_depth[depth as usize] = 1 << depth;
    }

    /// Loads into the cache what an insert of each of these hashes needs. Each pass issues loads that do not depend on
    /// each other.
    pub(crate) fn touch_slots(&self, hashes: &[u64]) {
        for &hash in hashes {
            black_box(self.segment_of(hash));
        }
        for &hash in hashes {
            black_box(self.segments[self.segment_of(hash) as usize].len());
        }
        for &hash in hashes {
            black_box(self.guess(hash));
        }
    }

    pub(crate) fn clear(&mut self) {
        let longest_probe = self.longest_probe.clone();
        *self = Table { longest_probe, ..Table::new(self.hasher.clone()) };
    }

    fn find_by(&self, hash: u64, mut eq: impl FnMut(&TableEntry) -> bool) -> Option<TablePosition> {
        let segment = self.segment_of(hash);
        let mut compared = 0;
        let bucket = self.segments[segment as usize].find_bucket_index(hash, |entry| {
            compared += 1;
            eq(entry)
        });
        if compared > self.longest_probe.get() {
            self.longest_probe.set(compared);
        }
        Some(TablePosition { segment, bucket: bucket? })
    }

    fn segment_of(&self, hash: u64) -> u32 {
        self.directory[self.slot(position(hash))]
    }

    /// Returns the index in the directory. The shift is done in two steps because a shift by 64 would overflow.
    fn slot(&self, position: u64) -> usize {
        (position >> 1 >> (63 - self.depth)) as usize
    }

    /// Returns the directory indexes that name one segment.
    fn slots(&self, position: u64, depth: u32) -> std::ops::Range<usize> {
        let prefix = (position >> 1 >> (63 - depth)) as usize;
        let wide = self.depth - depth;
        prefix << wide..(prefix + 1) << wide
    }

    /// Reports whether a segment must be split before the next insert. Slots of removed entries can make hashbrown
    /// double a table that is only half full; such a segment is split as well.
    fn is_full(&self, segment: u32) -> bool {
        let entries = &self.segments[segment as usize];
        let len = entries.len();
        let would_double = entries.num_buckets() >= SEGMENT_SLOTS_MAX
            && entries.capacity() == len
            && len >= SEGMENT_LEN_MAX / 2;
        (len >= SEGMENT_LEN_MAX || would_double)
            && u32::from(self.depths[segment as usize]) < DEPTH_MAX
    }

    /// Splits a segment in two by one more bit of the positions.
    fn split(&mut self, segment: u32, at: u64) {
        let depth = u32::from(self.depths[segment as usize]);
        if depth == self.depth {
            self.directory = self.directory.iter().flat_map(|&segment| [segment; 2]).collect();
            self.depth += 1;
        }
        let old = std::mem::take(&mut self.segments[segment as usize]);
        self.slot_bytes -= slot_bytes(&old);
        let mut halves = [0; 2].map(|_| HashTable::with_capacity(SEGMENT_LEN_MAX));
        // The entries are not in the cache: loading all before hashing lets the cache misses overlap.
        for entry in &old {
            black_box(entry.kind());
        }
        for entry in old {
            let hash = self.hasher.hash(entry.key());
            let half = &mut halves[(position(hash) >> (63 - depth) & 1) as usize];
            half.insert_unique(hash, entry, |entry| self.hasher.hash(entry.key()));
        }
        let [low, high] = halves;
        self.slot_bytes += slot_bytes(&low) + slot_bytes(&high);
        self.segments[segment as usize] = low;
        let new = self.add_segment(high);
        self.set_depth(segment, depth + 1);
        self.at_depth[depth as usize + 1] += 1;
        self.depths[new as usize] = self.depths[segment as usize];
        let slots = self.slots(at, depth);
        let middle = slots.start + slots.len() / 2;
        self.directory[middle..slots.end].fill(new);
    }

    fn add_segment(&mut self, entries: HashTable<TableEntry>) -> u32 {
        if let Some(number) = self.free.pop() {
            self.segments[number as usize] = entries;
            return number;
        }
        self.segments.push(entries);
        self.depths.push(0);
        u32::try_from(self.segments.len() - 1).expect("the directory's depth bounds segments")
    }

    fn set_depth(&mut self, segment: u32, depth: u32) {
        let old = &mut self.depths[segment as usize];
        self.at_depth[usize::from(*old)] -= 1;
        *old = u8::try_from(depth).expect("at most DEPTH_MAX");
        self.at_depth[depth as usize] += 1;
    }

    /// Frees slots of a segment that is nearly empty.
    fn shrink(&mut self, segment: u32) {
        let hasher = &self.hasher;
        let entries = &mut self.segments[segment as usize];
        let before = slot_bytes(entries);
        entries.shrink_to(entries.len() * 2, |entry| hasher.hash(entry.key()));
        self.slot_bytes = self.slot_bytes - before + slot_bytes(entries);
    }

    /// Merges a nearly empty segment with its neighbour, while both hold few entries.
    fn merge(&mut self, mut segment: u32, at: u64) {
        loop {
            let depth = u32::from(self.depths[segment as usize]);
            if depth == 0 {
                return;
            }
            let neighbour = self.directory[self.slot(at ^ 1 << (64 - depth))];
            let len = |segment: u32| self.segments[segment as usize].len();
            if u32::from(self.depths[neighbour as usize]) != depth
                || len(segment) + len(neighbour) > MERGED_LEN_MAX
            {
                return;
            }
            let (from, to) = if len(segment) < len(neighbour) {
                (segment, neighbour)
            } else {
                (neighbour, segment)
            };
            self.join(from, to);
            self.set_depth(to, depth - 1);
            self.at_depth[depth as usize] -= 1;
            let slots = self.slots(at, depth - 1);
            self.directory[slots].fill(to);
            self.free.push(from);
            self.halve_directory();
            segment = to;
        }
    }

    fn join(&mut self, from: u32, to: u32) {
        let moved = std::mem::take(&mut self.segments[from as usize]);
        let hasher = &self.hasher;
        let entries = &mut self.segments[to as usize];
        self.slot_bytes -= slot_bytes(&moved) + slot_bytes(entries);
        for entry in moved {
            let hash = hasher.hash(entry.key());
            entries.insert_unique(hash, entry, |entry| hasher.hash(entry.key()));
        }
        self.slot_bytes += slot_bytes(entries);
    }

    fn halve_directory(&mut self) {
        while self.depth > 0 && self.at_depth[self.depth as usize] == 0 {
            self.directory = self.directory.iter().copied().step_by(2).collect();
            self.depth -= 1;
        }
    }
}

fn slot_bytes(entries: &HashTable<TableEntry>) -> u64 {
    match entries.allocation_size() {
        0 => 0,
        bytes => bytes as u64 + BLOCK_BYTES,
    }
}

#[cfg(test)]
mod tests;
