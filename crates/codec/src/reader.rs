//! Reads the bytes of the [`Writer`](crate::writer::Writer). A short or wrong input sets a flag, which the caller
//! checks once at the end.

use crate::writer::{FIXED_LEN_MAX, GROUP_LEN_MAX, GROUP_ROOM, NAME_ROOM, OFFSETS};
use scurry_ledger::Name;

/// A cursor over an image.
pub(crate) struct ImageReader<'a> {
    rest: &'a [u8],
    /// Number of zeros that follow the input in `rest`.
    padding: usize,
    /// Buffer for the end of the input followed by zeros; `None` once it is in use.
    tail: Option<&'a mut Tail>,
    broken: bool,
    /// The input has a time zone that is not in the tables of this build.
    has_unknown_zone: bool,
}

/// The end of an input, followed by zeros, so that the last numbers and names can be loaded as whole words too.
pub(crate) type Tail = [u8; 2 * FIXED_LEN_MAX];

const MASKS: [u64; 4] = [0, 0xffff, 0xffff_ffff, u64::MAX];
const SIGNS: [u64; 4] = [0, 1 << 15, 1 << 31, 1 << 63];

impl<'a> ImageReader<'a> {
    pub(crate) fn new(bytes: &'a [u8], tail: &'a mut Tail) -> ImageReader<'a> {
        ImageReader {
            rest: bytes,
            padding: 0,
            tail: Some(tail),
            broken: false,
            has_unknown_zone: false,
        }
    }

    /// Skips this many bytes, which the caller has read.
    #[inline]
    pub(crate) fn skip(&mut self, len: usize) {
        match self.rest.get(len..) {
            Some(rest) => self.rest = rest,
            None => self.fail(),
        }
    }

    /// Marks the input as wrong. Nothing more is read.
    #[cold]
    pub(crate) fn fail(&mut self) {
        self.broken = true;
        (self.rest, self.padding, self.tail) = (&[], 0, None);
    }

    /// Marks the input as one of another build, whose tables have more time zones.
    #[cold]
    pub(crate) fn fail_for_zone(&mut self) {
        self.has_unknown_zone = true;
        self.fail();
    }

    /// Reports whether the input has a time zone that this build does not know.
    pub(crate) fn has_unknown_zone(&self) -> bool {
        self.has_unknown_zone
    }

    /// Reports whether everything was read and nothing was wrong.
    pub(crate) fn is_done(&self) -> bool {
        !self.broken && self.rest.len() == self.padding
    }

    /// Reports whether something was wrong, so that there is nothing more to read.
    #[inline]
    pub(crate) fn is_broken(&self) -> bool {
        self.broken
    }

    /// Returns the number of bytes not read yet.
    pub(crate) fn remaining(&self) -> usize {
        self.rest.len().saturating_sub(self.padding)
    }

    #[inline]
    pub(crate) fn byte(&mut self) -> u8 {
        self.bytes(1).first().copied().unwrap_or(0)
    }

    #[inline]
    pub(crate) fn bytes(&mut self, len: usize) -> &'a [u8] {
        if len > self.remaining() {
            self.fail();
            return &[];
        }
        let (bytes, rest) = self.rest.split_at(len);
        self.rest = rest;
        bytes
    }

    #[inline]
    pub(crate) fn short(&mut self) -> &'a [u8] {
        let len = usize::from(self.byte());
        self.bytes(len)
    }

    /// Reads a name with its length before it, over another name. It is nearly always the same name, since accounts
    /// resemble each other.
    #[inline]
    pub(crate) fn name(&mut self, name: &mut Name) {
        let [len, padded @ ..] = self.fixed::<NAME_ROOM>();
        let len = usize::from(*len);
        if name.load(padded, len) {
            self.skip(1 + len);
        } else {
            self.fail();
        }
    }

    /// Reads four numbers. Inlined, so that they stay in registers: if they were written to memory in halves and read
    /// back as wholes, each read would wait for the writes to reach the cache.
    #[inline(always)]
    pub(crate) fn group(&mut self) -> [i64; 4] {
        // A group of four zeros is a single byte 0.
        if let [0, rest @ ..] = self.rest {
            self.rest = rest;
            return [0; 4];
        }
        let (numbers, len) = split_group(self.fixed());
        self.skip(len);
        numbers
    }

    /// Returns the next `N` bytes without advancing. Bytes after the end of the input are zeros; reading past the end
    /// makes [`ImageReader::is_done`] false.
    #[inline]
    pub(crate) fn fixed<const N: usize>(&mut self) -> &'a [u8; N] {
        const { assert!(N <= FIXED_LEN_MAX) }
        if self.rest.len() < N {
            self.pad();
        }
        self.rest.first_chunk().unwrap_or(&[0; N])
    }

    /// Continues the input by zeros, once.
    #[cold]
    #[inline(never)]
    fn pad(&mut self) {
        // The tail is already in use, so the input really ends here.
        let Some(tail) = self.tail.take() else { return self.fail() };
        let len = self.rest.len();
        tail[..len].copy_from_slice(self.rest);
        (self.rest, self.padding) = (&tail[..len + FIXED_LEN_MAX], FIXED_LEN_MAX);
    }
}

/// Returns the numbers of a group and its length in bytes.
#[inline(always)]
fn split_group(bytes: &[u8; GROUP_ROOM]) -> ([i64; 4], usize) {
    let codes = usize::from(bytes[0]);
    let [second, third, fourth, len] = OFFSETS[codes];
    let number = |at: u8, code: usize| {
        // `at` is at most 25: the mask only lets the compiler drop a bounds check.
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
    // The length is never greater: `min` only tells the compiler so.
    (numbers, usize::from(len).min(GROUP_LEN_MAX))
}
