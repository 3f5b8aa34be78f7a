//! Frames of the log: each is the bytes of one group commit. docs/formats/log.md has the bytes.

use crate::entry_frame::{self, LogEntry};
use crate::framing::{self, FrameStart, Framing};
use crate::{FrameError, LogFormat, Records, Seal};
use scurry_ledger::Time;

/// Result of reading a frame at the start of some bytes of a log.
#[derive(Clone, Debug)]
pub enum Framed<'a> {
    /// A frame with a valid checksum.
    Frame(Frame<'a>),
    /// The bytes end inside the frame, or are zero like space that was never written.
    Torn,
    /// Bytes that are no frame of this log.
    Damaged(FrameError),
}

/// A frame with records. A frame without records is a mark.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    framing: Framing<'a>,
    header_len: usize,
    entry: Option<LogEntry>,
}

/// Reads a frame at the start of `bytes`.
pub fn read_frame(seal: Seal, bytes: &[u8]) -> Framed<'_> {
    let (start, entry) = match seal.format() {
        LogFormat::Single => (framing::open(seal, bytes), None),
        LogFormat::Replicated => entry_frame::open(seal, bytes),
    };
    match start {
        FrameStart::Whole(framing) => {
            Framed::Frame(Frame { framing, header_len: seal.header_len(), entry })
        }
        FrameStart::Torn => Framed::Torn,
        FrameStart::Damaged(error) => Framed::Damaged(error),
    }
}

/// Returns the frame that fills all of these bytes, which [`read_frame`] has already checked: the checksum is not
/// computed again.
pub fn checked_frame(seal: Seal, bytes: &[u8]) -> Option<Frame<'_>> {
    let (framing, entry) = match seal.format() {
        LogFormat::Single => (framing::reopen(bytes)?, None),
        LogFormat::Replicated => {
            let (framing, entry) = entry_frame::reopen(bytes)?;
            (framing, Some(entry))
        }
    };
    Some(Frame { framing, header_len: seal.header_len(), entry })
}

#[expect(clippy::len_without_is_empty, reason = "no frame is empty: it has a header")]
impl<'a> Frame<'a> {
    /// Returns the length in bytes; the next frame begins after it.
    pub fn len(&self) -> usize {
        self.header_len + self.framing.body.len()
    }

    /// Returns the sequence of the first record; for a mark, that of the next record.
    pub fn first(&self) -> u64 {
        self.framing.numbers[0]
    }

    /// Returns the sequence after the last record.
    pub fn next(&self) -> u64 {
        self.first().saturating_add(u64::from(self.count()))
    }

    /// Returns the greatest sequence that was known to be on the device when the frame was written.
    pub fn synced(&self) -> u64 {
        self.framing.numbers[1]
    }

    /// Returns when the frame was written, UTC ms.
    #[expect(clippy::cast_possible_wrap, reason = "the bits of the number")]
    pub fn at(&self) -> Time {
        Time(self.framing.numbers[2] as i64)
    }

    /// Returns the number of records that the header states.
    pub fn count(&self) -> u32 {
        self.framing.count
    }

    /// Returns a reader of the frame's records.
    pub fn records(&self) -> Records<'a> {
        Records::new(self.framing.body, self.count())
    }

    /// Returns the entry of a group's log, or for a mark the entry before it; `None` in the log of a store on one
    /// machine.
    pub fn entry(&self) -> Option<&LogEntry> {
        self.entry.as_ref()
    }

    /// Returns the bytes after the header: the records.
    pub fn body(&self) -> &'a [u8] {
        self.framing.body
    }
}
