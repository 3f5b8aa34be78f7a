//! A run of records, each with an id and a time at which it is forgotten, in the order of
//! those times. Record: length u16 (all of it), forget time u48 ms, id length u8, id, payload.

use super::pack::Reader;
use crate::Time;
use alloc::vec::Vec;

const HEAD_LEN: usize = 2 + 6 + 1;
const TIME_MAX: i64 = (1 << 48) - 1;

/// Packed records in the order of their forget times.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Records {
    bytes: Vec<u8>,
    count: u16,
}

/// One record, borrowed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Record<'a> {
    pub(super) forget_at: Time,
    pub(super) id: &'a [u8],
    pub(super) payload: &'a [u8],
}

impl Records {
    pub(super) fn len(&self) -> usize {
        usize::from(self.count)
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Replaces the content by bytes that `as_bytes` gave; false, and empty, when they are not whole.
    #[inline]
    pub(super) fn load(&mut self, bytes: &[u8]) -> bool {
        self.bytes.clear();
        self.count = 0;
        bytes.is_empty() || self.load_some(bytes)
    }

    fn load_some(&mut self, bytes: &[u8]) -> bool {
        let mut rest = bytes;
        let mut last = Time(0);
        while let Some((record, tail)) = split(rest) {
            if record.forget_at < last || record.id.is_empty() || self.count == u16::MAX {
                return false;
            }
            last = record.forget_at;
            self.count += 1;
            rest = tail;
        }
        if !rest.is_empty() {
            self.count = 0;
            return false;
        }
        self.bytes.extend_from_slice(bytes);
        true
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = Record<'_>> {
        let mut rest = self.bytes.as_slice();
        core::iter::from_fn(move || {
            let (record, tail) = split(rest)?;
            rest = tail;
            Some(record)
        })
    }

    pub(super) fn find(&self, id: &[u8]) -> Option<Record<'_>> {
        self.iter().find(|record| record.id == id)
    }

    #[inline]
    pub(super) fn next_forget(&self) -> Option<Time> {
        let [_, _, time @ ..] = self.bytes.first_chunk::<{ 2 + 6 }>()?;
        let mut word = [0; 8];
        word[..6].copy_from_slice(time);
        Some(Time(i64::from_le_bytes(word)))
    }

    /// Inserts behind every record that is forgotten no later.
    pub(super) fn insert(&mut self, forget_at: Time, id: &[u8], payload: &[u8]) {
        let forget_at = Time(forget_at.0.clamp(0, TIME_MAX));
        let len = HEAD_LEN + id.len() + payload.len();
        let at = self.offset_after(forget_at);
        let behind = self.bytes.len() - at;
        self.bytes.reserve(len);
        self.bytes.extend_from_slice(&u16::try_from(len).unwrap_or(u16::MAX).to_le_bytes());
        self.bytes.extend_from_slice(&forget_at.0.to_le_bytes()[..6]);
        self.bytes.push(u8::try_from(id.len()).unwrap_or(u8::MAX));
        self.bytes.extend_from_slice(id);
        self.bytes.extend_from_slice(payload);
        if behind > 0 {
            self.bytes[at..].rotate_left(behind);
        }
        self.count += 1;
    }

    /// Removes the record of this id.
    pub(super) fn remove(&mut self, id: &[u8]) {
        let mut offset = 0;
        while let Some((record, tail)) = split(&self.bytes[offset..]) {
            let end = self.bytes.len() - tail.len();
            if record.id == id {
                self.bytes.drain(offset..end);
                self.count -= 1;
                return;
            }
            offset = end;
        }
    }

    /// Drops what is due to be forgotten.
    pub(super) fn forget(&mut self, now: Time) {
        let mut end = 0;
        while let Some((record, tail)) = split(&self.bytes[end..]) {
            if record.forget_at > now {
                break;
            }
            end = self.bytes.len() - tail.len();
            self.count -= 1;
        }
        self.bytes.drain(..end);
    }

    /// The place behind the last record whose forget time is not after `time`. The newest
    /// record is nearly always the last, and the last forget time is not known without a walk.
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

fn split(bytes: &[u8]) -> Option<(Record<'_>, &[u8])> {
    let mut reader = Reader(bytes);
    let len = usize::from(reader.u16());
    if len < HEAD_LEN || len > bytes.len() {
        return None;
    }
    let (record, tail) = bytes.split_at(len);
    let mut reader = Reader(&record[2..]);
    let forget_at = Time(i64::try_from(reader.word::<6>()).unwrap_or(0));
    let id_len = usize::from(reader.u8());
    if id_len > reader.0.len() {
        return None;
    }
    let id = reader.bytes(id_len);
    Some((Record { forget_at, id, payload: reader.0 }, tail))
}
