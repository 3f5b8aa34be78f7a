//! Writes groups of four numbers after one byte of widths: no branch depends on a width.

use scurry_ledger::{NAME_LEN_MAX, Name};

/// A writer over the unwritten part of a buffer. The buffer is longer than what will be written, so that numbers and
/// names are stored as whole words.
pub(crate) struct Writer<'a> {
    rest: &'a mut [u8],
}

/// Widths in bytes of the width codes 0 to 3.
pub(crate) const WIDTHS: [usize; 4] = [0, 2, 4, 8];

/// Offsets of the second to fourth number and the length of the group, by the byte of widths.
pub(crate) static OFFSETS: [[u8; 4]; 256] = {
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

/// Returns the narrowest width code that holds a number.
#[expect(clippy::cast_sign_loss, reason = "the bits of the number, the sign in the lowest")]
fn width_code(number: i64) -> u8 {
    let bits = ((number << 1) ^ (number >> 63)) as u64;
    u8::from(bits > 0) + u8::from(bits > 0xffff) + u8::from(bits > 0xffff_ffff)
}

/// Length of the longest group, with the bytes that a store at the largest 5-bit offset would touch after it.
pub(crate) const GROUP_ROOM: usize = 31 + 8;
/// Length of the longest group, bytes.
pub(crate) const GROUP_LEN_MAX: usize = 1 + 4 * 8;
/// Most bytes that are written or read at once, meaningful or not.
pub(crate) const FIXED_LEN_MAX: usize = GROUP_ROOM;
/// Length of the longest name with its length byte.
pub(crate) const NAME_ROOM: usize = 1 + NAME_LEN_MAX;

impl<'a> Writer<'a> {
    /// Returns a writer to `out`, which must have room for everything that is written and [`FIXED_LEN_MAX`] bytes more.
    pub(crate) fn new(out: &'a mut [u8]) -> Writer<'a> {
        Writer { rest: out }
    }

    /// Moves the writer out as a value for a rare path: a writer whose address is not passed to a call can stay in
    /// registers.
    #[inline]
    pub(crate) fn moved(&mut self) -> Writer<'a> {
        Writer { rest: core::mem::take(&mut self.rest) }
    }

    /// Returns the number of unwritten bytes.
    pub(crate) fn remaining(&self) -> usize {
        self.rest.len()
    }

    #[inline]
    pub(crate) fn byte(&mut self, byte: u8) {
        self.rest[0] = byte;
        self.advance(1);
    }

    #[inline]
    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.rest[..bytes.len()].copy_from_slice(bytes);
        self.advance(bytes.len());
    }

    /// Writes a string of at most 255 bytes with its length before it.
    #[inline]
    pub(crate) fn short(&mut self, bytes: &[u8]) {
        debug_assert!(bytes.len() <= 255);
        self.byte(u8::try_from(bytes.len()).unwrap_or(u8::MAX));
        self.bytes(bytes);
    }

    /// Writes a name with its length before it.
    #[inline]
    pub(crate) fn name(&mut self, name: &Name) {
        let len = name.byte_len();
        let room = self.fixed::<NAME_ROOM>();
        room[0] = u8::try_from(len).unwrap_or(u8::MAX);
        room[1..].copy_from_slice(name.padded());
        self.advance(1 + len);
    }

    /// Writes four numbers: a byte with two bits of width for each, lowest bits first, then each number in its width,
    /// little-endian. Many groups are all zeros.
    #[inline(always)]
    pub(crate) fn group(&mut self, [first, second, third, fourth]: [i64; 4]) {
        if first | second | third | fourth == 0 {
            return self.byte(0);
        }
        let group = self.fixed::<GROUP_ROOM>();
        let codes = width_code(first)
            | width_code(second) << 2
            | width_code(third) << 4
            | width_code(fourth) << 6;
        let [at_second, at_third, at_fourth, len] = OFFSETS[usize::from(codes)];
        group[0] = codes;
        let mut put = |at: u8, number: i64| {
            // `at` is at most 25: the mask only lets the compiler drop a bounds check.
            let at = usize::from(at & 31);
            group[at..at + 8].copy_from_slice(&number.to_le_bytes());
        };
        put(1, first);
        put(at_second, second);
        put(at_third, third);
        put(at_fourth, fourth);
        self.advance(usize::from(len));
    }

    /// Returns `N` bytes to write to, with arbitrary content. [`Writer::advance`] says how many were written.
    #[inline]
    pub(crate) fn fixed<const N: usize>(&mut self) -> &mut [u8; N] {
        self.rest.first_chunk_mut().expect("room was made for all that is written")
    }

    /// Marks this many bytes as written.
    #[inline]
    pub(crate) fn advance(&mut self, len: usize) {
        self.rest = &mut core::mem::take(&mut self.rest)[len..];
    }
}
