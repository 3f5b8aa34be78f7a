//! Remembered records of a busy account: tombstones or transactions. They are packed in pages in the order of arrival.
//! With few exceptions they are forgotten in that order, so the oldest page is freed as a whole. An index finds a
//! record by its id.
//!
//! | bytes | field |
//! |---|---|
//! | 1 | standing: 0 in the order of forget times, 1 out of it, 2 gone |
//! | | the record as it lies in an image |
//! | 0 to 3 | nothing: each begins at a multiple of 4 |

use super::ids::Ids;
use scurry_ledger::{PackedRecord, RecordKind, Records, Time, UnloadedRecords};
use std::collections::{BTreeSet, VecDeque};

/// Most bytes of a page.
const PAGE_LEN_MAX: usize = 64 << 10;
/// Alignment in bytes: places count in this unit.
const UNIT: usize = 4;
/// Bits of a place that are the offset in its page; the others are the page's number.
const OFFSET_BITS: u32 = (PAGE_LEN_MAX / UNIT).trailing_zeros();
/// Mask of page numbers, which wrap around: 16 GB of pages.
const PAGE_MASK: u32 = u32::MAX >> OFFSET_BITS;
/// Bytes that a late record's place takes in the tree, beyond the place itself.
const LATE_BYTES: usize = 24;

const IN_ORDER: u8 = 0;
const LATE: u8 = 1;
const GONE: u8 = 2;

/// Records of one kind, stored outside their account.
#[derive(Debug, Default)]
pub(super) struct PackedRecordStore {
    pages: Pages,
    ids: Ids<u32>,
    /// Records that are forgotten before one that arrived earlier, or by no time, by their forget time.
    late: BTreeSet<(Time, u32)>,
    /// The latest forget time of the records in order.
    newest: Option<Time>,
    len: usize,
    bytes: usize,
}

#[derive(Debug, Default)]
struct Pages {
    pages: VecDeque<Vec<u8>>,
    /// Number of the first page.
    first: u32,
    /// Bytes at the start of the first page that are already freed.
    start: usize,
}

impl Pages {
    fn page(&self, place: u32) -> usize {
        ((place >> OFFSET_BITS).wrapping_sub(self.first) & PAGE_MASK) as usize
    }

    fn offset(place: u32) -> usize {
        (place & ((1 << OFFSET_BITS) - 1)) as usize * UNIT
    }

    fn standing(&mut self, place: u32) -> &mut u8 {
        let page = self.page(place);
        &mut self.pages[page][Pages::offset(place)]
    }

    fn record(&self, place: u32) -> PackedRecord<'_> {
        record_at(&self.pages[self.page(place)], Pages::offset(place))
    }

    /// Appends a record and returns its place.
    fn push(&mut self, standing: u8, record: PackedRecord<'_>) -> u32 {
        let len = (1 + record.bytes.len()).next_multiple_of(UNIT);
        if self.pages.back().is_none_or(|page| page.len() + len > PAGE_LEN_MAX) {
            self.pages.push_back(Vec::new());
        }
        let number = self.first.wrapping_add(self.pages.len() as u32 - 1) & PAGE_MASK;
        let page = self.pages.back_mut().expect("one was just made");
        let offset = page.len();
        page.push(standing);
        page.extend_from_slice(record.bytes);
        page.resize(offset + len, 0);
        number << OFFSET_BITS | (offset / UNIT) as u32
    }

    /// Returns standing, place and record of the first record that was not passed.
    fn front(&self) -> Option<(u8, u32, PackedRecord<'_>)> {
        self.walk().next()
    }

    /// Iterates over all records from the first on, including those that are gone.
    fn walk(&self) -> impl Iterator<Item = (u8, u32, PackedRecord<'_>)> {
        let mut page = 0;
        let mut offset = self.start;
        std::iter::from_fn(move || {
            if offset >= self.pages.get(page)?.len() {
                (page, offset) = (page + 1, 0);
            }
            let bytes = self.pages.get(page)?;
            let record = record_at(bytes, offset);
            let number = self.first.wrapping_add(page as u32) & PAGE_MASK;
            let found = (bytes[offset], number << OFFSET_BITS | (offset / UNIT) as u32, record);
            offset += (1 + record.bytes.len()).next_multiple_of(UNIT);
            Some(found)
        })
    }

    /// Passes the first record, which is gone.
    fn pass(&mut self) {
        let Some((_, _, record)) = self.front() else { return };
        let len = (1 + record.bytes.len()).next_multiple_of(UNIT);
        let page_len = self.pages[0].len();
        if self.start >= page_len {
            self.drop_first();
            self.start = len;
        } else {
            self.start += len;
        }
        if self.start >= self.pages[0].len() {
            self.drop_first();
        }
    }

    fn drop_first(&mut self) {
        self.pages.pop_front();
        self.first = self.first.wrapping_add(1) & PAGE_MASK;
        self.start = 0;
    }

    fn memory_bytes(&self) -> usize {
        // The pages between the first and the last are full.
        let ends: usize = match (self.pages.front(), self.pages.back()) {
            (Some(first), Some(last)) if self.pages.len() > 1 => first.capacity() + last.capacity(),
            (Some(only), _) => only.capacity(),
            (None, _) => 0,
        };
        ends + self.pages.len().saturating_sub(2) * PAGE_LEN_MAX
            + self.pages.capacity() * size_of::<Vec<u8>>()
    }
}

