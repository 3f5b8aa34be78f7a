//! A run of records, each with an id and a time at which it is forgotten, in the order of those times. Tombstones and
//! transactions are both kept in this way. A record:
//!
//! | bytes | field |
//! |---|---|
//! | 2 | length of all of it, u16 |
//! | 6 | when it is forgotten, ms, u48 |
//! | 1 | length of the id |
//! | | id |
//! | | payload, which is its kind's own |

use super::pack::Packed;
use crate::{Id, Time};
use alloc::vec::Vec;
use core::marker::PhantomData;

/// Beginning of the id of a receipt: no other transaction has such an id.
pub(crate) const RECEIPT: &[u8] = b"transfer:";

const HEAD_LEN: usize = 2 + 6 + 1;
const TIME_MAX: i64 = (1 << 48) - 1;

/// Remembered records of one kind of one account, packed, in the order in which they are forgotten.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Records<T> {
    bytes: Vec<u8>,
    kind: PhantomData<T>,
}

/// A kind of record.
pub trait RecordKind: Sized {
    /// Returns the id, which is unique among records of its kind.
    fn id(&self) -> &Id;

    /// Returns when the record is forgotten.
    fn forget_at(&self) -> Time;

    /// Returns the payload.
    fn pack(&self) -> Packed;

    /// Restores a record from an id, a time and a payload.
    fn unpack(id: Id, forget_at: Time, payload: &[u8]) -> Self;
}

/// One record, borrowed.
#[derive(Clone, Copy, Debug)]
struct Record<'a> {
    forget_at: Time,
    id: &'a [u8],
    payload: &'a [u8],
}

/// One record in its packed form, for hosts that keep records apart from the account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PackedRecord<'a> {
    /// When it is forgotten.
    pub forget_at: Time,
    /// Id, unique among records of its kind.
    pub id: &'a [u8],
    /// All bytes of the record.
    pub bytes: &'a [u8],
}

impl<'a> PackedRecord<'a> {
    /// Reports whether a transaction is the receipt of a transfer, by its id: at the end of the clock's range others have
    /// a forget time after it too.
    pub fn is_receipt(&self) -> bool {
        self.forget_at > Time::LAST && self.id.starts_with(RECEIPT)
    }

    /// Returns the record at the start of the bytes; `None` if there is no whole record.
    pub fn first_of(bytes: &'a [u8]) -> Option<PackedRecord<'a>> {
        let (Record { forget_at, id, .. }, tail) = split(bytes)?;
        Some(PackedRecord { forget_at, id, bytes: &bytes[..bytes.len() - tail.len()] })
    }
}

impl<T> Default for Records<T> {
    fn default() -> Records<T> {
        Records { bytes: Vec::new(), kind: PhantomData }
    }
}

impl<T: RecordKind> Records<T> {
    /// Returns the number of records. It counts them by a walk.
    pub fn len(&self) -> usize {
        self.packed().count()
    }

    /// Reports whether there is no record.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Returns the packed bytes, for codecs.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Replaces the content by bytes from [`Records::as_bytes`]. They are copied and not checked, because most commands
    /// need one record or none. Use [`Records::are_whole`] for bytes from outside.
    #[inline]
    pub fn load(&mut self, bytes: &[u8]) {
        self.bytes.clear();
        if !bytes.is_empty() {
            self.bytes.extend_from_slice(bytes);
        }
    }

    /// Reports whether the loaded bytes are records and nothing else, in the order in which they are forgotten.
    pub fn are_whole(&self) -> bool {
        let (mut rest, mut last) = (self.bytes.as_slice(), Time(0));
        while let Some((record, tail)) = split(rest) {
            if record.forget_at < last || record.id.is_empty() {
                return false;
            }
            (last, rest) = (record.forget_at, tail);
        }
        rest.is_empty()
    }

    /// Iterates over all records in the order in which they are forgotten.
    pub fn iter(&self) -> impl Iterator<Item = T> {
        self.packed().filter_map(unpack)
    }

    fn packed(&self) -> impl Iterator<Item = Record<'_>> {
        let mut rest = self.bytes.as_slice();
        core::iter::from_fn(move || {
            let (record, tail) = split(rest)?;
            rest = tail;
            Some(record)
        })
    }

