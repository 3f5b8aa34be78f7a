//! One key with its value, in one allocation: a look-up touches the table and this block.
//!
//! Layout: tag u8, key length u16, value length u32; if something can become due: timer u32, tick u40; if it expires:
//! time i64; for entities: version u64; then key, value, unused bytes.

use crate::blocks::Blocks;
use crate::{KeyKind, Version};
use scurry_ledger::Time;

/// The kind of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TableEntryKind {
    /// Plain bytes.
    Value,
    /// An account image.
    Account,
    /// A live entity.
    Entity,
    /// A deleted entity. Its expiry is the time at which it is forgotten.
    Tombstone,
}

impl TableEntryKind {
    /// Number of kinds: `kind as usize` is below it.
    pub(crate) const COUNT: usize = TableEntryKind::Tombstone as usize + 1;

    /// Returns the kind as users see it.
    pub(crate) fn key_kind(self) -> KeyKind {
        match self {
            TableEntryKind::Value => KeyKind::Value,
            TableEntryKind::Account => KeyKind::Account,
            TableEntryKind::Entity | TableEntryKind::Tombstone => KeyKind::Entity,
        }
    }
}

/// The head of an entry: everything except key and value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) kind: TableEntryKind,
    /// Time from which the entry is absent. None for accounts: the ledger handles their expiries.
    pub(crate) expires: Option<Time>,
    /// Version of an entity or tombstone; else [`Version::ABSENT`].
    pub(crate) version: Version,
}

impl Head {
    /// Returns the head of a kind that has neither expiry nor version.
    pub(crate) fn plain(kind: TableEntryKind) -> Head {
        Head { kind, expires: None, version: Version::ABSENT }
    }

    fn tag(self) -> u8 {
        self.kind as u8 | if self.expires.is_some() { EXPIRES } else { 0 }
    }
}

/// The timer of an entry: its number, and the tick at which it fires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Armed {
    pub(crate) timer: u32,
    pub(crate) tick: u64,
}

/// One entry. Its allocated length is rounded up, so that an image can grow a little in place.
#[derive(Debug)]
pub(crate) struct TableEntry(Box<[u8]>);

/// Rounding of lengths, bytes: an allocation and a common allocator's overhead fill whole steps.
pub(crate) const STEP: usize = 16;
const BESIDE_LEN: usize = 8;
const FIXED_LEN: usize = 1 + 2 + 4;
const TIMER_LEN: usize = 4 + 5;
const TIME_LEN: usize = 8;
const VERSION_LEN: usize = 8;

/// Bytes of a cache line.
const LINE_LEN: usize = 64;
/// Most bytes of an entry that are preloaded before use: an account of the usual size.
const TOUCHED_LEN_MAX: usize = 6 * LINE_LEN;

/// Length in bytes above which an account that has outgrown its block gets room for an eighth more: each id that it
/// remembers makes it longer.
const GROWN_LEN: usize = 512;

/// The bit of the tag for an entry that expires.
const EXPIRES: u8 = 4;

/// The tick of an entry without an armed timer.
pub(crate) const UNARMED: u64 = (1 << 40) - 1;

/// Longest key, bytes.
pub const KEY_LEN_MAX: usize = u16::MAX as usize;

/// Longest value, bytes.
pub const VALUE_LEN_MAX: usize = u32::MAX as usize;

impl TableEntry {
    /// Creates an entry. The key must be at most [`KEY_LEN_MAX`] long, the value at most [`VALUE_LEN_MAX`].
    pub(crate) fn new(head: Head, key: &[u8], value: &[u8]) -> TableEntry {
        TableEntry::with_room(head, key, value, 0)
    }

    /// Creates an entry as [`TableEntry::new`] does, with room for the value to grow in place.
    pub(crate) fn with_room(head: Head, key: &[u8], value: &[u8], room: usize) -> TableEntry {
        let key_len = u16::try_from(key.len()).expect("the host bounds keys");
        let value_len = u32::try_from(value.len()).expect("the host bounds values");
        let tag = head.tag();
        let start = key_start(tag);
        let len = allocation_len(start + key.len() + value.len() + room);
        let mut bytes = Vec::with_capacity(len);
        bytes.push(tag);
        bytes.extend_from_slice(&key_len.to_le_bytes());
        bytes.extend_from_slice(&value_len.to_le_bytes());
        bytes.resize(start, 0);
        bytes.extend_from_slice(key);
        bytes.extend_from_slice(value);
        bytes.resize(len, 0);
        let mut entry = TableEntry(bytes.into_boxed_slice());
        entry.arm(Armed { timer: 0, tick: UNARMED });
        entry.set_head(head);
        entry
    }

