//! A second reader of the log's bytes, independent of the engine. It finds the greatest sequence that any frame proves
//! to be synced.

use scurry_codec::{Framed, Seal, SegmentHeader, read_frame};
use std::ops::Range;

/// Returns the CRC-32C of bytes that continue those with the checksum `before`. It works bit by bit.
pub(crate) fn crc32c(before: u32, bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!before, |crc, &byte| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| {
            (crc >> 1) ^ (0x82f6_3b78 & (crc & 1).wrapping_neg())
        })
    })
}

/// Returns the greatest mark in frames of the log `id`, at any offset of these segments.
pub(crate) fn greatest_mark<'a>(id: u64, segments: impl Iterator<Item = &'a [u8]>) -> u64 {
    let seal = Seal::new(crc32c, id);
    let mut greatest = 0;
    for bytes in segments {
        let mut at = 0;
        while at < bytes.len() {
            match read_frame(seal, &bytes[at..]) {
                Framed::Frame(frame) => {
                    greatest = greatest.max(frame.synced());
                    at += frame.len();
                }
                _ => at += 1,
            }
        }
    }
    greatest
}

/// Returns the range of the last two frames in a segment that begins with the sequence `first`; None without frames.
pub(crate) fn last_frames(id: u64, first: u64, bytes: &[u8]) -> Option<Range<usize>> {
    let seal = Seal::new(crc32c, id);
    let (mut at, mut next, mut begins) = (SegmentHeader::LEN, first, Vec::new());
    while let Some(rest) = bytes.get(at..)
        && let Framed::Frame(frame) = read_frame(seal, rest)
        && frame.first() == next
    {
        begins.push(at);
        (at, next) = (at + frame.len(), frame.next());
    }
    let begin = begins.len().saturating_sub(2);
    Some(*begins.get(begin)?..at)
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_checksum_is_crc32c() {
        assert_eq!(super::crc32c(0, b"123456789"), 0xe306_9283);
        assert_eq!(super::crc32c(super::crc32c(0, b"1234"), b"56789"), 0xe306_9283);
    }
}
