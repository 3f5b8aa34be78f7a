//! A core's snapshots: when one is begun, and how it is written, one piece per turn.

use super::maintenance_thread::{MaintenanceTask, MaintenanceThread, SnapshotReport};
use super::pace::hurries;
use crate::mail::report::DurableReport;
use scurry_engine::{Commits, LogId, Piece, Sequence, Shard, Snapshot, SnapshotSequences};
use scurry_ledger::Time;

/// Maximum number of pieces under way, which bounds the memory of a snapshot.
const PIECES_MAX: usize = 2;

/// Pause after a failed snapshot, ms: there may be room by then.
const RETRY_MS: i64 = 60_000;

/// Progress of the snapshot that is being written.
enum SnapshotProgress {
    /// Pieces are being made.
    Walking(Box<Snapshot>),
    /// The maintenance thread has all pieces and makes them durable.
    Finishing { begun: u64, as_of: u64 },
    /// Waits until the log is durable up to `as_of`.
    Waiting { begun: u64, as_of: u64 },
    /// The snapshot is durable and is being renamed to its final name.
    Publishing { begun: u64, as_of: u64 },
}

/// Snapshots of one core: when the next one begins, and the progress of the present one.
pub(super) struct Snapshots {
    log: Option<LogId>,
    /// A snapshot is begun when the log has grown by this many bytes.
    log_bytes_max: u64,
    /// Bytes of the log after the snapshot that was used at the start of this process.
    logged_before: u64,
    /// Length of the log when the last snapshot was begun, including `logged_before`, bytes.
    log_bytes: u64,
    asked: bool,
    /// When to try again after a failure.
    again_at: Option<Time>,
    stage: Option<SnapshotProgress>,
    under_way: usize,
    spare: Vec<Vec<u8>>,
    written: u64,
    failed: u64,
    last_sequence: u64,
    last_time: Time,
    now: Time,
    /// The newest valid snapshot that was not reported yet.
    news: Option<NewSnapshot>,
}

/// A snapshot that has become valid.
#[derive(Clone, Copy, Debug)]
pub(super) struct NewSnapshot {
    pub(super) shown: SnapshotSequences,
    /// The log up to this sequence is not needed any more.
    pub(super) needless: Sequence,
}

impl Snapshots {
    pub(super) fn none() -> Snapshots {
        Snapshots {
            log: None,
            log_bytes_max: u64::MAX,
            logged_before: 0,
            log_bytes: 0,
            asked: false,
            again_at: None,
            stage: None,
            under_way: 0,
            spare: Vec::new(),
            written: 0,
            failed: 0,
            last_sequence: 0,
            last_time: Time(0),
            now: Time(0),
            news: None,
        }
    }

    /// Creates the state for a log with `logged_before` bytes that no snapshot covers. They count, or a server that is
    /// always killed before it has written enough by itself would never write a snapshot.
    pub(super) fn new(log: LogId, log_bytes_max: u64, logged_before: u64) -> Snapshots {
        Snapshots { log: Some(log), log_bytes_max, logged_before, ..Snapshots::none() }
    }

    /// Returns the length of the log, bytes.
    fn logged(&self, commits: &Commits) -> u64 {
        self.logged_before + commits.given().0
    }

