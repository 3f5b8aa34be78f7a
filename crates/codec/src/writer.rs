//! Writes groups of four numbers behind one byte of widths: no branch depends on a number.

use alloc::vec::Vec;

/// Appends to a buffer that its owner keeps.
pub(crate) struct Writer<'a> {
    out: &'a mut Vec<u8>,
}

/// The width codes 0 to 3 stand for these many bytes.
pub(crate) const WIDTHS: [usize; 4] = [0, 2, 4, 8];

/// The narrowest width code that holds a number.
fn width_code(number: i64) -> usize {
    usize::from(number != 0)
        + usize::from(i64::from(number as i16) != number)
        + usize::from(i64::from(number as i32) != number)
}

impl<'a> Writer<'a> {
    pub(crate) fn new(out: &'a mut Vec<u8>) -> Writer<'a> {
        Writer { out }
    }

    pub(crate) fn byte(&mut self, byte: u8) {
        self.out.push(byte);
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.out.extend_from_slice(bytes);
    }

    /// A string of at most 255 bytes behind its length.
    pub(crate) fn short(&mut self, bytes: &[u8]) {
        debug_assert!(bytes.len() <= 255);
        self.out.push(u8::try_from(bytes.len()).unwrap_or(u8::MAX));
        self.out.extend_from_slice(bytes);
    }

    /// Four numbers: a byte with two bits of width for each, lowest bits first, then each in
    /// its width, little-endian.
    pub(crate) fn group(&mut self, numbers: [i64; 4]) {
        let mut group = [0; 1 + 4 * 8];
        let mut len = 1;
        for (index, number) in numbers.into_iter().enumerate() {
            let code = width_code(number);
            group[0] |= (code as u8) << (2 * index);
            group[len..len + 8].copy_from_slice(&number.to_le_bytes());
            len += WIDTHS[code];
        }
        self.out.extend_from_slice(&group[..len]);
    }
}