    pub(crate) fn kind(&self) -> TableEntryKind {
        kind(self.0[0])
    }

    /// Reports whether a head has the same layout as this entry's.
    pub(crate) fn has_shape_of(&self, head: Head) -> bool {
        self.0[0] == head.tag()
    }

    /// Replaces the head by one of the same layout.
    pub(crate) fn set_head(&mut self, head: Head) {
        debug_assert!(self.has_shape_of(head));
        let tag = self.0[0];
        if let Some(time) = head.expires {
            let at = time_start(tag);
            self.0[at..at + TIME_LEN].copy_from_slice(&time.0.to_le_bytes());
        }
        if has_version(tag) {
            let at = version_start(tag);
            self.0[at..at + VERSION_LEN].copy_from_slice(&head.version.get().to_le_bytes());
        }
    }

    pub(crate) fn expires(&self) -> Option<Time> {
        let tag = self.0[0];
        let at = time_start(tag);
        (tag & EXPIRES != 0).then(|| {
            Time(i64::from_le_bytes(self.0[at..at + TIME_LEN].try_into().unwrap_or([0; 8])))
        })
    }

    /// Reports whether the entry has expired and counts as absent.
    pub(crate) fn is_over(&self, now: Time) -> bool {
        self.expires().is_some_and(|expires| expires <= now)
    }

    pub(crate) fn version(&self) -> Version {
        let tag = self.0[0];
        if !has_version(tag) {
            return Version::ABSENT;
        }
        let at = version_start(tag);
        let number = self.0[at..at + VERSION_LEN].try_into().unwrap_or([0; 8]);
        Version::new(u64::from_le_bytes(number)).unwrap_or(Version::LAST)
    }

    pub(crate) fn key(&self) -> &[u8] {
        let start = key_start(self.0[0]);
        &self.0[start..start + self.key_len()]
    }

    pub(crate) fn value(&self) -> &[u8] {
        let start = self.value_start();
        &self.0[start..start + self.value_len()]
    }

    /// Replaces the value, in place if it fits and uses more than half of the allocation.
    pub(crate) fn set_value(&mut self, value: &[u8]) {
        let start = self.value_start();
        let len = allocation_len(start + value.len());
        if len > self.0.len() || len * 2 < self.0.len() {
            let mut bytes = Vec::with_capacity(len);
            bytes.extend_from_slice(&self.0[..start]);
            bytes.extend_from_slice(value);
            bytes.resize(len, 0);
            self.0 = bytes.into_boxed_slice();
            self.set_value_len(value.len());
            return;
        }
        self.0[start..start + value.len()].copy_from_slice(value);
        self.set_value_len(value.len());
    }

    /// Replaces a value that grows and shrinks repeatedly. When it does not fit, or would waste a fifth of the block,
    /// another block is taken from `blocks`, and the old one is kept there for reuse.
    pub(crate) fn set_value_among(&mut self, value: &[u8], blocks: &mut Blocks) {
        let start = self.value_start();
        let end = start + value.len();
        let len = allocation_len(end);
        if len > self.0.len() || len + len / 4 < self.0.len() {
            let is_growing = len > self.0.len() && len > GROWN_LEN;
            let len = if is_growing { allocation_len(end + end / 8) } else { len };
            let mut block = blocks.allocate(len);
            block[..start].copy_from_slice(&self.0[..start]);
            blocks.keep(std::mem::replace(&mut self.0, block));
        }
        self.0[start..end].copy_from_slice(value);
        self.set_value_len(value.len());
    }

