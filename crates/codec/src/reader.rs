//! Reads what the writer wrote. A short or wrong input sets a flag that the caller looks at
//! once, at the end.

use crate::writer::WIDTHS;
use scurry_ledger::{NAME_LEN_MAX, Name};

/// A cursor over an image.
pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    broken: bool,
}

const MASKS: [u64; 4] = [0, 0xffff, 0xffff_ffff, u64::MAX];
const SIGNS: [u64; 4] = [0, 1 << 15, 1 << 31, 1 << 63];

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Reader<'a> {
        Reader { bytes, at: 0, broken: false }
    }

    /// Marks the input as wrong.
    pub(crate) fn fail(&mut self) {
        self.broken = true;
    }

    /// True when all was read and nothing was wrong.
    pub(crate) fn is_done(&self) -> bool {
        !self.broken && self.at == self.bytes.len()
    }

    /// Bytes that were not read yet.
    pub(crate) fn remaining(&self) -> usize {
        self.bytes.len() - self.at
    }

    pub(crate) fn is_broken(&self) -> bool {
        self.broken
    }

    pub(crate) fn byte(&mut self) -> u8 {
        self.bytes(1).first().copied().unwrap_or(0)
    }

    pub(crate) fn bytes(&mut self, len: usize) -> &'a [u8] {
        match self.bytes.get(self.at..).and_then(|rest| rest.get(..len)) {
            Some(bytes) => {
                self.at += len;
                bytes
            }
            None => {
                self.broken = true;
                &[]
            }
        }
    }

    pub(crate) fn short(&mut self) -> &'a [u8] {
        let len = usize::from(self.byte());
        self.bytes(len)
    }

    /// A name behind its length.
    #[inline]
    pub(crate) fn name(&mut self) -> Option<Name> {
        let len = usize::from(self.byte());
        let padded = self.padded::<NAME_LEN_MAX>();
        let name = Name::from_padded(padded, len);
        if name.is_none() || len > self.remaining() {
            self.fail();
            return None;
        }
        self.at += len;
        name
    }

    #[inline]
    pub(crate) fn group(&mut self) -> [i64; 4] {
        let bytes = self.padded::<GROUP_LEN_MAX>();
        let codes = usize::from(bytes[0]);
        let [first, second, third, len] = OFFSETS[codes];
        let offsets = [1, first, second, third];
        let mut numbers = [0; 4];
        for (index, number) in numbers.iter_mut().enumerate() {
            let code = (codes >> (2 * index)) & 3;
            // Never more than 25: the mask only says so to the compiler.
            let offset = usize::from(offsets[index] & 31);
            let mut word = [0; 8];
            word.copy_from_slice(&bytes[offset..offset + 8]);
            let word = u64::from_le_bytes(word) & MASKS[code];
            #[expect(clippy::cast_possible_wrap, reason = "sign extension of a narrow number")]
            let value = (word ^ SIGNS[code]).wrapping_sub(SIGNS[code]) as i64;
            *number = value;
        }
        let len = usize::from(len);
        if len > self.remaining() {
            self.broken = true;
            self.at = self.bytes.len();
            return [0; 4];
        }
        self.at += len;
        numbers
    }

    /// So many bytes from here, zeros where the input ends sooner.
    #[inline]
    fn padded<const N: usize>(&self) -> [u8; N] {
        let rest = self.bytes.get(self.at..).unwrap_or(&[]);
        match rest.first_chunk::<N>() {
            Some(bytes) => *bytes,
            None => {
                let mut bytes = [0; N];
                bytes[..rest.len()].copy_from_slice(rest);
                bytes
            }
        }
    }
}

/// A group with four numbers of eight bytes, and the bytes behind it that a read of the last
/// number at the largest offset that 5 bits can say would touch.
const GROUP_LEN_MAX: usize = 31 + 8;

/// By the byte of widths: where the second to fourth number begin, and the length of all.
static OFFSETS: [[u8; 4]; 256] = {
    let mut offsets = [[0; 4]; 256];
    let mut codes = 0;
    while codes < 256 {
        let (mut at, mut index) = (1, 0);
        while index < 4 {
            at += WIDTHS[(codes >> (2 * index)) & 3] as u8;
            offsets[codes][index] = at;
            index += 1;
        }
        codes += 1;
    }
    offsets
};
