//! Frames of the log: what one group commit writes. docs/formats/log.md has the bytes.

use crate::framing::{self, Framing, HEADER_LEN, Start};
use crate::{FrameError, Records, Seal};
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
pub struct Frame<'a>(Framing<'a>);

/// Looks at the start of `bytes`.
pub fn read_frame(seal: Seal, bytes: &[u8]) -> Framed<'_> {
    match framing::open(seal, bytes) {
        Start::Whole(framing) => Framed::Frame(Frame(framing)),
        Start::Torn => Framed::Torn,
        Start::Damaged(error) => Framed::Damaged(error),
    }
}

/// The frame that these bytes are, all of them, which [`read_frame`] has found to be one: its
/// checksum is not looked at again.
pub fn checked_frame(bytes: &[u8]) -> Option<Frame<'_>> {
    framing::reopen(bytes).map(Frame)
}

#[expect(clippy::len_without_is_empty, reason = "no frame is empty: it has a header")]
impl<'a> Frame<'a> {
    /// Bytes of all of it: the next frame begins behind them.
    pub fn len(&self) -> usize {
        HEADER_LEN + self.0.body.len()
    }

    /// The sequence of its first record; of a mark, that of the next record.
    pub fn first(&self) -> u64 {
        self.0.numbers[0]
    }

    /// The sequence behind its last record.
    pub fn next(&self) -> u64 {
        self.first().saturating_add(u64::from(self.count()))
    }

    /// The greatest sequence that was known to be on the device when it was written.
    pub fn synced(&self) -> u64 {
        self.0.numbers[1]
    }

    /// When it was written, UTC ms.
    #[expect(clippy::cast_possible_wrap, reason = "the bits of the number")]
    pub fn at(&self) -> Time {
        Time(self.0.numbers[2] as i64)
    }

    /// How many records it says it has.
    pub fn count(&self) -> u32 {
        self.0.count
    }

    /// The records of the frame.
    pub fn records(&self) -> Records<'a> {
        Records::new(self.0.body, self.count())
    }
}
