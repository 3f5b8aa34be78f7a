//! Records of a log on their way to the shards, grouped by key. The Changes of a session are near each other in a log
//! but not adjacent. After grouping, its account is found, unpacked and packed once for all of them. Keys are
//! independent, so only the order within each key matters.

use super::read_ahead::LONG_LEN;
use crate::key::position;
use std::hint::black_box;

/// Most records that are gathered: as many as [`INDEX_MASK`] can number, and few enough to stay in a core's own cache
/// while they are applied.
pub(super) const RECORDS_MAX: usize = 1 << 11;
const INDEX_MASK: u64 = RECORDS_MAX as u64 - 1;
/// Approximate limit on the bytes of gathered records.
const BYTES_MAX: usize = 512 << 10;
/// Bytes of a cache line.
const LINE_LEN: usize = 64;

/// Records in the order of the log.
#[derive(Debug, Default)]
pub(super) struct GatheredRecords {
    /// The records, concatenated.
    bytes: Vec<u8>,
    items: Vec<GatheredItem>,
    /// Positions of the keys, with the index of the item in the lowest bits. Sorted, the records of a key are adjacent
    /// and in their order, and keys that are close in the table follow each other.
    order: Vec<u64>,
}

/// One record.
#[derive(Clone, Copy, Debug)]
struct GatheredItem {
    sequence: u64,
    hash: u64,
    /// Offset in `bytes`.
    from: u32,
    len: u32,
}

impl GatheredRecords {
    /// Reports whether the gathered records must be applied before more are added.
    pub(super) fn is_full(&self) -> bool {
        self.items.len() == RECORDS_MAX || self.bytes.len() > BYTES_MAX
    }

    /// Adds a record, with the hash of its key.
    pub(super) fn push(&mut self, hash: u64, sequence: u64, record: &[u8]) {
        let (from, len) = (number(self.bytes.len()), number(record.len()));
        self.bytes.extend_from_slice(record);
        self.order.push(position(hash) & !INDEX_MASK | self.items.len() as u64);
        self.items.push(GatheredItem { sequence, hash, from, len });
    }

    /// Groups the records by key.
    pub(super) fn sort(&mut self) {
        self.order.sort_unstable();
    }

    /// Loads all records into the cache, sequentially, so that the loads are independent.
    pub(super) fn load(&self) {
        black_box(self.bytes.iter().step_by(LINE_LEN).fold(0, |all, byte| all | byte));
    }

    /// Returns the bytes of the records.
    pub(super) fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Returns the number of records.
    pub(super) fn len(&self) -> usize {
        self.order.len()
    }

    /// Returns the key hash of the record at a place in the order.
    pub(super) fn hash(&self, place: usize) -> u64 {
        self.item(place).hash
    }

    /// Reports whether a new key may begin at this place.
    pub(super) fn begins(&self, place: usize) -> bool {
        place == 0 || (self.order[place] ^ self.order[place - 1]) & !INDEX_MASK != 0
    }

    /// Returns the record at a place, with its sequence.
    pub(super) fn record(&self, place: usize) -> (u64, &[u8]) {
        let item = self.item(place);
        (item.sequence, &self.bytes[item.from as usize..][..item.len as usize])
    }

    /// Removes all records.
    pub(super) fn clear(&mut self) {
        if self.bytes.len() > LONG_LEN {
            self.bytes = Vec::new();
        }
        self.bytes.clear();
        self.items.clear();
        self.order.clear();
    }

    fn item(&self, place: usize) -> &GatheredItem {
        &self.items[(self.order[place] & INDEX_MASK) as usize]
    }
}

/// Converts a length: gathered bytes are below [`BYTES_MAX`] and one record, whose length the frame bounds.
fn number(number: usize) -> u32 {
    u32::try_from(number).expect("a frame is bounded")
}
