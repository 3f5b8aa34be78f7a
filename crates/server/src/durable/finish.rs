//! The end of a run: everything is written and synced, and the log and what is noted beside it say
//! so. What is missing of it at the next start was lost, and not cut short.

use super::keeper::Task;
use super::{Durable, MARK_LEN_MAX, Way, open_segment};
use scurry_engine::Shard;
use scurry_ledger::Time;

impl Durable {
    /// The server stops: everything is written and synced, whatever it takes.
    pub(crate) fn finish(&mut self, shard: &mut Shard, now: Time) {
        if matches!(self.way, Way::None) {
            return;
        }
        if let Some(keeper) = &mut self.keeper {
            self.snapshots.abandon(keeper);
        }
        if matches!(self.way, Way::Group(_)) {
            // The host has what was executed, and sees to the rest.
            return;
        }
        self.write_all(shard, now);
        self.sync_all();
        // Without room for a mark what is noted beside the log says as much.
        if !self.commits.is_full()
            && self.commits.room_left(shard) > MARK_LEN_MAX
            && let Some(mark) = self.commits.mark(shard, now)
        {
            self.send(mark, 0);
            self.write_all(shard, now);
        }
        self.note_end();
    }

    /// Writes until nothing is left, or nothing more can be written.
    fn write_all(&mut self, shard: &mut Shard, now: Time) {
        while !self.trouble_is_final() {
            if let Some(batch) = self.commits.batch(shard, now) {
                self.send(batch, 0);
            }
            if self.commits.is_full() {
                tracing::error!(
                    "stopped with a full disk: changes that nobody was told of are lost"
                );
                return;
            }
            if !self.commits.is_busy() {
                return;
            }
            if let Way::There(clerk) = &mut self.way {
                clerk.wait();
            }
            self.learn(0);
        }
    }

    /// Syncs what is in the page cache alone, in every segment.
    fn sync_all(&mut self) {
        while !self.trouble_is_final() && self.commits.synced() < self.commits.written() {
            let (from, to) = (self.commits.synced(), self.commits.written());
            let open = open_segment(&self.way);
            if !self.has_done(Task::SyncBehind { from, to, open }) {
                return;
            }
        }
    }

    /// Syncs the mark where that was not done, and notes how far the log has come.
    fn note_end(&mut self) {
        let to = self.commits.synced();
        while !self.trouble_is_final() && !self.has_ended {
            if !self.has_done(Task::End { to }) {
                return;
            }
        }
    }

    /// Gives a task and waits for news, of this one or of one before it; false when none will come.
    fn has_done(&mut self, task: Task) -> bool {
        let Some(keeper) = &mut self.keeper else { return false };
        keeper.give(task);
        let has_news = keeper.wait();
        self.learn(0);
        has_news
    }
}
