//! Chunks of a snapshot on their way from the thread that reads them to the one that restores them.

use super::ahead::{LONG_LEN, Load};
use super::{Progress, RecoveryError, Sink, Unusable};
use crate::snapshot::{SnapshotError, snapshot_name};
use scurry_codec::{RecordError, checked_chunk};

/// Bytes that go together, about.
const BYTES_MAX: usize = 256 << 10;

/// Chunks that passed their checksums, in their order.
#[derive(Debug, Default)]
pub(super) struct Chunks {
    bytes: Vec<u8>,
    /// Where each begins in the file, and where it ends in the bytes.
    ends: Vec<(u64, usize)>,
}

impl Load for Chunks {
    fn is_long(&self) -> bool {
        self.bytes.len() > LONG_LEN
    }
}

impl Chunks {
    /// Takes a chunk in, with its place in the file. True when there are enough.
    pub(super) fn push(&mut self, offset: u64, chunk: &[u8]) -> bool {
        self.bytes.extend_from_slice(chunk);
        self.ends.push((offset, self.bytes.len()));
        self.bytes.len() >= BYTES_MAX
    }

    /// Restores all entries of the snapshot that was begun at this sequence, and forgets them.
    pub(super) fn restore(
        &mut self,
        begun: u64,
        sink: &mut impl Sink,
        read: &mut Progress,
    ) -> Result<(), Unusable> {
        let mut from = 0;
        for &(offset, end) in &self.ends {
            restore_one(&self.bytes[from..end], sink, read)
                .map_err(|error| RecoveryError::Replay { sequence: begun, error })?
                .map_err(|error| {
                    let file = snapshot_name(begun);
                    Unusable::Snapshot(SnapshotError::Entry { file, offset, error })
                })?;
            from = end;
        }
        if self.is_long() {
            self.bytes = Vec::new();
        }
        self.bytes.clear();
        self.ends.clear();
        Ok(())
    }
}

/// Restores the entries of a chunk, up to one that cannot be read.
fn restore_one(
    chunk: &[u8],
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
    sink.restore_all(&entries)?;
    Ok(outcome)
}
