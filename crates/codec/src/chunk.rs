//! Chunks of a snapshot: the keys of a range of the hash order, as one moment of the log left
//! them. docs/formats/snapshot.md has the bytes.

use crate::cursor::Cursor;
use crate::entry::{Entry, take_entry};
use crate::framing::{self, Framing, HEADER_LEN, Start};
use crate::{FrameError, RecordError, Seal};

/// The start of some bytes of a snapshot, behind its header.
#[derive(Clone, Debug)]
pub enum Chunked<'a> {
    /// A chunk that passed its checksum.
    Chunk(Chunk<'a>),
    /// The bytes end before the chunk does, or are zero, as room that was never written is.
    Torn,
    /// No chunk of this snapshot.
    Damaged(FrameError),
}

/// The positions that a chunk covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Positions {
    /// The first position.
    pub from: u64,
    /// Behind the last one; 0 for the end of all positions.
    pub to: u64,
}

/// A chunk.
#[derive(Clone, Copy, Debug)]
pub struct Chunk<'a>(Framing<'a>);

/// Looks at the start of `bytes`.
pub fn read_chunk(seal: Seal, bytes: &[u8]) -> Chunked<'_> {
    match framing::open(seal, bytes) {
        Start::Whole(framing) => Chunked::Chunk(Chunk(framing)),
        Start::Torn => Chunked::Torn,
        Start::Damaged(error) => Chunked::Damaged(error),
    }
}

/// The chunk that these bytes are, all of them, which [`read_chunk`] has found to be one: its
/// checksum is not looked at again.
pub fn checked_chunk(bytes: &[u8]) -> Option<Chunk<'_>> {
    framing::reopen(bytes).map(Chunk)
}

#[expect(clippy::len_without_is_empty, reason = "no chunk is empty: it has a header")]
impl<'a> Chunk<'a> {
    /// Bytes of all of it: the next chunk begins behind them.
    pub fn len(&self) -> usize {
        HEADER_LEN + self.0.body.len()
    }

    /// The positions that it covers.
    pub fn positions(&self) -> Positions {
        let [from, to, _] = self.0.numbers;
        Positions { from, to }
    }

    /// The last record of the log that it shows, 0 for none.
    pub fn as_of(&self) -> u64 {
        self.0.numbers[2]
    }

    /// How many entries it says it has.
    pub fn count(&self) -> u32 {
        self.0.count
    }

    /// The entries of the chunk.
    pub fn entries(&self) -> Entries<'a> {
        Entries { cursor: Cursor::new(self.0.body), left: self.count(), broken: false }
    }
}

/// The entries of one chunk.
#[derive(Clone, Debug)]
pub struct Entries<'a> {
    cursor: Cursor<'a>,
    /// Entries that were not read yet.
    left: u32,
    broken: bool,
}

impl<'a> Iterator for Entries<'a> {
    type Item = Result<Entry<'a>, RecordError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.broken {
            return None;
        }
        let Some(left) = self.left.checked_sub(1) else {
            self.broken = true;
            return self.cursor.finish().err().map(|left| Err(left.into()));
        };
        self.left = left;
        let entry = take_entry(&mut self.cursor);
        self.broken = entry.is_err();
        Some(entry)
    }
}
