//! Writes chunks: entries gather in the open chunk until it is sealed.

use crate::entry::put_entry;
use crate::framing::{self, HEADER_LEN};
use crate::pen::Pen;
use crate::{Entry, FRAME_LEN_MAX, Positions, Seal};
use alloc::vec::Vec;

/// Builds chunks one after another in one buffer.
#[derive(Debug)]
pub struct ChunkWriter {
    seal: Seal,
    /// Sealed chunks, and behind them the open one, its header not filled in.
    bytes: Vec<u8>,
    /// Where the open chunk begins.
    open: usize,
    /// Number of entries.
    count: u32,
}

impl ChunkWriter {
    /// Nothing is in it.
    pub fn new(seal: Seal) -> ChunkWriter {
        let mut writer = ChunkWriter { seal, bytes: Vec::new(), open: 0, count: 0 };
        writer.begin();
        writer
    }

    /// Adds a key to the open chunk.
    pub fn entry(&mut self, entry: &Entry<'_>) {
        debug_assert!(self.open_len() < FRAME_LEN_MAX);
        let mut pen = Pen::new(&mut self.bytes);
        put_entry(&mut pen, entry);
        pen.finish();
        self.count += 1;
    }

    /// Entries of the open chunk.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// True when the open chunk has no entry.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Bytes of the open chunk, its header included. Seal it before an entry would take it beyond
    /// [`FRAME_LEN_MAX`].
    pub fn open_len(&self) -> usize {
        self.bytes.len() - self.open
    }

    /// Closes the open chunk, which holds all that there is in these positions after the records
    /// of the log up to `as_of`.
    ///
    /// # Panics
    /// When it is longer than [`FRAME_LEN_MAX`].
    pub fn seal(&mut self, positions: Positions, as_of: u64) {
        let numbers = [positions.from, positions.to, as_of];
        framing::close(self.seal, &mut self.bytes[self.open..], numbers, self.count);
        self.begin();
    }

    /// Gives the sealed chunks in `out`, whose buffer is used from now on; what was in it is gone.
    pub fn take(&mut self, out: &mut Vec<u8>) {
        out.clear();
        out.extend_from_slice(&self.bytes[self.open..]);
        core::mem::swap(&mut self.bytes, out);
        out.truncate(self.open);
        self.open = 0;
    }

    /// Opens a chunk behind what is sealed.
    fn begin(&mut self) {
        self.open = self.bytes.len();
        self.count = 0;
        self.bytes.resize(self.open + HEADER_LEN, 0);
    }
}
