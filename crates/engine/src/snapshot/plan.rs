//! The shard's side of a snapshot: which chunk comes next.

use crate::Shard;
use crate::log_id::{LogId, checksum};
use scurry_codec::{ChunkWriter, Positions, SnapshotFooter, SnapshotHeader};
use scurry_ledger::Time;

/// Bytes of a chunk, about: one step's work.
const CHUNK_LEN: usize = 64 << 10;

/// A snapshot under way.
#[derive(Debug)]
pub struct Snapshot {
    log: LogId,
    /// The log's sequence when it was begun.
    begun: u64,
    /// How often the shard had been cleared then.
    clears: u64,
    header: Option<SnapshotHeader>,
    chunk: ChunkWriter,
    /// Where the next chunk begins.
    position: u64,
    /// Bytes of a chunk, about.
    chunk_len: usize,
    footer: SnapshotFooter,
    is_done: bool,
}

/// The piece to be written next.
#[derive(Debug)]
pub enum Piece {
    /// The shard was cleared: what was written shows two states. Begin again.
    Void,
    /// Bytes to append.
    Bytes(Vec<u8>),
    /// The last ones. The file counts when the log is durable up to `as_of`.
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

    /// The same with chunks of about this many bytes: how much a step copies.
    pub fn with_chunks_of(self, chunk_len: usize) -> Snapshot {
        Snapshot { chunk_len, ..self }
    }

    /// The log's sequence when it was begun.
    pub fn begun(&self) -> u64 {
        self.begun
    }

    /// Entries that were written.
    pub fn entries(&self) -> u64 {
        self.footer.entries
    }

    /// The share of the positions that was walked over, 0 to 1.
    pub fn share(&self) -> (u64, u64) {
        (self.position >> 32, 1 << 32)
    }

    /// The next piece, none after the last. `spare` is a buffer to use.
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
        self.chunk.take(&mut spare);
        self.footer.chunks += 1;
        self.footer.as_of = as_of;
        self.position = next;
        if next != 0 {
            return Some(Piece::Bytes(spare));
        }
        self.is_done = true;
        self.footer.version_last = shard.version_last().get();
        // A clock that was set back does not take the log's time back, at a start neither.
        let latest = shard.journal().map_or(now, |journal| journal.latest());
        self.footer.at = now.max(latest);
        self.footer.encode(self.log.seal(), &mut spare);
        Some(Piece::Last { bytes: spare, as_of })
    }
}
