//! Writes chunks: entries are added to the open chunk until it is sealed.

use crate::entry::put_entry;
use crate::framing::{self, HEADER_LEN};
use crate::pen::FieldWriter;
use crate::{FRAME_LEN_MAX, Positions, Seal, SnapshotEntry};
use alloc::vec::Vec;

/// Builds consecutive chunks in one buffer.
#[derive(Debug)]
pub struct ChunkWriter {
    seal: Seal,
    /// Sealed chunks, then the open one, whose header is not filled in yet.
    bytes: Vec<u8>,
    /// Offset of the open chunk.
    open: usize,
    /// Number of entries of the open chunk.
    count: u32,
}

impl ChunkWriter {
    /// Returns a writer with an empty open chunk.
    pub fn new(seal: Seal) -> ChunkWriter {
        let mut writer = ChunkWriter { seal, bytes: Vec::new(), open: 0, count: 0 };
        writer.begin();
        writer
    }

    /// Adds an entry to the open chunk.
    pub fn entry(&mut self, entry: &SnapshotEntry<'_>) {
        debug_assert!(self.open_len() < FRAME_LEN_MAX);
        let mut pen = FieldWriter::new(&mut self.bytes);
        put_entry(&mut pen, entry);
        pen.finish();
        self.count += 1;
    }

    /// Returns the number of entries of the open chunk.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Reports whether the open chunk has no entry.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Returns the length of the open chunk in bytes, header included. Seal it before an entry would make it longer
    /// than [`FRAME_LEN_MAX`].
    pub fn open_len(&self) -> usize {
        self.bytes.len() - self.open
    }

    /// Closes the open chunk, which holds all keys of these positions in their state after the log records up to
    /// `as_of`.
    ///
    /// # Panics
    /// If the chunk is longer than [`FRAME_LEN_MAX`].
    pub fn seal(&mut self, positions: Positions, as_of: u64) {
        let numbers = [positions.from, positions.to, as_of];
        framing::close(self.seal, &mut self.bytes[self.open..], numbers, self.count);
        self.begin();
    }

    /// Moves the sealed chunks to `out`, and reuses its buffer; the old content of `out` is lost.
    pub fn take_sealed(&mut self, out: &mut Vec<u8>) {
        // The open chunk is copied to the other buffer, and the buffers are swapped: sealed chunks are not copied.
        out.clear();
        out.extend_from_slice(&self.bytes[self.open..]);
        core::mem::swap(&mut self.bytes, out);
        out.truncate(self.open);
        self.open = 0;
    }

    /// Opens a chunk after the sealed ones.
    fn begin(&mut self) {
        self.open = self.bytes.len();
        self.count = 0;
        self.bytes.resize(self.open + HEADER_LEN, 0);
    }
}
