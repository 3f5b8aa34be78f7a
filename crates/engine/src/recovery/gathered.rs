//! Records of a log on their way to the shards, gathered by key. A session's Changes stand near
//! each other in a log but not together; gathered, its account is found, unpacked and packed
//! once for all of them. Keys do not depend on each other, so only the order within one counts.

use super::ahead::LONG_LEN;
use crate::key::position;
use std::hint::black_box;

/// Records that are gathered at most: what a number below [`INDEX_MASK`] can tell apart, and few
/// enough to stay in a core's own cache while they are applied.
pub(super) const RECORDS_MAX: usize = 1 << 11;
const INDEX_MASK: u64 = RECORDS_MAX as u64 - 1;
/// Bytes of records that are gathered, about.
const BYTES_MAX: usize = 512 << 10;
/// Bytes of a cache line.
const LINE_LEN: usize = 64;

/// Records in the order of the log.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    /// One record behind the other, as in their frames.
    bytes: Vec<u8>,
    items: Vec<Item>,
    /// Positions of the keys with the items' numbers as their lowest bits: sorted, the records of
    /// a key stand together and in their order, and keys that lie near each other follow each
    /// other.
    order: Vec<u64>,
}

/// One record.
#[derive(Clone, Copy, Debug)]
struct Item {
    sequence: u64,
    hash: u64,
    /// Where it is in the bytes.
    from: u32,
    len: u32,
}

impl Gathered {
    /// True when what is gathered has to be applied before more is.
    pub(super) fn is_full(&self) -> bool {
        self.items.len() == RECORDS_MAX || self.bytes.len() > BYTES_MAX
    }

    /// Takes a record in, with the hash of its key.
    pub(super) fn push(&mut self, hash: u64, sequence: u64, record: &[u8]) {
        let (from, len) = (number(self.bytes.len()), number(record.len()));
        self.bytes.extend_from_slice(record);
        self.order.push(position(hash) & !INDEX_MASK | self.items.len() as u64);
        self.items.push(Item { sequence, hash, from, len });
    }

    /// Puts the records of each key together.
    pub(super) fn sort(&mut self) {
        self.order.sort_unstable();
    }

    /// Loads all records: in the order in which they came the loads do not wait for each other.
    pub(super) fn load(&self) {
        black_box(self.bytes.iter().step_by(LINE_LEN).fold(0, |all, byte| all | byte));
    }

    /// Bytes of them.
    pub(super) fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.order.len()
    }

    /// The hash of the record at a place of the order.
    pub(super) fn hash(&self, place: usize) -> u64 {
        self.item(place).hash
    }

    /// True where another key may begin.
    pub(super) fn begins(&self, place: usize) -> bool {
        place == 0 || (self.order[place] ^ self.order[place - 1]) & !INDEX_MASK != 0
    }

    /// The record at a place and its sequence.
    pub(super) fn record(&self, place: usize) -> (u64, &[u8]) {
        let item = self.item(place);
        (item.sequence, &self.bytes[item.from as usize..][..item.len as usize])
    }

    /// Forgets them.
    pub(super) fn clear(&mut self) {
        if self.bytes.len() > LONG_LEN {
            self.bytes = Vec::new();
        }
        self.bytes.clear();
        self.items.clear();
        self.order.clear();
    }

    fn item(&self, place: usize) -> &Item {
        &self.items[(self.order[place] & INDEX_MASK) as usize]
    }
}

/// Bytes that are gathered are below [`BYTES_MAX`] and one record, which a frame bounds.
fn number(number: usize) -> u32 {
    u32::try_from(number).expect("a frame is bounded")
}
