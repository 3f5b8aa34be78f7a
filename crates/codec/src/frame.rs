//! Frames of the log: what one group commit writes. docs/formats/log.md has the bytes.

use crate::entry_frame::{self, LogEntry};
use crate::framing::{self, Framing, Start};
use crate::{FrameError, LogFormat, Records, Seal};
use scurry_ledger::Time;

/// The start of some bytes of a log.
#[derive(Clone, Debug)]
pub enum Framed<'a> {
    /// A frame that passed its checksum.
    Frame(Frame<'a>),
    /// The bytes end before the frame does, or are zero, as room that was never written is.
    Torn,
    /// No frame of this log.
    Damaged(FrameError),
}

/// A frame: some records, or none, which is a mark.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    framing: Framing<'a>,
    header_len: usize,
    entry: Option<LogEntry>,
}

/// Looks at the start of `bytes`.
pub fn read_frame(seal: Seal, bytes: &[u8]) -> Framed<'_> {
    let (start, entry) = match seal.format() {
        LogFormat::Single => (framing::open(seal, bytes), None),
        LogFormat::Replicated => entry_frame::open(seal, bytes),
    };
    match start {
        Start::Whole(framing) => {
            Framed::Frame(Frame { framing, header_len: seal.header_len(), entry })
        }
        Start::Torn => Framed::Torn,
        Start::Damaged(error) => Framed::Damaged(error),
    }
}

/// The frame that these bytes are, all of them, which [`read_frame`] has found to be one: its
/// checksum is not looked at again.
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
    /// Bytes of all of it: the next frame begins behind them.
    pub fn len(&self) -> usize {
        self.header_len + self.framing.body.len()
    }

    /// The sequence of its first record; of a mark, that of the next record.
    pub fn first(&self) -> u64 {
        self.framing.numbers[0]
    }

    /// The sequence behind its last record.
    pub fn next(&self) -> u64 {
        self.first().saturating_add(u64::from(self.count()))
    }

    /// The greatest sequence that was known to be on the device when it was written.
    pub fn synced(&self) -> u64 {
        self.framing.numbers[1]
    }

    /// When it was written, UTC ms.
    #[expect(clippy::cast_possible_wrap, reason = "the bits of the number")]
    pub fn at(&self) -> Time {
        Time(self.framing.numbers[2] as i64)
    }

    /// How many records it says it has.
    pub fn count(&self) -> u32 {
        self.framing.count
    }

    /// The records of the frame.
    pub fn records(&self) -> Records<'a> {
        Records::new(self.framing.body, self.count())
    }

    /// The entry of a group's log that it is, or that a mark stands behind; none in the log of a store on one machine.
    pub fn entry(&self) -> Option<&LogEntry> {
        self.entry.as_ref()
    }

    /// The bytes behind its header: records, or those of a membership.
    pub fn body(&self) -> &'a [u8] {
        self.framing.body
    }
}