    /// Appends to the value. When the allocation grows, it grows by a quarter more than needed, so that many small
    /// appends cost as much as one large one.
    pub(crate) fn append(&mut self, tail: &[u8]) {
        let (from, len) = (self.value_start() + self.value_len(), self.value_len() + tail.len());
        if from + tail.len() > self.0.len() {
            let mut bytes = std::mem::take(&mut self.0).into_vec();
            let len = from + tail.len();
            let len = allocation_len(len + len / 4);
            bytes.reserve_exact(len - bytes.len());
            bytes.resize(len, 0);
            self.0 = bytes.into_boxed_slice();
        }
        self.0[from..from + tail.len()].copy_from_slice(tail);
        self.set_value_len(len);
    }

    /// Returns the timer, unarmed when nothing in the entry can become due.
    pub(crate) fn armed(&self) -> Armed {
        if !is_timed(self.0[0]) {
            return Armed { timer: 0, tick: UNARMED };
        }
        let timer = self.0[FIXED_LEN..FIXED_LEN + 4].try_into().unwrap_or([0; 4]);
        let mut tick = [0; 8];
        tick[..5].copy_from_slice(&self.0[FIXED_LEN + 4..FIXED_LEN + TIMER_LEN]);
        Armed { timer: u32::from_le_bytes(timer), tick: u64::from_le_bytes(tick) }
    }

    pub(crate) fn arm(&mut self, armed: Armed) {
        if is_timed(self.0[0]) {
            self.0[FIXED_LEN..FIXED_LEN + 4].copy_from_slice(&armed.timer.to_le_bytes());
            let tick = &armed.tick.to_le_bytes()[..5];
            self.0[FIXED_LEN + 4..FIXED_LEN + TIMER_LEN].copy_from_slice(tick);
        }
    }

    /// Returns the bytes of the allocation, with the allocator's overhead.
    pub(crate) fn memory_bytes(&self) -> u64 {
        (self.0.len() + BESIDE_LEN) as u64
    }

    /// Returns the bytes of the allocation.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Loads one byte of each cache line, up to [`TOUCHED_LEN_MAX`] bytes, for [`crate::Shard::touch`]. The length is
    /// known from the slot, so the loads are independent.
    pub(crate) fn lines(&self) -> u8 {
        let last = self.0.len() - 1;
        let mut sum = self.0[last.min(TOUCHED_LEN_MAX)];
        for byte in self.0.iter().take(TOUCHED_LEN_MAX).step_by(LINE_LEN) {
            sum ^= byte;
        }
        sum
    }

    /// Returns the address of the entry, without loading the entry.
    pub(crate) fn address(&self) -> *const u8 {
        self.0.as_ptr()
    }

    fn key_len(&self) -> usize {
        usize::from(u16::from_le_bytes([self.0[1], self.0[2]]))
    }

    fn value_start(&self) -> usize {
        key_start(self.0[0]) + self.key_len()
    }

    fn value_len(&self) -> usize {
        u32::from_le_bytes(self.0[3..7].try_into().unwrap_or([0; 4])) as usize
    }

    fn set_value_len(&mut self, len: usize) {
        let len = u32::try_from(len).expect("the host bounds values");
        self.0[3..7].copy_from_slice(&len.to_le_bytes());
    }
}

/// Returns the allocated length for this many bytes.
fn allocation_len(bytes: usize) -> usize {
    (bytes + BESIDE_LEN).next_multiple_of(STEP) - BESIDE_LEN
}

fn kind(tag: u8) -> TableEntryKind {
    match tag & 3 {
        0 => TableEntryKind::Value,
        1 => TableEntryKind::Account,
        2 => TableEntryKind::Entity,
        _ => TableEntryKind::Tombstone,
    }
}

const fn has_version(tag: u8) -> bool {
    tag & 3 >= TableEntryKind::Entity as u8
}

const fn is_timed(tag: u8) -> bool {
    tag & EXPIRES != 0 || tag & 3 == TableEntryKind::Account as u8
}

const fn time_start(tag: u8) -> usize {
    FIXED_LEN + if is_timed(tag) { TIMER_LEN } else { 0 }
}

const fn version_start(tag: u8) -> usize {
    time_start(tag) + if tag & EXPIRES != 0 { TIME_LEN } else { 0 }
}