fn record_at(page: &[u8], offset: usize) -> PackedRecord<'_> {
    PackedRecord::first_of(&page[offset + 1..]).expect("a place is that of a record")
}

impl PackedRecordStore {
    /// Returns the number of records.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Returns the bytes of the records.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns the approximate bytes of memory.
    pub(super) fn memory_bytes(&self) -> usize {
        self.pages.memory_bytes() + self.ids.memory_bytes() + self.late.len() * LATE_BYTES
    }

    /// Finds the record of an id.
    pub(super) fn find(&self, id: &[u8]) -> Option<PackedRecord<'_>> {
        let place = self.ids.find(id, |place| self.pages.record(place).id)?;
        Some(self.pages.record(place))
    }

    /// Inserts a record whose id is not in the index.
    pub(super) fn insert(&mut self, record: PackedRecord<'_>) {
        // A record that no time forgets would make all that follow it late.
        let is_late = record.forget_at > Time::LAST
            || self.newest.is_some_and(|newest| record.forget_at < newest);
        let place = self.pages.push(if is_late { LATE } else { IN_ORDER }, record);
        if is_late {
            self.late.insert((record.forget_at, place));
        } else {
            self.newest = Some(record.forget_at);
        }
        let pages = &self.pages;
        self.ids.insert(record.id, place, |place| pages.record(place).id);
        self.len += 1;
        self.bytes += record.bytes.len();
    }

    /// Removes the record of an id, if it exists.
    pub(super) fn remove(&mut self, id: &[u8]) {
        let place = self.ids.find(id, |place| self.pages.record(place).id);
        if let Some(place) = place {
            self.end(place);
            self.pass_gone();
        }
    }

    /// Forgets the records whose forget time has passed.
    pub(super) fn forget(&mut self, now: Time) {
        while let Some(&(time, place)) = self.late.first()
            && time <= now
        {
            self.end(place);
        }
        self.pass_gone();
        // The first ones may be behind a record that no time forgets.
        loop {
            let next = self.in_order().next().map(|(_, place, record)| (place, record.forget_at));
            let Some((place, _)) = next.filter(|(_, forget_at)| *forget_at <= now) else { break };
            self.end(place);
            self.pass_gone();
        }
    }

    /// Iterates over the records in the order of forget times.
    fn in_order(&self) -> impl Iterator<Item = (u8, u32, PackedRecord<'_>)> {
        self.pages.walk().filter(|(standing, _, _)| *standing == IN_ORDER)
    }

    /// Returns the sums that the ledger's rules need, as of `now`.
    pub(super) fn sums(&self, now: Time) -> UnloadedRecords {
        // A receipt is forgotten after all times, so it is among the last of those that are out of order.
        let mut endless = self.late.iter().rev().take_while(|(time, _)| *time > Time::LAST);
        let has_receipt = endless.any(|&(_, place)| self.pages.record(place).is_receipt());
        let mut sums = UnloadedRecords { len: self.len, has_receipt, ..UnloadedRecords::default() };
        let mut in_order = self.in_order().map(|(_, _, record)| record.forget_at).peekable();
        let mut late = self.late.iter().map(|(time, _)| *time).peekable();
        sums.last = self.newest.into_iter().chain(self.late.last().map(|(time, _)| *time)).max();
        sums.first = in_order.peek().into_iter().chain(late.peek()).min().copied();
        if sums.first.is_some_and(|first| first <= now) {
            while in_order.next_if(|time| *time <= now).is_some() {
                sums.due += 1;
            }
            while late.next_if(|time| *time <= now).is_some() {
                sums.due += 1;
            }
            sums.first_not_due = in_order.peek().into_iter().chain(late.peek()).min().copied();
        } else {
            sums.first_not_due = sums.first;
        }
        sums
    }

    /// Copies all records into an account's empty records, in the order of their forget times.
    pub(super) fn copy_to<T: RecordKind>(&self, records: &mut Records<T>) {
        let mut late = self.late.iter().peekable();
        for (standing, _, record) in self.pages.walk() {
            if standing == IN_ORDER {
                while let Some(&(_, place)) = late.next_if(|late| late.0 < record.forget_at) {
                    records.push_packed(self.pages.record(place));
                }
                records.push_packed(record);
            }
        }
        for &(_, place) in late {
            records.push_packed(self.pages.record(place));
        }
    }

    /// Marks the record at this place as gone.
    fn end(&mut self, place: u32) {
        let pages = &self.pages;
        let record = pages.record(place);
        self.ids.remove(record.id, |at| at == place);
        self.len -= 1;
        self.bytes -= record.bytes.len();
        let forget_at = record.forget_at;
        let standing = self.pages.standing(place);
        if *standing == LATE {
            self.late.remove(&(forget_at, place));
        }
        *standing = GONE;
    }

    fn pass_gone(&mut self) {
        while let Some((GONE, _, _)) = self.pages.front() {
            self.pages.pass();
        }
        if self.len == 0 {
            self.newest = None;
        }
    }
}
