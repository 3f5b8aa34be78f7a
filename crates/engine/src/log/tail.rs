//! The good frames at the end of a log that no mark proves to be on the device.

use crate::File;
use scurry_codec::SegmentHeader;
use std::collections::VecDeque;
use std::io;
use std::ops::Range;

/// Bytes rewritten at once.
const PIECE_LEN: u64 = 1 << 20;

/// Range of bytes of a segment.
#[derive(Clone, Debug)]
pub(super) struct ByteRange {
    /// The first sequence of the segment.
    pub(super) segment: u64,
    pub(super) range: Range<u64>,
}

/// Locations of frames in log order, each with the sequence after its last record.
#[derive(Debug, Default)]
pub(super) struct Tail(VecDeque<(u64, ByteRange)>);

impl Tail {
    /// Adds a frame: the sequence after its last record, and its location.
    pub(super) fn add(&mut self, next: u64, span: ByteRange) {
        self.0.push_back((next, span));
    }

    /// Drops the frames up to this sequence, which a mark proves to be on the device.
    pub(super) fn proven(&mut self, mark: u64) {
        while self.0.front().is_some_and(|&(next, _)| next <= mark + 1) {
            self.0.pop_front();
        }
    }

    /// Returns the unproven bytes of a segment, including the header when its first frame is unproven.
    pub(super) fn unproven_bytes(&self, segment: u64) -> Option<Range<u64>> {
        let mut ranges = self.0.iter().filter(|(_, span)| span.segment == segment);
        let first = ranges.next()?.1.range.clone();
        let end = ranges.next_back().map_or(first.end, |(_, span)| span.range.end);
        let header = SegmentHeader::LEN as u64;
        Some(if first.start == header { 0 } else { first.start }..end)
    }
}

/// Writes a range of a file again, unchanged.
pub(super) fn rewrite(file: &mut impl File, range: Range<u64>) -> io::Result<()> {
    let mut bytes = Vec::new();
    let mut at = range.start;
    while at < range.end {
        bytes.resize(usize::try_from((range.end - at).min(PIECE_LEN)).unwrap_or(0), 0);
        let read = file.read_at(at, &mut bytes)?;
        if read == 0 {
            return Err(io::Error::other("the file has become shorter"));
        }
        file.write_at(at, &bytes[..read])?;
        at += read as u64;
    }
    Ok(())
}
