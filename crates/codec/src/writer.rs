//! Writes groups of four numbers behind one byte of widths: no branch depends on a number.

use alloc::vec::Vec;
use scurry_ledger::{NAME_LEN_MAX, Name};

/// Appends to a buffer that its owner keeps. The buffer is longer than what was written until
/// [`Writer::finish`], so that numbers and names are stored as whole words.
pub(crate) struct Writer<'a> {
    out: &'a mut Vec<u8>,
    /// Behind what was written.
    at: usize,
}

/// The width codes 0 to 3 stand for these many bytes.
pub(crate) const WIDTHS: [usize; 4] = [0, 2, 4, 8];

/// The narrowest width code that holds a number.
fn width_code(number: i64) -> usize {
    usize::from(number != 0)
        + usize::from(i64::from(number as i16) != number)
        + usize::from(i64::from(number as i32) != number)
}

/// The buffer grows by so much at least: an account of the usual size asks once or twice.
const STEP: usize = 256;
/// Four numbers of eight bytes, and what a store at the largest offset that 5 bits can say would
/// touch behind them.
const GROUP_LEN_MAX: usize = 31 + 8;

impl<'a> Writer<'a> {
    /// Appends to `out`.
    pub(crate) fn new(out: &'a mut Vec<u8>) -> Writer<'a> {
        let at = out.len();
        Writer { out, at }
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

    /// A string of at most 255 bytes behind its length.
    pub(crate) fn short(&mut self, bytes: &[u8]) {
        debug_assert!(bytes.len() <= 255);
        self.byte(u8::try_from(bytes.len()).unwrap_or(u8::MAX));
        self.bytes(bytes);
    }

    /// A name behind its length.
    #[inline]
    pub(crate) fn name(&mut self, name: &Name) {
        let len = name.byte_len();
        let room = self.room(1 + NAME_LEN_MAX);
        room[0] = u8::try_from(len).unwrap_or(u8::MAX);
        room[1..=NAME_LEN_MAX].copy_from_slice(name.padded());
        self.at += 1 + len;
    }

    /// Four numbers: a byte with two bits of width for each, lowest bits first, then each in
    /// its width, little-endian.
    #[inline]
    pub(crate) fn group(&mut self, numbers: [i64; 4]) {
        let Some(group) = self.room(GROUP_LEN_MAX).first_chunk_mut::<GROUP_LEN_MAX>() else {
            return;
        };
        let (mut codes, mut len) = (0, 1);
        for (index, number) in numbers.into_iter().enumerate() {
            let code = width_code(number);
            codes |= (code as u8) << (2 * index);
            // Never more than 25: the mask only says so to the compiler.
            let at = len & 31;
            group[at..at + 8].copy_from_slice(&number.to_le_bytes());
            len += WIDTHS[code];
        }
        group[0] = codes;
        self.at += len;
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
