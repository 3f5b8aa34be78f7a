//! The end of a log that is good and that no mark proves to be on the device.

use crate::File;
use scurry_codec::SegmentHeader;
use std::collections::VecDeque;
use std::io;
use std::ops::Range;

/// Bytes that are written again at once.
const PIECE_LEN: u64 = 1 << 20;

/// Bytes of a segment.
#[derive(Clone, Debug)]
pub(super) struct Span {
    /// The first sequence.
    pub(super) segment: u64,
    pub(super) range: Range<u64>,
}

/// Where frames lie, each with the sequence behind it, in their order.
#[derive(Debug, Default)]
pub(super) struct Tail(VecDeque<(u64, Span)>);

impl Tail {
    /// One more frame: the sequence behind its last record, and where it is.
    pub(super) fn add(&mut self, next: u64, span: Span) {
        self.0.push_back((next, span));
    }

    /// Up to this sequence all is on the device.
    pub(super) fn proven(&mut self, mark: u64) {
        while self.0.front().is_some_and(|&(next, _)| next <= mark + 1) {
            self.0.pop_front();
        }
    }

    /// The bytes of a segment, with the header of one that has nothing proven.
    pub(super) fn of(&self, segment: u64) -> Option<Range<u64>> {
        let mut ranges = self.0.iter().filter(|(_, span)| span.segment == segment);
        let first = ranges.next()?.1.range.clone();
        let end = ranges.next_back().map_or(first.end, |(_, span)| span.range.end);
        let header = SegmentHeader::LEN as u64;
        Some(if first.start == header { 0 } else { first.start }..end)
    }
}

/// Writes bytes of a file again as they are.
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
