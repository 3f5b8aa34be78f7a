//! Records of a log on their way to the shards, gathered by key. A session's Changes stand near
//! each other in a log but not together; gathered, its account is found, unpacked and packed
//! once for all of them. Keys do not depend on each other, so only the order within one counts.

use crate::key::position;
use scurry_codec::{Balance, Record};
use scurry_ledger::Time;
use std::hint::black_box;
use std::ops::Range;

/// Records that are gathered at most: what a number below [`INDEX_MASK`] can tell apart.
const RECORDS_MAX: usize = 1 << 17;
const INDEX_MASK: u64 = RECORDS_MAX as u64 - 1;
/// Bytes of keys and values that are gathered, about.
const BYTES_MAX: usize = 32 << 20;
/// Bytes of a cache line.
const LINE_LEN: usize = 64;

/// Records in the order of the log, with what they point to.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    bytes: Vec<u8>,
    balances: Vec<Balance>,
    items: Vec<Item>,
    /// Positions of the keys with the items' numbers as their lowest bits: sorted, the records of
    /// a key stand together and in their order, and keys that lie near each other follow each
    /// other.
    order: Vec<u64>,
}

/// One record.
#[derive(Debug)]
struct Item {
    sequence: u64,
    hash: u64,
    key: Span,
    kind: ItemKind,
}

/// A part of the bytes.
#[derive(Clone, Copy, Debug)]
struct Span {
    from: u32,
    len: u32,
}

/// What a record is, beside its key.
#[derive(Clone, Copy, Debug)]
enum ItemKind {
    Account { change: Span, balances: Span },
    Image { image: Span },
    Value { expires: Option<Time>, value: Span },
    Append { tail: Span },
    Expiry { expires: Option<Time> },
    Remove,
    Entity { version: u64, expires: Option<Time>, value: Span },
    Tombstone { version: u64, forget_at: Time },
}

impl Gathered {
    /// True when what is gathered has to be applied before more is.
    pub(super) fn is_full(&self) -> bool {
        self.items.len() == RECORDS_MAX || self.bytes.len() > BYTES_MAX
    }

    /// Takes a record in, with the hash of its key. One without a key is none of these.
    pub(super) fn push(&mut self, hash: u64, sequence: u64, record: &Record<'_>) {
        let Some(key) = record.key() else { return };
        let kind = match *record {
            Record::Account { change, balances, .. } => {
                let from = self.balances.len();
                self.balances.extend_from_slice(balances);
                let balances = span(from, balances.len());
                ItemKind::Account { change: self.keep(change), balances }
            }
            Record::Image { image, .. } => ItemKind::Image { image: self.keep(image) },
            Record::Value { expires, value, .. } => {
                ItemKind::Value { expires, value: self.keep(value) }
            }
            Record::Append { tail, .. } => ItemKind::Append { tail: self.keep(tail) },
            Record::Expiry { expires, .. } => ItemKind::Expiry { expires },
            Record::Remove { .. } => ItemKind::Remove,
            Record::Entity { version, expires, value, .. } => {
                ItemKind::Entity { version, expires, value: self.keep(value) }
            }
            Record::Tombstone { version, forget_at, .. } => {
                ItemKind::Tombstone { version, forget_at }
            }
            Record::Clear => return,
        };
        let key = self.keep(key);
        self.order.push(position(hash) & !INDEX_MASK | self.items.len() as u64);
        self.items.push(Item { sequence, hash, key, kind });
    }

    /// Puts the records of each key together.
    pub(super) fn sort(&mut self) {
        self.order.sort_unstable();
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

    /// Loads the records at these places, which lie anywhere: in each pass the loads do not wait
    /// for each other, so that their cache misses overlap.
    pub(super) fn touch(&self, places: Range<usize>) {
        for place in places.clone() {
            let item = self.item(place);
            black_box(item.sequence ^ u64::from(item.key.from));
        }
        for place in places {
            let item = self.item(place);
            black_box(self.lines(item.key));
            if let ItemKind::Account { change, balances } = item.kind {
                black_box(self.lines(change));
                for balance in &self.balances[balances.range()] {
                    black_box(balance.held ^ i64::from(balance.bucket.0));
                }
            }
        }
    }

    /// Something of each cache line.
    fn lines(&self, span: Span) -> u8 {
        let bytes = &self.bytes[span.range()];
        let last = bytes.last().copied().unwrap_or(0);
        bytes.iter().step_by(LINE_LEN).fold(last, |all, byte| all | byte)
    }

    /// The places from this one on that hold Changes of one account; none where it holds
    /// something else.
    pub(super) fn changes(&self, place: usize) -> Range<usize> {
        let key = self.key(self.item(place));
        let same = |&at: &usize| {
            let item = self.item(at);
            matches!(item.kind, ItemKind::Account { .. }) && self.key(item) == key
        };
        place..place + (place..self.len()).take_while(same).count()
    }

    /// The record at a place, with its sequence.
    pub(super) fn record(&self, place: usize) -> (u64, Record<'_>) {
        let item = self.item(place);
        let key = self.key(item);
        let bytes = |span: Span| &self.bytes[span.range()];
        let record = match item.kind {
            ItemKind::Account { change, balances } => {
                let balances = &self.balances[balances.range()];
                Record::Account { id: key, change: bytes(change), balances }
            }
            ItemKind::Image { image } => Record::Image { id: key, image: bytes(image) },
            ItemKind::Value { expires, value } => {
                Record::Value { key, expires, value: bytes(value) }
            }
            ItemKind::Append { tail } => Record::Append { key, tail: bytes(tail) },
            ItemKind::Expiry { expires } => Record::Expiry { key, expires },
            ItemKind::Remove => Record::Remove { key },
            ItemKind::Entity { version, expires, value } => {
                Record::Entity { key, version, expires, value: bytes(value) }
            }
            ItemKind::Tombstone { version, forget_at } => {
                Record::Tombstone { key, version, forget_at }
            }
        };
        (item.sequence, record)
    }

    /// Forgets them.
    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.balances.clear();
        self.items.clear();
        self.order.clear();
    }

    fn item(&self, place: usize) -> &Item {
        &self.items[(self.order[place] & INDEX_MASK) as usize]
    }

    fn key(&self, item: &Item) -> &[u8] {
        &self.bytes[item.key.range()]
    }

    fn keep(&mut self, bytes: &[u8]) -> Span {
        let from = self.bytes.len();
        self.bytes.extend_from_slice(bytes);
        span(from, bytes.len())
    }
}

impl Span {
    fn range(self) -> Range<usize> {
        self.from as usize..self.from as usize + self.len as usize
    }
}

/// What is gathered is below [`BYTES_MAX`] and one record, which a frame bounds.
fn span(from: usize, len: usize) -> Span {
    let number = |number: usize| u32::try_from(number).expect("a frame is bounded");
    Span { from: number(from), len: number(len) }
}