    /// Requests a snapshot.
    pub(super) fn ask(&mut self) -> Result<(), &'static str> {
        if self.asked || self.stage.is_some() {
            return Err("a snapshot is being written already: wait for it (INFO persistence)");
        }
        self.asked = true;
        Ok(())
    }

    /// Reports whether a snapshot is complete and waits only for the log to become durable.
    pub(super) fn waits_for_sync(&self) -> bool {
        matches!(self.stage, Some(SnapshotProgress::Waiting { .. }))
    }

    /// Reports whether the next step can be taken without a report from the maintenance thread.
    pub(super) fn can_step(&self, maintenance: Option<&MaintenanceThread>) -> bool {
        maintenance.is_some()
            && match self.stage {
                None => self.asked,
                Some(SnapshotProgress::Walking(_)) => self.under_way < PIECES_MAX,
                Some(_) => false,
            }
    }

    /// Takes the next step, if one is possible. `is_short`: the log may find no room for its next segment.
    pub(super) fn step(
        &mut self,
        shard: &mut Shard,
        maintenance: &mut MaintenanceThread,
        commits: &mut Commits,
        now: Time,
        is_short: bool,
    ) {
        self.now = now;
        let bytes = self.logged(commits);
        match &mut self.stage {
            None => {
                let Some(log) = self.log else { return };
                let is_again = self.again_at.is_some_and(|at| now >= at);
                if !self.asked && !is_again && bytes - self.log_bytes < self.log_bytes_max {
                    return;
                }
                (self.asked, self.again_at) = (false, None);
                self.log_bytes = bytes;
                let snapshot = Snapshot::begin(shard, log, now);
                commits.end_segment();
                tracing::info!(core = log.core, sequence = snapshot.begun(), "snapshot begun");
                let about = shard.stats().memory_bytes;
                maintenance.give(MaintenanceTask::Begin { begun: snapshot.begun(), about });
                self.under_way = 0;
                self.stage = Some(SnapshotProgress::Walking(Box::new(snapshot)));
            }
            Some(SnapshotProgress::Walking(snapshot)) if self.under_way < PIECES_MAX => {
                let begun = snapshot.begun();
                let grown = bytes.saturating_sub(self.log_bytes);
                let hurries = hurries(grown, self.log_bytes_max, is_short);
                let spare = self.spare.pop().unwrap_or_default();
                match snapshot.piece(shard, spare, now) {
                    Some(Piece::Bytes(bytes)) => {
                        self.under_way += 1;
                        maintenance.give(MaintenanceTask::Piece { bytes, hurries });
                    }
                    Some(Piece::Last { bytes, as_of }) => {
                        // No pause after the last piece: the snapshot is complete.
                        maintenance.give(MaintenanceTask::Piece { bytes, hurries: true });
                        maintenance.give(MaintenanceTask::Finish);
                        self.stage = Some(SnapshotProgress::Finishing { begun, as_of });
                    }
                    Some(Piece::Void) => self.abandon(maintenance),
                    None => {}
                }
            }
            // The snapshot shows changes up to `as_of`, so it becomes valid only when the log has them on the device.
            Some(SnapshotProgress::Waiting { begun, as_of }) if commits.synced() >= *as_of => {
                let (begun, as_of) = (*begun, *as_of);
                maintenance.give(MaintenanceTask::Publish);
                self.stage = Some(SnapshotProgress::Publishing { begun, as_of });
            }
            Some(_) => {}
        }
    }

    /// Handles a report of the maintenance thread.
    pub(super) fn handle_report(&mut self, news: SnapshotReport) {
        match news {
            SnapshotReport::Written(mut spare) => {
                self.under_way = self.under_way.saturating_sub(1);
                spare.clear();
                if self.spare.len() < PIECES_MAX {
                    self.spare.push(spare);
                }
            }
            SnapshotReport::Finished => {
                if let Some(SnapshotProgress::Finishing { begun, as_of }) = self.stage {
                    self.stage = Some(SnapshotProgress::Waiting { begun, as_of });
                }
            }
            SnapshotReport::Published { bytes, needless } => {
                if let Some(SnapshotProgress::Publishing { begun, as_of }) = self.stage.take() {
                    let shown =
                        SnapshotSequences { begun: Sequence(begun), as_of: Sequence(as_of) };
                    self.news = Some(NewSnapshot { shown, needless: Sequence(needless) });
                    tracing::info!(sequence = begun, bytes, "snapshot written");
                    self.written += 1;
                    self.last_sequence = begun;
                    self.last_time = self.now;
                }
                self.spare.clear();
            }
            SnapshotReport::Failed(error) => {
                tracing::error!("no snapshot was written: {error}. The log is kept instead");
                self.failed += 1;
                self.stage = None;
                self.again_at = Some(Time(self.now.0.saturating_add(RETRY_MS)));
                self.spare.clear();
            }
        }
    }

    /// Returns the newest valid snapshot, once.
    pub(super) fn take_news(&mut self) -> Option<NewSnapshot> {
        self.news.take()
    }

    /// Abandons the snapshot that is being written.
    pub(super) fn abandon(&mut self, maintenance: &mut MaintenanceThread) {
        let stays = matches!(self.stage, None | Some(SnapshotProgress::Publishing { .. }));
        if !stays {
            maintenance.give(MaintenanceTask::Abandon);
            self.stage = None;
            // It was requested or due, so it has to begin again.
            self.asked = true;
        }
    }

    pub(super) fn report(&self) -> DurableReport {
        DurableReport {
            snapshot_running: self.asked || self.stage.is_some(),
            snapshots: self.written,
            snapshots_failed: self.failed,
            snapshot_sequence: self.last_sequence,
            snapshot_time: self.last_time,
            ..DurableReport::default()
        }
    }
}
