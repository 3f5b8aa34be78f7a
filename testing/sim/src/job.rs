//! A snapshot, as a host takes it: written while commands go on, and published when the log is durable up to the
//! sequence that the snapshot shows.

use crate::SimDisk;
use scurry_engine::{
    LogId, Piece, Sequence, Shard, Snapshot, SnapshotSequences, SnapshotWriter, is_disk_full,
    remove_unclaimed_spares,
};
use scurry_ledger::Time;
use std::io;

/// A snapshot that is being written.
pub(crate) struct SnapshotJob {
    snapshot: Snapshot,
    writer: SnapshotWriter<SimDisk>,
    /// The sequence that the snapshot shows, once all of it is on the device; None before.
    as_of: Option<u64>,
}

impl SnapshotJob {
    /// Begins a snapshot. Returns None if its file cannot be created.
    pub(crate) fn begin(
        (shard, log): (&mut Shard, LogId),
        disk: &SimDisk,
        chunk_len: usize,
        now: Time,
    ) -> Option<SnapshotJob> {
        let snapshot = Snapshot::begin(shard, log, now).with_chunks_of(chunk_len);
        disk.note(|| format!("snapshot begun at {}", snapshot.begun()));
        let writer = SnapshotWriter::new(disk.clone(), snapshot.begun()).ok()?;
        Some(SnapshotJob { snapshot, writer, as_of: None })
    }

    /// Returns the greatest sequence that the snapshot shows, once all of it is on the device; None before.
    pub(crate) fn as_of(&self) -> Option<u64> {
        self.as_of
    }

    /// Writes the next piece. If the disk is full, it removes unclaimed spares and tries once more.
    pub(crate) fn write_piece(
        &mut self,
        disk: &mut SimDisk,
        shard: &mut Shard,
        now: Time,
    ) -> io::Result<()> {
        match self.snapshot.piece(shard, Vec::new(), now) {
            Some(Piece::Bytes(bytes)) => match self.writer.write(&bytes) {
                Err(error) if is_disk_full(&error) && remove_unclaimed_spares(disk)? > 0 => {
                    self.writer.write(&bytes)
                }
                outcome => outcome,
            },
            Some(Piece::Void) => Err(io::Error::other("everything was cleared")),
            Some(Piece::Last { bytes, as_of }) => {
                self.writer.write(&bytes)?;
                self.writer.sync()?;
                self.as_of = Some(as_of);
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// Publishes the snapshot. Returns the sequences that it shows, and the sequence up to which the log is not needed.
    pub(crate) fn publish(self) -> io::Result<(SnapshotSequences, Sequence)> {
        let begun = Sequence(self.snapshot.begun());
        let as_of = Sequence(self.as_of.unwrap_or(u64::MAX));
        Ok((SnapshotSequences { begun, as_of }, Sequence(self.writer.publish()?)))
    }

    /// Gives up the snapshot and removes its file.
    pub(crate) fn abandon(self) {
        // If this fails, the file that remains does no harm.
        let _ = self.writer.abandon();
    }
}
