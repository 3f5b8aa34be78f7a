//! The end of a run: everything is written and synced, and the end of the log and the note beside it record that.
//! Whatever is missing of it at the next start was lost afterwards, and is not an end that was cut short.

use super::maintenance_thread::MaintenanceTask;
use super::{BatchSink, Durable, MARK_LEN_MAX, open_segment};
use scurry_engine::Shard;
use scurry_ledger::Time;

impl Durable {
    /// Writes and syncs everything before the server stops, however long that takes.
    pub(crate) fn finish(&mut self, shard: &mut Shard, now: Time) {
        if matches!(self.sink, BatchSink::None) {
            return;
        }
        if let Some(maintenance) = &mut self.maintenance {
            self.snapshots.abandon(maintenance);
        }
        if matches!(self.sink, BatchSink::Group(_)) {
            // The group's host has all executed changes and does the rest.
            return;
        }
        self.write_all(shard, now);
        self.sync_all();
        // Without room for a mark, the note beside the log records the same.
        if !self.commits.is_full()
            && self.commits.room_left(shard) > MARK_LEN_MAX
            && let Some(mark) = self.commits.mark(shard, now)
        {
            self.send(mark, 0);
            self.write_all(shard, now);
        }
        self.note_end();
    }

    /// Writes until nothing is left or nothing more can be written.
    fn write_all(&mut self, shard: &mut Shard, now: Time) {
        while !self.trouble_is_final() {
            if let Some(batch) = self.commits.batch(shard, now) {
                self.send(batch, 0);
            }
            if self.commits.is_full() {
                tracing::error!(
                    "stopped with a full disk: changes that no client was told of are lost"
                );
                return;
            }
            if !self.commits.is_busy() {
                return;
            }
            if let BatchSink::Thread(log_thread) = &mut self.sink {
                log_thread.wait();
            }
            self.handle_reports(0);
        }
    }

    /// Syncs the part of every segment that is only in the page cache.
    fn sync_all(&mut self) {
        while !self.trouble_is_final() && self.commits.synced() < self.commits.written() {
            let (from, to) = (self.commits.synced(), self.commits.written());
            let open = open_segment(&self.sink);
            if !self.has_done(MaintenanceTask::SyncBehind { from, to, open }) {
                return;
            }
        }
    }

    /// Syncs the mark if necessary, and notes the end of the durable log.
    fn note_end(&mut self) {
        let to = self.commits.synced();
        while !self.trouble_is_final() && !self.has_ended {
            if !self.has_done(MaintenanceTask::End { to }) {
                return;
            }
        }
    }

    /// Gives a task to the maintenance thread and waits for a report, of this task or an earlier one. False when no
    /// report will arrive.
    fn has_done(&mut self, task: MaintenanceTask) -> bool {
        let Some(maintenance) = &mut self.maintenance else { return false };
        maintenance.give(task);
        let has_news = maintenance.wait();
        self.handle_reports(0);
        has_news
    }
}
