//! Chunks of a snapshot: the keys of a range of the hash order, in their state at one moment of the log.
//! docs/formats/snapshot.md has the bytes.

use crate::cursor::Cursor;
use crate::entry::{SnapshotEntry, take_entry};
use crate::framing::{self, FrameStart, Framing, HEADER_LEN};
use crate::{FrameError, RecordError, Seal};

/// Result of reading a chunk at the start of some bytes of a snapshot, after its header.
#[derive(Clone, Debug)]
pub enum Chunked<'a> {
    /// A chunk with a valid checksum.
    Chunk(Chunk<'a>),
    /// The bytes end inside the chunk, or are zero like space that was never written.
    Torn,
    /// Bytes that are no chunk of this snapshot.
    Damaged(FrameError),
}

/// A range of positions that a chunk covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Positions {
    /// First position.
    pub from: u64,
    /// End of the range, exclusive; 0 for the end of all positions.
    pub to: u64,
}

/// A chunk with a valid checksum.
#[derive(Clone, Copy, Debug)]
pub struct Chunk<'a>(Framing<'a>);

/// Reads a chunk at the start of `bytes`.
pub fn read_chunk(seal: Seal, bytes: &[u8]) -> Chunked<'_> {
    match framing::open(seal, bytes) {
        FrameStart::Whole(framing) => Chunked::Chunk(Chunk(framing)),
        FrameStart::Torn => Chunked::Torn,
        FrameStart::Damaged(error) => Chunked::Damaged(error),
    }
}

/// Returns the chunk that fills all of these bytes, which [`read_chunk`] has already checked: the checksum is not
/// computed again.
pub fn checked_chunk(bytes: &[u8]) -> Option<Chunk<'_>> {
    framing::reopen(bytes).map(Chunk)
}

#[expect(clippy::len_without_is_empty, reason = "no chunk is empty: it has a header")]
impl<'a> Chunk<'a> {
    /// Returns the length in bytes; the next chunk begins after it.
    pub fn len(&self) -> usize {
        HEADER_LEN + self.0.body.len()
    }

    /// Returns the positions that the chunk covers.
    pub fn positions(&self) -> Positions {
        let [from, to, _] = self.0.numbers;
        Positions { from, to }
    }

    /// Returns the last record of the log that the chunk includes, 0 for none.
    pub fn as_of(&self) -> u64 {
        self.0.numbers[2]
    }

    /// Returns the number of entries that the header states.
    pub fn count(&self) -> u32 {
        self.0.count
    }

    /// Iterates over the entries of the chunk.
    pub fn entries(&self) -> Entries<'a> {
        Entries { cursor: Cursor::new(self.0.body), left: self.count(), broken: false }
    }
}

/// Iterator over the entries of one chunk.
#[derive(Clone, Debug)]
pub struct Entries<'a> {
    cursor: Cursor<'a>,
    /// Number of entries not read yet.
    left: u32,
    broken: bool,
}

impl<'a> Iterator for Entries<'a> {
    type Item = Result<SnapshotEntry<'a>, RecordError>;

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
