//! Writes varints and short strings as whole words, with few checks of room.

use alloc::vec::Vec;
use scurry_ledger::{NAME_LEN_MAX, Name, Time};

/// Appends to a buffer that its owner keeps. The buffer is longer than what was written until
/// [`Pen::finish`].
pub(crate) struct Pen<'a> {
    out: &'a mut Vec<u8>,
    /// Behind what was written.
    at: usize,
}

/// The buffer grows by so much at least.
const STEP: usize = 256;
/// Bytes of the longest varint.
const VARINT_LEN_MAX: usize = 10;

impl<'a> Pen<'a> {
    pub(crate) fn new(out: &'a mut Vec<u8>) -> Pen<'a> {
        let at = out.len();
        Pen { out, at }
    }

    /// What was written is all there is in the buffer behind what was there before.
    pub(crate) fn finish(self) {
        self.out.truncate(self.at);
    }

    pub(crate) fn byte(&mut self, byte: u8) {
        self.room(1)[0] = byte;
        self.at += 1;
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.room(bytes.len())[..bytes.len()].copy_from_slice(bytes);
        self.at += bytes.len();
    }

    /// Bytes behind their length.
    pub(crate) fn string(&mut self, bytes: &[u8]) {
        self.varint(bytes.len() as u64);
        self.bytes(bytes);
    }

    /// What `write` writes, behind its length. One byte is kept for that, nearly always enough.
    pub(crate) fn behind_len(&mut self, write: impl FnOnce(&mut Pen<'a>)) {
        let start = self.at;
        self.byte(0);
        write(self);
        let mut end = self.at;
        let len = end - start - 1;
        let more = varint_len(len as u64) - 1;
        if more > 0 {
            self.room(more);
            self.out.copy_within(start + 1..end, start + 1 + more);
            end += more;
        }
        self.at = start;
        self.varint(len as u64);
        self.at = end;
    }

    pub(crate) fn name(&mut self, name: &Name) {
        let len = name.byte_len();
        let room = self.room(1 + NAME_LEN_MAX);
        room[0] = u8::try_from(len).unwrap_or(u8::MAX);
        room[1..=NAME_LEN_MAX].copy_from_slice(name.padded());
        self.at += 1 + len;
    }

    /// LEB128.
    #[inline]
    pub(crate) fn varint(&mut self, mut number: u64) {
        let mut len = 0;
        let room = self.room(VARINT_LEN_MAX);
        while number >= 0x80 {
            room[len] = (number & 0x7f) as u8 | 0x80;
            number >>= 7;
            len += 1;
        }
        room[len] = number as u8;
        self.at += len + 1;
    }

    /// The bits of a number that is hardly ever negative.
    #[inline]
    #[expect(clippy::cast_sign_loss, reason = "the bits of the number")]
    pub(crate) fn amount(&mut self, amount: i64) {
        self.varint(amount as u64);
    }

    /// Zigzag: the sign is the lowest bit.
    #[inline]
    #[expect(clippy::cast_sign_loss, reason = "zigzag: the sign moves to the lowest bit")]
    pub(crate) fn signed(&mut self, number: i64) {
        self.varint(((number << 1) ^ (number >> 63)) as u64);
    }

    /// A time as its distance from another.
    #[inline]
    pub(crate) fn time(&mut self, time: Time, base: Time) {
        self.signed(time.0.wrapping_sub(base.0));
    }

    /// At least `len` bytes to write to, whatever is in them.
    #[inline]
    fn room(&mut self, len: usize) -> &mut [u8] {
        if self.out.len() < self.at + len {
            self.out.resize(self.at + len.max(STEP), 0);
        }
        &mut self.out[self.at..]
    }
}

fn varint_len(number: u64) -> usize {
    let bits = 64 - (number | 1).leading_zeros() as usize;
    bits.div_ceil(7)
}
