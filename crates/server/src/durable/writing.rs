//! Batches on their way to the log: written by the core or given to a thread, and how their outcome is handled.

use super::log_thread::LogReport;
use super::maintenance_thread::{MaintenanceReport, MaintenanceThread, SnapshotReport};
use super::trouble::{RefusalCause, describe};
use super::{BatchSink, Durable, FULL_RETRY_MS, NOT_NOTED};
use scurry_engine::{Batch, LogSpace};
use std::io;

impl Durable {
    pub(super) fn may_write(&self, uptime_ms: i64) -> bool {
        !self.commits.is_full() || uptime_ms >= self.retry_ms
    }

    pub(super) fn send(&mut self, mut batch: Batch, uptime_ms: i64) {
        self.given_ns = self.clock.map_or(0, |clock| clock.monotonic_ns());
        match &mut self.sink {
            // The group's host writes.
            BatchSink::None | BatchSink::Group(_) => {}
            BatchSink::Inline(writer) => {
                let outcome = batch.run(writer);
                self.done(batch, outcome, uptime_ms);
                if !self.commits.is_ahead() && self.shortage.why().is_none() {
                    self.set_ahead(uptime_ms);
                }
            }
            BatchSink::Thread(log_thread) => log_thread.give(batch),
        }
    }

    /// Prepares the next segment, or orders the log's thread to do so.
    pub(super) fn set_ahead(&mut self, uptime_ms: i64) {
        match &mut self.sink {
            BatchSink::None | BatchSink::Group(_) => {}
            BatchSink::Inline(writer) => {
                let outcome = writer.set_ahead();
                let room = writer.room();
                self.ahead(room, &outcome, uptime_ms);
            }
            BatchSink::Thread(log_thread) => log_thread.set_ahead(),
        }
    }

    /// Handles the outcome of preparing the next segment.
    fn ahead(&mut self, room: LogSpace, outcome: &io::Result<()>, uptime_ms: i64) {
        self.commits.note_room(room);
        if let Err(error) = outcome
            && self.shortage.why().is_none()
        {
            tracing::warn!("no segment of the log was made ready ahead: {error}");
        }
        self.shortage.note(outcome, uptime_ms);
    }

    fn done(&mut self, batch: Batch, outcome: io::Result<()>, uptime_ms: i64) {
        let said = outcome.as_ref().err().map(describe);
        if let Some(error) = batch.reach_error()
            && !self.is_reach_error_logged
        {
            tracing::warn!("{NOT_NOTED}: {error}");
        }
        self.is_reach_error_logged = batch.reach_error().is_some();
        match self.commits.done(batch, outcome) {
            Err(failed) => {
                tracing::error!(
                    "the log cannot be trusted any more: {failed}. Nothing is answered until the \
                     server was started again"
                );
                self.trouble = Some(RefusalCause::Failed(failed.to_string()));
            }
            Ok(()) => {
                if said.is_none()
                    && let Some(clock) = self.clock
                {
                    self.writes.note(clock.monotonic_ns().saturating_sub(self.given_ns));
                }
                self.full = said;
                self.retry_ms = uptime_ms + FULL_RETRY_MS;
            }
        }
    }

    /// Handles the reports of the threads.
    pub(super) fn handle_reports(&mut self, uptime_ms: i64) {
        while let BatchSink::Thread(log_thread) = &mut self.sink
            && let Some(said) = log_thread.news()
        {
            match said {
                LogReport::Done(batch, outcome) => self.done(batch, outcome, uptime_ms),
                LogReport::Ahead(room, outcome) => self.ahead(room, &outcome, uptime_ms),
            }
        }
        while let Some(news) = self.maintenance.as_mut().and_then(MaintenanceThread::news) {
            match news {
                MaintenanceReport::Synced { to } => {
                    self.syncing_behind = false;
                    self.commits.note_synced(to);
                }
                MaintenanceReport::NotSynced(error) => {
                    tracing::error!("the log cannot be synced: {error}");
                    self.commits.fail();
                    self.trouble = Some(RefusalCause::Failed(error.to_string()));
                }
                MaintenanceReport::Snapshot(event) => {
                    if matches!(event, SnapshotReport::Published { .. }) {
                        // The log is shorter now.
                        self.survey_ms = uptime_ms;
                    }
                    self.snapshots.handle_report(event);
                }
                MaintenanceReport::Kept(kept) => self.kept = kept,
                MaintenanceReport::Ended => self.has_ended = true,
            }
        }
    }
}
