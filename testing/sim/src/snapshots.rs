//! Snapshots, as a host takes them: written beside, published when the log is durable up to what
//! they show, the log before the older one dropped after that.

use crate::SimDisk;
use crate::run::Sim;
use scurry_engine::{Piece, Snapshot, SnapshotWriter, forget, give_up_spares, is_want_of_room};
use std::io;

/// A snapshot under way.
pub(crate) struct Job {
    snapshot: Snapshot,
    writer: SnapshotWriter<SimDisk>,
    /// All of it is on the device, and shows this sequence.
    as_of: Option<u64>,
}

impl Sim {
    pub(crate) fn begin_snapshot(&mut self) {
        if self.job.is_some() || self.has_failed {
            return;
        }
        let now = self.now();
        let snapshot = Snapshot::begin(&mut self.shard, self.log, now);
        let snapshot = snapshot.with_chunks_of(self.plan.chunk_len);
        self.disk.note(|| format!("snapshot begun at {}", snapshot.begun()));
        if let Ok(writer) = SnapshotWriter::new(self.disk.clone(), snapshot.begun()) {
            self.job = Some(Job { snapshot, writer, as_of: None });
        }
    }

    pub(crate) fn step_snapshot(&mut self) {
        if self.has_failed {
            return;
        }
        let now = self.now();
        let Some(mut job) = self.job.take() else { return };
        if let Some(as_of) = job.as_of {
            if self.commits.synced() < as_of {
                self.job = Some(job);
                return;
            }
            if self.random.one_in(3 * self.plan.calm) {
                // While names change.
                self.disk.stop_after(self.random.below(12) as u64);
            }
            match job.writer.publish().and_then(|oldest| forget(&mut self.disk, oldest, 0)) {
                Ok(()) => self.counts.snapshots += 1,
                Err(error) => self.disk.note(|| format!("not published: {error}")),
            }
            return;
        }
        match self.write_piece(&mut job, now) {
            Ok(()) => self.job = Some(job),
            Err(error) => {
                self.disk.note(|| format!("snapshot given up: {error}"));
                // What is left of it does no harm.
                let _ = job.writer.abandon();
            }
        }
    }

    fn write_piece(&mut self, job: &mut Job, now: scurry_ledger::Time) -> io::Result<()> {
        match job.snapshot.piece(&mut self.shard, Vec::new(), now) {
            Some(Piece::Bytes(bytes)) => match job.writer.write(&bytes) {
                Err(error) if is_want_of_room(&error) && give_up_spares(&mut self.disk)? > 0 => {
                    job.writer.write(&bytes)
                }
                outcome => outcome,
            },
            Some(Piece::Void) => Err(io::Error::other("everything was cleared")),
            Some(Piece::Last { bytes, as_of }) => {
                job.writer.write(&bytes)?;
                job.writer.sync()?;
                job.as_of = Some(as_of);
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// Gives up a snapshot: what was written shows another state than what follows.
    pub(crate) fn abandon_snapshot(&mut self) {
        if let Some(job) = self.job.take() {
            let _ = job.writer.abandon();
        }
    }
}
