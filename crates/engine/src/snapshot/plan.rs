//! The shard's side of a snapshot: produces its chunks in order.

use crate::Shard;
use crate::log_id::{LogId, checksum};
use scurry_codec::{ChunkWriter, Positions, SnapshotFooter, SnapshotHeader};
use scurry_ledger::Time;

/// Approximate bytes of a chunk: the work of one step.
const CHUNK_LEN: usize = 64 << 10;

/// A snapshot in progress.
#[derive(Debug)]
pub struct Snapshot {
    log: LogId,
    /// The log's sequence at the beginning.
    begun: u64,
    /// The shard's count of clears at the beginning.
    clears: u64,
    header: Option<SnapshotHeader>,
    chunk: ChunkWriter,
    /// Position at which the next chunk begins.
    position: u64,
    /// Approximate bytes of a chunk.
    chunk_len: usize,
    footer: SnapshotFooter,
    is_done: bool,
}

/// The piece of the file to write next.
#[derive(Debug)]
pub enum Piece {
    /// The shard was cleared, so the written chunks would mix two states. Begin again.
    Void,
    /// Bytes to append.
    Bytes(Vec<u8>),
    /// The last bytes. The file is valid once the log is durable up to `as_of`.
    Last {
        /// Bytes to append.
        bytes: Vec<u8>,
        /// The greatest sequence that the snapshot shows.
        as_of: u64,
    },
}

impl Snapshot {
    /// Begins a snapshot of a shard that has a journal.
    pub fn begin(shard: &mut Shard, log: LogId, now: Time) -> Snapshot {
        let begun = shard.sequence();
        let header = SnapshotHeader {
            log_id: log.id,
            core: log.core,
            key: shard.hash_key(),
            log_next: begun + 1,
            at: now,
        };
        let footer =
            SnapshotFooter { chunks: 0, entries: 0, as_of: begun, version_last: 0, at: now };
        let chunk = ChunkWriter::new(log.seal());
        Snapshot {
            log,
            begun,
            clears: shard.clears(),
            header: Some(header),
            chunk,
            position: 0,
            chunk_len: CHUNK_LEN,
            footer,
            is_done: false,
        }
    }

    /// Sets the approximate bytes of a chunk, and so how much one step copies.
    pub fn with_chunks_of(self, chunk_len: usize) -> Snapshot {
        Snapshot { chunk_len, ..self }
    }

    /// Returns the log's sequence at the beginning.
    pub fn begun(&self) -> u64 {
        self.begun
    }

    /// Returns the number of entries written.
    pub fn entries(&self) -> u64 {
        self.footer.entries
    }

    /// Returns the walked share of all positions, as numerator and denominator.
    pub fn share(&self) -> (u64, u64) {
        (self.position >> 32, 1 << 32)
    }

    /// Returns the next piece, None after the last. `spare` is a buffer for reuse.
    pub fn piece(&mut self, shard: &mut Shard, mut spare: Vec<u8>, now: Time) -> Option<Piece> {
        if self.is_done {
            return None;
        }
        if self.clears != shard.clears() {
            self.is_done = true;
            return Some(Piece::Void);
        }
        if let Some(header) = self.header.take() {
            spare.clear();
            header.encode(checksum, &mut spare);
            return Some(Piece::Bytes(spare));
        }
        let as_of = shard.sequence();
        let next = shard.copy_chunk(self.position, self.chunk_len, &mut self.chunk);
        self.footer.entries += u64::from(self.chunk.count());
        self.chunk.seal(Positions { from: self.position, to: next }, as_of);
        self.chunk.take_sealed(&mut spare);
        self.footer.chunks += 1;
        self.footer.as_of = as_of;
        self.position = next;
        if next != 0 {
            return Some(Piece::Bytes(spare));
        }
        self.is_done = true;
        self.footer.version_last = shard.version_last().get();
        // The log's time never goes back, not even over a restart after the clock was set back.
        let latest = shard.journal().map_or(now, |journal| journal.latest());
        self.footer.at = now.max(latest);
        self.footer.encode(self.log.seal(), &mut spare);
        Some(Piece::Last { bytes: spare, as_of })
    }
}