/// Offset of the key by the bits of the tag: a table, because each access needs it.
static KEY_STARTS: [u8; 8] = {
    let mut starts = [0; 8];
    let mut tag = 0;
    while tag < 8 {
        let version_len = if has_version(tag) { VERSION_LEN } else { 0 };
        starts[tag as usize] = (version_start(tag) + version_len) as u8;
        tag += 1;
    }
    starts
};

fn key_start(tag: u8) -> usize {
    usize::from(KEY_STARTS[usize::from(tag & (EXPIRES | 3))])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head_of(entry: &TableEntry) -> Head {
        Head { kind: entry.kind(), expires: entry.expires(), version: entry.version() }
    }

    fn heads() -> Vec<Head> {
        let version = Version::new(77).expect("63 bits");
        let mut heads =
            vec![Head::plain(TableEntryKind::Value), Head::plain(TableEntryKind::Account)];
        for expires in [None, Some(Time(5)), Some(Time(i64::MAX))] {
            heads.push(Head { kind: TableEntryKind::Value, expires, version: Version::ABSENT });
            heads.push(Head { kind: TableEntryKind::Entity, expires, version });
            heads.push(Head { kind: TableEntryKind::Tombstone, expires, version });
        }
        heads
    }

    #[test]
    fn values_grow_and_shrink_and_keep_key_head_and_timer() {
        for head in heads() {
            let mut entry = TableEntry::new(head, b"alice", b"one");
            let timed = head.expires.is_some() || head.kind == TableEntryKind::Account;
            let armed = if timed {
                Armed { timer: u32::MAX - 1, tick: UNARMED - 1 }
            } else {
                Armed { timer: 0, tick: UNARMED }
            };
            entry.arm(armed);
            for len in [0, 3, 100, 5, 1_000, 0] {
                let value = vec![b'v'; len];
                entry.set_value(&value);
                assert_eq!(entry.value(), value);
                assert_eq!(
                    (entry.key(), head_of(&entry), entry.armed()),
                    (&b"alice"[..], head, armed)
                );
            }
            assert!(entry.memory_bytes() <= 56, "a small value gives memory back");
        }
    }

    #[test]
    fn an_account_moves_between_blocks_and_keeps_what_is_before_its_image() {
        let mut blocks = Blocks::new(STEP);
        let armed = Armed { timer: 7, tick: 8 };
        let mut entries = [b"alice", b"bobby"].map(|key| {
            let mut entry = TableEntry::new(Head::plain(TableEntryKind::Account), key, b"");
            entry.arm(armed);
            (key, entry)
        });
        for len in [100, 117, 500, 410, 405, 30, 2_000, 0] {
            for (number, (key, entry)) in entries.iter_mut().enumerate() {
                let value = vec![b'a' + u8::try_from(number).expect("small"); len];
                entry.set_value_among(&value, &mut blocks);
                assert_eq!(
                    (entry.key(), entry.value(), entry.armed()),
                    (&key[..], &value[..], armed)
                );
                let least = allocation_len(key_start(entry.0[0]) + key.len() + len);
                assert!(entry.len() >= least && entry.len() <= least + least / 4, "{len}");
            }
        }
        assert!(blocks.memory_bytes() > 0, "the second entry uses what the first one left");
    }

    #[test]
    fn tails_make_one_value_and_waste_a_quarter_at_most() {
        for head in heads() {
            let (mut entry, mut value) = (TableEntry::new(head, b"k", b""), vec![]);
            let armed = entry.armed();
            for step in 0..2_000_usize {
                let tail = vec![b'a' + u8::try_from(step % 26).expect("small"); step % 7];
                entry.append(&tail);
                value.extend_from_slice(&tail);
            }
            assert_eq!((entry.value(), entry.key()), (&value[..], &b"k"[..]));
            assert_eq!((head_of(&entry), entry.armed()), (head, armed));
            assert!(entry.memory_bytes() as usize <= (value.len() + 64) * 5 / 4 + STEP);
        }
    }

    #[test]
    fn a_value_without_expiry_has_a_head_of_seven_bytes() {
        assert_eq!(key_start(Head::plain(TableEntryKind::Value).tag()), 7);
        assert_eq!(key_start(Head::plain(TableEntryKind::Account).tag()), 16);
    }
}
