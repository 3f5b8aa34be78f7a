//! Writes varints and short strings as whole words, with few bounds checks.

use crate::varint;
use alloc::vec::Vec;
use scurry_ledger::{NAME_LEN_MAX, Name, Time};

/// A writer that appends to a caller's buffer. The buffer is longer than the written bytes until [`FieldWriter::finish`].
pub(crate) struct FieldWriter<'a> {
    out: &'a mut Vec<u8>,
    /// End of the written bytes.
    at: usize,
}

/// Least number of bytes by which the buffer grows.
const STEP: usize = 256;
/// Length of the longest varint, bytes.
const VARINT_LEN_MAX: usize = 10;

impl<'a> FieldWriter<'a> {
    pub(crate) fn new(out: &'a mut Vec<u8>) -> FieldWriter<'a> {
        let at = out.len();
        FieldWriter { out, at }
    }

    /// Returns a pen that writes from `at` on. Bytes of the buffer after `at` are overwritten.
    pub(crate) fn from(out: &'a mut Vec<u8>, at: usize) -> FieldWriter<'a> {
        FieldWriter { out, at }
    }

    /// Ends the writing: cuts the buffer off after the written bytes.
    pub(crate) fn finish(self) {
        self.out.truncate(self.at);
    }

    /// Returns the end of the written bytes, for a buffer that stays longer.
    pub(crate) fn end(&self) -> usize {
        self.at
    }

    pub(crate) fn byte(&mut self, byte: u8) {
        self.room(1)[0] = byte;
        self.at += 1;
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.room(bytes.len())[..bytes.len()].copy_from_slice(bytes);
        self.at += bytes.len();
    }

    /// Writes bytes with their length before them.
    pub(crate) fn string(&mut self, bytes: &[u8]) {
        let len = bytes.len();
        if len < 0x80 {
            let room = self.room(1 + len);
            room[0] = len as u8;
            room[1..=len].copy_from_slice(bytes);
            self.at += 1 + len;
        } else {
            self.varint(len as u64);
            self.bytes(bytes);
        }
    }

    /// Writes the bytes that `write` produces, with their length before them. One byte is reserved for the length,
    /// which is nearly always enough.
    #[inline]
    pub(crate) fn with_len_prefix<T>(
        &mut self,
        write: impl FnOnce(&mut FieldWriter<'a>) -> T,
    ) -> T {
        let start = self.at;
        self.byte(0);
        let written = write(self);
        let len = self.at - start - 1;
        if len < 0x80 {
            self.out[start] = len as u8;
        } else {
            self.widen_len(start, len);
        }
        written
    }

    /// Makes room for a length that takes more than the byte at `start`, and writes it.
    #[cold]
    fn widen_len(&mut self, start: usize, len: usize) {
        let more = varint::len(len as u64) - 1;
        self.room(more);
        self.out.copy_within(start + 1..self.at, start + 1 + more);
        // Byte by byte: a whole word would overwrite bytes after the length.
        let word = varint::spread(len as u64, 1 + more).to_le_bytes();
        self.out[start..=start + more].copy_from_slice(&word[..=more]);
        self.at += more;
    }

    pub(crate) fn name(&mut self, name: &Name) {
        let len = name.byte_len();
        let room = self.room(1 + NAME_LEN_MAX);
        room[0] = u8::try_from(len).unwrap_or(u8::MAX);
        // Copies the padding too, since a copy of fixed length is faster; the next field overwrites it.
        room[1..=NAME_LEN_MAX].copy_from_slice(name.padded());
        self.at += 1 + len;
    }

    /// Writes an LEB128 number.
    #[inline]
    pub(crate) fn varint(&mut self, number: u64) {
        let mut line = self.line();
        line.varint(number);
        self.at += line.len;
    }

    #[inline]
    pub(crate) fn signed(&mut self, number: i64) {
        self.varint(zigzag(number));
    }

    /// Writes a time as its distance from another.
    #[inline]
    pub(crate) fn time(&mut self, time: Time, base: Time) {
        self.signed(time.0.wrapping_sub(base.0));
    }

    /// Writes consecutive short fields, `LINE_LEN_MAX` bytes at most.
    #[inline]
    pub(crate) fn fields(&mut self, write: impl FnOnce(&mut ShortFields<'_>)) {
        let mut line = self.line();
        write(&mut line);
        debug_assert!(line.len <= LINE_LEN_MAX);
        self.at += line.len;
    }

    #[inline]
    fn line(&mut self) -> ShortFields<'_> {
        if self.out.len() < self.at + ROOM_LEN {
            self.grow(ROOM_LEN);
        }
        match self.out[self.at..].first_chunk_mut() {
            Some(room) => ShortFields { room, len: 0 },
            None => unreachable!("it has grown"),
        }
    }

    /// Returns at least `len` bytes to write to; their content is arbitrary.
    #[inline]
    fn room(&mut self, len: usize) -> &mut [u8] {
        if self.out.len() < self.at + len {
            self.grow(len);
        }
        &mut self.out[self.at..]
    }

    #[cold]
    fn grow(&mut self, len: usize) {
        self.out.resize(self.at + len.max(STEP), 0);
    }
}

/// Most bytes of fields that are written between two bounds checks. A varint that starts at the last of them still
/// fits.
const LINE_LEN_MAX: usize = 63;
const ROOM_LEN: usize = LINE_LEN_MAX + 1 + VARINT_LEN_MAX;

/// Room for several short fields.
pub(crate) struct ShortFields<'a> {
    room: &'a mut [u8; ROOM_LEN],
    len: usize,
}

impl ShortFields<'_> {
    #[inline]
    pub(crate) fn byte(&mut self, byte: u8) {
        self.room[self.len & LINE_LEN_MAX] = byte;
        self.len += 1;
    }

    /// Writes a few bytes.
    #[inline]
    pub(crate) fn bytes<const N: usize>(&mut self, bytes: [u8; N]) {
        const { assert!(N <= VARINT_LEN_MAX) }
        let at = self.len & LINE_LEN_MAX;
        self.room[at..at + N].copy_from_slice(&bytes);
        self.len += N;
    }

    /// Writes an LEB128 number.
    #[expect(clippy::inline_always, reason = "a call would cost more than most fields")]
    #[inline(always)]
    pub(crate) fn varint(&mut self, number: u64) {
        // Most numbers take one or two bytes.
        if number < 0x80 {
            self.byte(number as u8);
        } else if number < 0x4000 {
            self.bytes([number as u8 | 0x80, (number >> 7) as u8]);
        } else {
            self.longer_varint(number);
        }
    }

    /// Writes an LEB128 number of three bytes or more.
    #[inline(never)]
    fn longer_varint(&mut self, number: u64) {
        if number < 0x20_0000 {
            return self.bytes([
                number as u8 | 0x80,
                (number >> 7) as u8 | 0x80,
                (number >> 14) as u8,
            ]);
        }
        // The mask changes nothing: it lets the compiler drop the bounds check.
        let at = self.len & LINE_LEN_MAX;
        let len = varint::len(number);
        if number < varint::SPREAD_END {
            self.room[at..at + 8].copy_from_slice(&varint::spread(number, len).to_le_bytes());
        } else {
            let rest = number >> 56;
            let low = varint::spread(number & (varint::SPREAD_END - 1), 8) | 1 << 63;
            self.room[at..at + 8].copy_from_slice(&low.to_le_bytes());
            // The ninth byte holds seven bits, the tenth one.
            self.room[at + 8] = (rest & 0x7f) as u8 | if len == 10 { 0x80 } else { 0 };
            self.room[at + 9] = (rest >> 7) as u8;
        }
        self.len += len;
    }

    /// Writes the bits of a number that is hardly ever negative.
    #[inline]
    #[expect(clippy::cast_sign_loss, reason = "the bits of the number")]
    pub(crate) fn amount(&mut self, amount: i64) {
        self.varint(amount as u64);
    }

    #[inline]
    pub(crate) fn signed(&mut self, number: i64) {
        self.varint(zigzag(number));
    }

    /// Writes a time as its distance from another.
    #[inline]
    pub(crate) fn time(&mut self, time: Time, base: Time) {
        self.signed(time.0.wrapping_sub(base.0));
    }
}

/// Moves the sign to the lowest bit.
#[inline]
#[expect(clippy::cast_sign_loss, reason = "zigzag: the sign moves to the lowest bit")]
fn zigzag(number: i64) -> u64 {
    ((number << 1) ^ (number >> 63)) as u64
}
