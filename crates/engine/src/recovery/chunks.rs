//! Chunks of a snapshot on their way from the reading thread to the restoring thread.

use super::read_ahead::{LONG_LEN, Load};
use super::{Progress, RecoveryError, Sink, SnapshotFault};
use crate::snapshot::{SnapshotError, snapshot_name};
use crate::{PreparedEntry, Preparer};
use scurry_codec::{RecordError, checked_chunk};
use scurry_ledger::Totals;

/// Approximate bytes that are handed over together.
const BYTES_MAX: usize = 256 << 10;

/// Chunks that passed their checksums, in order.
#[derive(Debug, Default)]
pub(super) struct Chunks {
    bytes: Vec<u8>,
    ends: Vec<End>,
    /// The prepared entries of all chunks; empty without a preparer.
    prepared: Vec<PreparedEntry>,
}

/// The end of a chunk.
#[derive(Debug)]
struct End {
    /// Offset of the chunk in the file.
    offset: u64,
    /// End of the chunk in `bytes`.
    bytes: usize,
    /// End of its entries in `prepared`.
    prepared: usize,
    /// Totals of those accounts of the chunk that were counted.
    totals: Totals,
}

impl Load for Chunks {
    fn is_long(&self) -> bool {
        self.bytes.len() > LONG_LEN
    }
}

impl Chunks {
    /// Adds a chunk, with its offset in the file. Returns true when there are enough to hand over.
    pub(super) fn push(
        &mut self,
        offset: u64,
        chunk: &[u8],
        preparer: Option<&mut Preparer>,
    ) -> bool {
        self.bytes.extend_from_slice(chunk);
        let mut totals = Totals::default();
        if let Some(preparer) = preparer {
            // Stops at an unreadable entry, as restoring does.
            let entries = checked_chunk(chunk).into_iter().flat_map(|chunk| chunk.entries());
            self.prepared
                .extend(entries.map_while(Result::ok).map(|entry| preparer.prepare(&entry)));
            totals = preparer.take_totals();
        }
        let (bytes, prepared) = (self.bytes.len(), self.prepared.len());
        self.ends.push(End { offset, bytes, prepared, totals });
        self.bytes.len() >= BYTES_MAX
    }

    /// Restores all entries of the snapshot that was begun at this sequence, and removes the chunks.
    pub(super) fn restore(
        &mut self,
        begun: u64,
        sink: &mut impl Sink,
        read: &mut Progress,
    ) -> Result<(), SnapshotFault> {
        let (mut from, mut prepared) = (0, 0);
        for end in &self.ends {
            let chunk = &self.bytes[from..end.bytes];
            restore_one(chunk, &self.prepared[prepared..end.prepared], &end.totals, sink, read)
                .map_err(|error| RecoveryError::Replay { sequence: begun, error })?
                .map_err(|error| {
                    let file = snapshot_name(begun);
                    SnapshotFault::Snapshot(SnapshotError::Entry {
                        file,
                        offset: end.offset,
                        error,
                    })
                })?;
            (from, prepared) = (end.bytes, end.prepared);
        }
        if self.is_long() {
            self.bytes = Vec::new();
        }
        self.bytes.clear();
        self.ends.clear();
        self.prepared.clear();
        Ok(())
    }
}

/// Restores the entries of a chunk, up to an unreadable one.
fn restore_one(
    chunk: &[u8],
    prepared: &[PreparedEntry],
    totals: &Totals,
    sink: &mut impl Sink,
    read: &mut Progress,
) -> Result<Result<(), RecordError>, crate::ReplayError> {
    let chunk = checked_chunk(chunk);
    let (mut entries, mut outcome) = (Vec::new(), Ok(()));
    for entry in chunk.iter().flat_map(|chunk| chunk.entries()) {
        match entry {
            Ok(entry) => entries.push(entry),
            Err(error) => outcome = Err(error),
        }
    }
    read.entries += entries.len() as u64;
    sink.restore_all(&entries, prepared, totals)?;
    Ok(outcome)
}
