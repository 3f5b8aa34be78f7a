//! Batches that are written to the log, and answers that wait for them.

use crate::sim::{AnsweredRequest, InFlightBatch, Pending, Sim};
use crate::world::CheckResult;
use scurry_engine::{Batch, Durability, sync_behind};

impl Sim {
    pub(crate) fn take_batch(&mut self) {
        let now = self.now();
        if self.flight.is_none() && !self.has_failed {
            let batch = self.commits.batch(&mut self.shard, now);
            self.start_batch(batch, "batch");
        }
    }

    pub(crate) fn mark(&mut self) {
        let now = self.now();
        if self.flight.is_none() && !self.has_failed && self.has_room() {
            let batch = self.commits.mark(&mut self.shard, now);
            self.start_batch(batch, "mark");
        }
    }

    /// Starts a batch. In half of the cases it is run now, long before the host learns its outcome in `finish_batch`.
    fn start_batch(&mut self, batch: Option<Batch>, what: &str) {
        let Some(batch) = batch else { return };
        self.disk.note(|| format!("{what} taken at {}", self.shard.sequence()));
        if self.random.one_in(10 * self.plan.calm) {
            // The machine stops between the writes and the syncs of the batch.
            self.disk.stop_after(self.random.below(5) as u64);
        }
        let mut flight = InFlightBatch { batch, outcome: None };
        if self.random.one_in(2) {
            flight.outcome = Some(flight.batch.run(&mut self.writer));
        }
        self.flight = Some(flight);
    }

    pub(crate) fn finish_batch(&mut self) -> CheckResult {
        self.take_batch();
        let Some(mut flight) = self.flight.take() else { return Ok(()) };
        let outcome = match flight.outcome {
            Some(outcome) => outcome,
            None => flight.batch.run(&mut self.writer),
        };
        // The machine has stopped, so the host never learns the outcome.
        if self.disk.is_off() {
            return Ok(());
        }
        let before = self.commits.durable();
        let has_failed = outcome.is_err();
        let done = self.commits.done(flight.batch, outcome);
        self.disk.note(|| format!("batch done, durable {}", self.commits.durable()));
        if let Err(error) = done {
            self.disk.note(|| format!("the log has failed: {error}"));
            self.has_failed = true;
            self.counts.failures += 1;
        }
        self.counts.full += u64::from(self.commits.is_full());
        // The host has checked the room before each command, so every accepted command must fit.
        if self.commits.is_full() && self.plan.room_min > 0 {
            return Err("there is no room for what was accepted".to_owned());
        }
        if self.random.one_in(2) {
            self.note_log_room();
        }
        if has_failed && self.commits.durable() != before {
            return Err("a batch that failed was taken for durable".to_owned());
        }
        if self.commits.has_failed() && !self.has_failed {
            return Err("a failure was forgotten".to_owned());
        }
        Ok(())
    }

    /// Reserves the next segment. With `fsync` the log's thread has time to fill it with zeros between two batches.
    pub(crate) fn set_ahead(&mut self) {
        if self.plan.durability == Durability::Fsync
            && !self.has_failed
            && let Err(error) = self.writer.fill_ahead()
        {
            self.disk.note(|| format!("not filled ahead: {error}"));
        }
        self.note_log_room();
    }

    /// Notes how much room the log has, in plans that accept a command only if the log has room for it.
    pub(crate) fn note_log_room(&mut self) {
        if self.plan.room_min == 0 || self.has_failed {
            return;
        }
        if let Err(error) = self.writer.set_ahead() {
            self.disk.note(|| format!("not set aside: {error}"));
        }
        self.commits.note_room(self.writer.room());
    }

    /// Reports whether the log has enough room to accept a command.
    pub(crate) fn has_room(&mut self) -> bool {
        self.plan.room_min == 0 || self.commits.room_left(&mut self.shard) >= self.plan.room_min
    }

    /// Checks that the host goes on without a restart once the disk has room again.
    pub(crate) fn check_resumes_with_room(&mut self) -> CheckResult {
        self.disk.clear_faults();
        if self.has_failed || self.disk.is_off() {
            return Ok(());
        }
        // The batch under way, then everything that was committed in the meantime.
        self.finish_batch()?;
        self.finish_batch()?;
        self.note_log_room();
        let durable = self.commits.durable() == self.shard.sequence();
        let goes_on = durable && self.has_room() || self.disk.is_off();
        if goes_on { Ok(()) } else { Err("it does not go on".to_owned()) }
    }

    /// Syncs the log in the background, if answers do not wait for a sync (`write`).
    pub(crate) fn sync_behind(&mut self) {
        if self.plan.durability != Durability::Write || self.has_failed {
            return;
        }
        let target = self.commits.durable();
        match sync_behind(&mut self.disk, self.commits.synced()) {
            Ok(newest) => {
                self.commits.note_synced(target);
                // The reach is raised once for each segment.
                if newest <= target && self.least().is_ok_and(|least| least.sequence < newest) {
                    let noted = self.note_reach(target);
                    self.disk.note(|| format!("noted {target}: {noted:?}"));
                }
                self.disk.note(|| format!("synced behind, up to {target}"));
            }
            Err(error) => {
                self.disk.note(|| format!("not synced behind: {error}"));
                self.has_failed = true;
                self.counts.failures += 1;
            }
        }
    }

    /// Sends each answer that shows only durable records.
    pub(crate) fn answer(&mut self) {
        if self.has_failed || self.disk.is_off() {
            return;
        }
        while let Some(next) = self.pending.front() {
            if next.sequence > self.commits.durable() {
                break;
            }
            let Some(Pending { sequence, request, version }) = self.pending.pop_front() else {
                break;
            };
            self.counts.answers += 1;
            self.acked = self.acked.max(sequence);
            self.version_acked = self.version_acked.max(version);
            if let Some((account, op, Some(answer))) = request {
                self.done.push(AnsweredRequest { sequence, account, op, answer });
            }
        }
    }
}