    /// Iterates over all records in their packed form, in the order in which they are forgotten.
    pub fn iter_packed(&self) -> impl Iterator<Item = PackedRecord<'_>> {
        let mut rest = self.bytes.as_slice();
        core::iter::from_fn(move || {
            let record = PackedRecord::first_of(rest)?;
            rest = &rest[record.bytes.len()..];
            Some(record)
        })
    }

    /// Inserts a record from [`Records::iter_packed`] after every record that is forgotten no later.
    pub fn insert_packed(&mut self, record: PackedRecord<'_>) {
        let at = self.offset_after(record.forget_at);
        let behind = self.bytes.len() - at;
        self.bytes.extend_from_slice(record.bytes);
        // The record was appended; unless it is the last to be forgotten, it moves into place.
        if behind > 0 {
            self.bytes[at..].rotate_left(behind);
        }
    }

    /// Appends a record that is forgotten no earlier than all others.
    pub fn push_packed(&mut self, record: PackedRecord<'_>) {
        self.bytes.extend_from_slice(record.bytes);
    }

    /// Removes all records.
    pub fn clear(&mut self) {
        self.bytes.clear();
    }

    /// Returns the record of this id.
    pub fn find(&self, id: &[u8]) -> Option<T> {
        self.packed().find(|record| record.id == id).and_then(unpack)
    }

    /// Returns when the first record is forgotten.
    #[inline]
    pub fn next_forget(&self) -> Option<Time> {
        let [_, _, time @ ..] = self.bytes.first_chunk::<{ 2 + 6 }>()?;
        let mut word = [0; 8];
        word[..6].copy_from_slice(time);
        Some(Time(i64::from_le_bytes(word)))
    }

    /// Inserts a record after every record that is forgotten no later.
    pub(crate) fn insert(&mut self, record: &T) {
        let (id, payload) = (record.id().as_bytes(), record.pack());
        let forget_at = Time(record.forget_at().0.clamp(0, TIME_MAX));
        let len = HEAD_LEN + id.len() + payload.len();
        let at = self.offset_after(forget_at);
        let behind = self.bytes.len() - at;
        let mut head = [0; HEAD_LEN];
        head[..2].copy_from_slice(&u16::try_from(len).unwrap_or(u16::MAX).to_le_bytes());
        head[2..8].copy_from_slice(&forget_at.0.to_le_bytes()[..6]);
        head[8] = u8::try_from(id.len()).unwrap_or(u8::MAX);
        self.bytes.reserve(len);
        self.bytes.extend_from_slice(&head);
        self.bytes.extend_from_slice(id);
        self.bytes.extend_from_slice(&payload);
        // The record was appended; unless it is the last to be forgotten, it moves into place.
        if behind > 0 {
            self.bytes[at..].rotate_left(behind);
        }
    }

    /// Removes the record of this id.
    pub(crate) fn remove(&mut self, id: &[u8]) {
        let mut offset = 0;
        while let Some((record, tail)) = split(&self.bytes[offset..]) {
            let end = self.bytes.len() - tail.len();
            if record.id == id {
                self.bytes.drain(offset..end);
                return;
            }
            offset = end;
        }
    }

    /// Drops the records that are due to be forgotten.
    pub(crate) fn forget(&mut self, now: Time) {
        let mut end = 0;
        while let Some((record, tail)) = split(&self.bytes[end..]) {
            if record.forget_at > now {
                break;
            }
            end = self.bytes.len() - tail.len();
        }
        self.bytes.drain(..end);
    }

    /// Returns the offset after the last record whose forget time is not after `time`. It walks from the start: the
    /// newest record is nearly always the last, but the last forget time is not known without a walk.
    fn offset_after(&self, time: Time) -> usize {
        let mut offset = 0;
        while let Some((record, tail)) = split(&self.bytes[offset..]) {
            if record.forget_at > time {
                break;
            }
            offset = self.bytes.len() - tail.len();
        }
        offset
    }
}

fn unpack<T: RecordKind>(record: Record<'_>) -> Option<T> {
    Some(T::unpack(Id::new(record.id)?, record.forget_at, record.payload))
}

fn split(bytes: &[u8]) -> Option<(Record<'_>, &[u8])> {
    let &[len_low, len_high, a, b, c, d, e, f, id_len] = bytes.first_chunk::<HEAD_LEN>()?;
    let len = usize::from(u16::from_le_bytes([len_low, len_high]));
    let forget_at = Time(i64::from_le_bytes([a, b, c, d, e, f, 0, 0]));
    let (record, tail) = bytes.split_at_checked(len)?;
    let (id, payload) = record.get(HEAD_LEN..)?.split_at_checked(usize::from(id_len))?;
    Some((Record { forget_at, id, payload }, tail))
}
