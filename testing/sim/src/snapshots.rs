//! Snapshots of a host: when one begins and continues. After a snapshot is published, the log before the older one is
//! dropped.

use crate::job::SnapshotJob;
use crate::sim::Sim;
use scurry_engine::{LogRetention, forget};

impl Sim {
    pub(crate) fn begin_snapshot(&mut self) {
        if self.job.is_some() || self.has_failed {
            return;
        }
        let now = self.now();
        self.commits.end_segment();
        self.job =
            SnapshotJob::begin((&mut self.shard, self.log), &self.disk, self.plan.chunk_len, now);
    }

    pub(crate) fn step_snapshot(&mut self) {
        if self.has_failed {
            return;
        }
        let now = self.now();
        let Some(mut job) = self.job.take() else { return };
        if let Some(as_of) = job.as_of() {
            if self.commits.synced() < as_of {
                self.job = Some(job);
                return;
            }
            if self.random.one_in(3 * self.plan.calm) {
                // The machine stops during the renames and removals.
                self.disk.stop_after(self.random.below(12) as u64);
            }
            let published = job.publish().and_then(|(_, oldest)| {
                forget(&mut self.disk, self.log, oldest, LogRetention::Nothing, now)
            });
            match published {
                Ok(()) => self.counts.snapshots += 1,
                Err(error) => self.disk.note(|| format!("not published: {error}")),
            }
            return;
        }
        match job.write_piece(&mut self.disk, &mut self.shard, now) {
            Ok(()) => self.job = Some(job),
            Err(error) => {
                self.disk.note(|| format!("snapshot given up: {error}"));
                job.abandon();
            }
        }
    }

    /// Gives up a snapshot because the shard is cleared: the written part would show another state than the rest.
    pub(crate) fn abandon_snapshot(&mut self) {
        if let Some(job) = self.job.take() {
            job.abandon();
        }
    }
}
