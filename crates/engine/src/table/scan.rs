//! Scans the table in the order of positions, in pages that stay correct while segments split and merge.

use super::Table;
use crate::entry::TableEntry;
use crate::key::{CURSOR_SHIFT, position};
use std::ops::ControlFlow;

/// Most segments that one call of a scan examines.
const SCAN_SEGMENTS_MAX: usize = 4;

impl Table {
    /// Visits entries in the order of their positions, from the cursor on, until `visit` was called `count` times or
    /// [`SCAN_SEGMENTS_MAX`] segments were examined. Returns the next cursor, 0 at the end. Entries that share the
    /// cursor's position are visited together, so an entry that stays in the table is never skipped. When `visit`
    /// breaks, the scan ends: the next call resumes at that entry's position and visits again the entries that share
    /// it.
    pub(crate) fn scan<'a>(
        &'a self,
        cursor: u64,
        count: usize,
        mut visit: impl FnMut(&'a TableEntry) -> ControlFlow<()>,
    ) -> u64 {
        let (mut next, mut visited) = (cursor, 0);
        for _ in 0..SCAN_SEGMENTS_MAX {
            if next > u64::MAX >> CURSOR_SHIFT {
                return 0;
            }
            let (segment, end) = self.segment_at(next << CURSOR_SHIFT);
            let entries = self.segments[segment as usize].iter();
            let place =
                |entry: &TableEntry| position(self.hasher.hash(entry.key())) >> CURSOR_SHIFT;
            let mut found: Vec<(u64, &TableEntry)> =
                entries.map(|entry| (place(entry), entry)).filter(|at| at.0 >= next).collect();
            found.sort_unstable_by_key(|(place, _)| *place);
            let mut last = None;
            for (place, entry) in found {
                let is_full = visited >= count && last != Some(place);
                if is_full || visit(entry).is_break() {
                    return place;
                }
                visited += 1;
                last = Some(place);
            }
            let Some(end) = end else { return 0 };
            next = end;
            if visited >= count {
                break;
            }
        }
        next
    }

    /// Returns the segment of a position, and the cursor at which the next segment begins.
    fn segment_at(&self, position: u64) -> (u32, Option<u64>) {
        let segment = self.directory[self.slot(position)];
        let depth = u32::from(self.depths[segment as usize]);
        let prefix = position >> 1 >> (63 - depth);
        let is_last = prefix + 1 == 1 << depth;
        let end = (!is_last).then(|| (prefix + 1) << (64 - depth) >> CURSOR_SHIFT);
        (segment, end)
    }
}
