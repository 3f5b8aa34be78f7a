//! Reads what the writer wrote. A short or wrong input sets a flag that the caller looks at
//! once, at the end.

use crate::writer::{GROUP_LEN_MAX, GROUP_ROOM, NAME_ROOM, OFFSETS};
use scurry_ledger::Name;

/// A cursor over an image.
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
    broken: bool,
}

const MASKS: [u64; 4] = [0, 0xffff, 0xffff_ffff, u64::MAX];
const SIGNS: [u64; 4] = [0, 1 << 15, 1 << 31, 1 << 63];

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Reader<'a> {
        Reader { rest: bytes, broken: false }
    }

    /// Marks the input as wrong. Nothing more is read.
    #[cold]
    pub(crate) fn fail(&mut self) {
        self.broken = true;
        self.rest = &[];
    }

    /// True when all was read and nothing was wrong.
    pub(crate) fn is_done(&self) -> bool {
        !self.broken && self.rest.is_empty()
    }

    /// Bytes that were not read yet.
    pub(crate) fn remaining(&self) -> usize {
        self.rest.len()
    }

    pub(crate) fn is_broken(&self) -> bool {
        self.broken
    }

    pub(crate) fn byte(&mut self) -> u8 {
        self.bytes(1).first().copied().unwrap_or(0)
    }

    #[inline]
    pub(crate) fn bytes(&mut self, len: usize) -> &'a [u8] {
        let Some((bytes, rest)) = self.rest.split_at_checked(len) else {
            self.fail();
            return &[];
        };
        self.rest = rest;
        bytes
    }

    pub(crate) fn short(&mut self) -> &'a [u8] {
        let len = usize::from(self.byte());
        self.bytes(len)
    }

    /// Reads a name behind its length over another one. It is nearly always the same, since
    /// accounts resemble each other.
    #[inline]
    pub(crate) fn name(&mut self, name: &mut Name) {
        let Some([len, padded @ ..]) = self.rest.first_chunk::<NAME_ROOM>() else {
            return self.last_name(name);
        };
        let len = usize::from(*len);
        match self.rest.get(1 + len..) {
            Some(rest) if name.load(padded, len) => self.rest = rest,
            _ => self.fail(),
        }
    }

    /// As [`Reader::name`], near the end of the input.
    #[cold]
    fn last_name(&mut self, name: &mut Name) {
        let [len, padded @ ..] = self.padded::<NAME_ROOM>();
        let len = usize::from(len);
        match self.rest.get(1 + len..) {
            Some(rest) if name.load(&padded, len) => self.rest = rest,
            _ => self.fail(),
        }
    }

    /// Four numbers.
    #[inline]
    pub(crate) fn group(&mut self) -> [i64; 4] {
        if let [0, rest @ ..] = self.rest {
            self.rest = rest;
            return [0; 4];
        }
        self.numbers()
    }

    fn numbers(&mut self) -> [i64; 4] {
        let Some(bytes) = self.rest.first_chunk::<GROUP_ROOM>() else {
            return self.last_numbers();
        };
        let (numbers, len) = split_group(bytes);
        self.rest = &self.rest[len..];
        numbers
    }

    /// As [`Reader::numbers`], near the end of the input.
    #[inline(never)]
    fn last_numbers(&mut self) -> [i64; 4] {
        let (numbers, len) = split_group(&self.padded());
        match self.rest.get(len..) {
            Some(rest) => {
                self.rest = rest;
                numbers
            }
            None => {
                self.fail();
                [0; 4]
            }
        }
    }

    /// So many bytes from here, zeros where the input ends sooner.
    fn padded<const N: usize>(&self) -> [u8; N] {
        let mut bytes = [0; N];
        let len = self.rest.len().min(N);
        bytes[..len].copy_from_slice(&self.rest[..len]);
        bytes
    }
}

/// The numbers of a group and its length, bytes.
#[inline]
fn split_group(bytes: &[u8; GROUP_ROOM]) -> ([i64; 4], usize) {
    let codes = usize::from(bytes[0]);
    let [second, third, fourth, len] = OFFSETS[codes];
    let number = |at: u8, code: usize| {
        // Never more than 25: the mask only says so to the compiler.
        let at = usize::from(at & 31);
        let mut word = [0; 8];
        word.copy_from_slice(&bytes[at..at + 8]);
        let word = u64::from_le_bytes(word) & MASKS[code & 3];
        #[expect(clippy::cast_possible_wrap, reason = "sign extension of a narrow number")]
        let number = (word ^ SIGNS[code & 3]).wrapping_sub(SIGNS[code & 3]) as i64;
        number
    };
    let numbers = [
        number(1, codes),
        number(second, codes >> 2),
        number(third, codes >> 4),
        number(fourth, codes >> 6),
    ];
    // Never more: this only says so to the compiler.
    (numbers, usize::from(len).min(GROUP_LEN_MAX))
}
