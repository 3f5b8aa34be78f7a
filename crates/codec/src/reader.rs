//! Reads what the writer wrote. A short or wrong input sets a flag that the caller looks at
//! once, at the end.

use crate::writer::WIDTHS;

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

    pub(crate) fn group(&mut self) -> [i64; 4] {
        let codes = usize::from(self.byte());
        let mut numbers = [0; 4];
        for (index, number) in numbers.iter_mut().enumerate() {
            let code = (codes >> (2 * index)) & 3;
            let word = self.word() & MASKS[code];
            #[expect(clippy::cast_possible_wrap, reason = "sign extension of a narrow number")]
            let value = (word ^ SIGNS[code]).wrapping_sub(SIGNS[code]) as i64;
            *number = value;
            self.at += WIDTHS[code];
        }
        if self.at > self.bytes.len() {
            self.broken = true;
            self.at = self.bytes.len();
            return [0; 4];
        }
        numbers
    }

    /// Eight bytes from here, zeros where the input ends sooner.
    fn word(&self) -> u64 {
        let rest = self.bytes.get(self.at..).unwrap_or(&[]);
        match rest.first_chunk::<8>() {
            Some(word) => u64::from_le_bytes(*word),
            None => {
                let mut word = [0; 8];
                word[..rest.len()].copy_from_slice(rest);
                u64::from_le_bytes(word)
            }
        }
    }
}
