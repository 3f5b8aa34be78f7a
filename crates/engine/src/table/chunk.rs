//! Walks the table in the order of segments: for a snapshot by bytes, whole segments or part of one that holds many;
//! for digests by entries, or between two positions.

use super::Table;
use crate::entry::TableEntry;
use crate::key::position;
use std::hint::black_box;

/// Entries that are loaded into the cache together.
const LOADED_TOGETHER: usize = 32;

/// Where a walk ends: after about so many entries, or when they have cost so much.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WalkLimit {
    /// Entries.
    pub entries: usize,
    /// Bytes of work.
    pub cost: usize,
}

impl Table {
    /// Visits the entries at position `from` and later, until about `len` bytes have been visited. Returns the first
    /// position not visited, 0 at the end.
    pub(crate) fn walk(&self, from: u64, len: usize, mut visit: impl FnMut(&TableEntry)) -> u64 {
        let (mut next, mut visited) = (from, 0);
        loop {
            let (segment, start, end) = self.segment_range(next);
            let entries = &self.segments[segment as usize];
            let bytes: usize = entries.iter().map(TableEntry::len).sum();
            if next == start && bytes <= len {
                entries.iter().for_each(&mut visit);
                visited += bytes;
            } else if let Some(left) = self.walk_part(segment, next, len, &mut visit, &mut visited)
            {
                return left;
            }
            match end {
                None => return 0,
                Some(end) if visited >= len => return end,
                Some(end) => next = end,
            }
        }
    }

    /// Visits the entries from a position on with the hashes of their keys: whole segments until the limit is reached,
    /// or a part of one whose entries cost too much. Returns the first position not visited, 0 at the end.
    pub(crate) fn walk_entries(
        &self,
        from: u64,
        limit: WalkLimit,
        cost: impl Fn(&TableEntry) -> usize,
        mut visit: impl FnMut(u64, &TableEntry),
    ) -> u64 {
        let (mut next, mut visited, mut left) = (from, 0, limit.cost);
        loop {
            let (segment, _, end) = self.segment_range(next);
            let total: usize = self.segments[segment as usize].iter().map(&cost).sum();
            if total <= left {
                left -= total;
                self.visit_segment(segment, |hash, entry| {
                    if position(hash) >= next {
                        visit(hash, entry);
                        visited += 1;
                    }
                });
            } else {
                let mut last = None;
                for (position, hash, entry) in self.in_order(segment, next) {
                    // Entries with the same position are visited together: the next walk starts at a position.
                    if left == 0 && last != Some(position) {
                        return position;
                    }
                    visit(hash, entry);
                    left = left.saturating_sub(cost(entry));
                    last = Some(position);
                }
            }
            match end {
                None => return 0,
                Some(end) if visited >= limit.entries || left == 0 => return end,
                Some(end) => next = end,
            }
        }
    }

    /// Visits the entries from a position up to another one, 0 for the end, with the hashes of their keys.
    pub(crate) fn walk_between(&self, from: u64, to: u64, mut visit: impl FnMut(u64, &TableEntry)) {
        let mut next = from;
        loop {
            let (segment, _, end) = self.segment_range(next);
            self.visit_segment(segment, |hash, entry| {
                let position = position(hash);
                if position >= next && (to == 0 || position < to) {
                    visit(hash, entry);
                }
            });
            match end.filter(|&end| to == 0 || end < to) {
                None => return,
                Some(end) => next = end,
            }
        }
    }

    /// Visits the entries of a segment with the hashes of their keys. They are loaded into the cache some at a time,
    /// so that their cache misses overlap.
    fn visit_segment(&self, segment: u32, mut visit: impl FnMut(u64, &TableEntry)) {
        let entries: Vec<&TableEntry> = self.segments[segment as usize].iter().collect();
        for some in entries.chunks(LOADED_TOGETHER) {
            for entry in some {
                black_box(entry.lines());
            }
            for entry in some {
                visit(self.hasher.hash(entry.key()), entry);
            }
        }
    }

    /// Visits part of a segment in the order of positions. Returns the first position not visited, None when the
    /// segment was visited whole.
    fn walk_part(
        &self,
        segment: u32,
        from: u64,
        len: usize,
        visit: &mut impl FnMut(&TableEntry),
        visited: &mut usize,
    ) -> Option<u64> {
        let mut last = None;
        for (position, _, entry) in self.in_order(segment, from) {
            // Entries with the same position are visited together: the next walk starts at a position.
            if *visited >= len && last != Some(position) {
                return Some(position);
            }
            visit(entry);
            *visited += entry.len();
            last = Some(position);
        }
        None
    }

    /// Returns the entries of a segment at a position and later, each with its position and the hash of its key, in the
    /// order of positions.
    fn in_order(&self, segment: u32, from: u64) -> Vec<(u64, u64, &TableEntry)> {
        let entries = self.segments[segment as usize].iter();
        let hashed = entries.map(|entry| (self.hasher.hash(entry.key()), entry));
        let placed = hashed.map(|(hash, entry)| (position(hash), hash, entry));
        let mut found: Vec<_> = placed.filter(|&(position, ..)| position >= from).collect();
        found.sort_unstable_by_key(|&(position, ..)| position);
        found
    }

    /// Returns the segment of a position, that segment's first position, and the first position of the next segment.
    fn segment_range(&self, position: u64) -> (u32, u64, Option<u64>) {
        let segment = self.directory[self.slot(position)];
        let depth = u32::from(self.depths[segment as usize]);
        let prefix = position >> 1 >> (63 - depth);
        let is_last = prefix + 1 == 1 << depth;
        let start = |prefix: u64| if depth == 0 { 0 } else { prefix << (64 - depth) };
        (segment, start(prefix), (!is_last).then(|| start(prefix + 1)))
    }
}
