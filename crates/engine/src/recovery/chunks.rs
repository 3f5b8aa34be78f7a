//! Chunks of a snapshot on their way from the thread that reads them to the one that restores them.

use super::ahead::{LONG_LEN, Load};
use super::{Progress, RecoveryError, Sink, Unusable};
use crate::snapshot::{SnapshotError, snapshot_name};
use crate::{Prepared, Preparer};
use scurry_codec::{RecordError, checked_chunk};
use scurry_ledger::Totals;

/// Bytes that go together, about.
const BYTES_MAX: usize = 256 << 10;

/// Chunks that passed their checksums, in their order.
#[derive(Debug, Default)]
pub(super) struct Chunks {
    bytes: Vec<u8>,
    ends: Vec<End>,
    /// The entries of all of them; none where nothing is prepared.
    prepared: Vec<Prepared>,
}

/// The end of a chunk.
#[derive(Debug)]
struct End {
    /// Where the chunk begins in the file.
    offset: u64,
    /// Where it ends in the bytes.
    bytes: usize,
    /// Where it ends among what is prepared.
    prepared: usize,
    /// The sums of its accounts that were counted.
    totals: Totals,
}

impl Load for Chunks {
    fn is_long(&self) -> bool {
        self.bytes.len() > LONG_LEN
    }
}

impl Chunks {
    /// Takes a chunk in, with its place in the file. True when there are enough.
    pub(super) fn push(
        &mut self,
        offset: u64,
        chunk: &[u8],
        preparer: Option<&mut Preparer>,
    ) -> bool {
        self.bytes.extend_from_slice(chunk);
        let mut totals = Totals::default();
        if let Some(preparer) = preparer {
            // Up to one that cannot be read, as they are restored.
            let entries = checked_chunk(chunk).into_iter().flat_map(|chunk| chunk.entries());
            self.prepared
                .extend(entries.map_while(Result::ok).map(|entry| preparer.prepare(&entry)));
            totals = preparer.take_totals();
        }
        let (bytes, prepared) = (self.bytes.len(), self.prepared.len());
        self.ends.push(End { offset, bytes, prepared, totals });
        self.bytes.len() >= BYTES_MAX
    }

    /// Restores all entries of the snapshot that was begun at this sequence, and forgets them.
    pub(super) fn restore(
        &mut self,
        begun: u64,
        sink: &mut impl Sink,
        read: &mut Progress,
    ) -> Result<(), Unusable> {
        let (mut from, mut prepared) = (0, 0);
        for end in &self.ends {
            let chunk = &self.bytes[from..end.bytes];
            restore_one(chunk, &self.prepared[prepared..end.prepared], &end.totals, sink, read)
                .map_err(|error| RecoveryError::Replay { sequence: begun, error })?
                .map_err(|error| {
                    let file = snapshot_name(begun);
                    Unusable::Snapshot(SnapshotError::Entry { file, offset: end.offset, error })
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

/// Restores the entries of a chunk, up to one that cannot be read.
fn restore_one(
    chunk: &[u8],
    prepared: &[Prepared],
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
