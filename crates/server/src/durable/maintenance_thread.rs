//! The thread of a core for work that may take long: it writes snapshots, removes files that are not needed any more,
//! and in `write` mode syncs the log in the background.

use super::NOT_NOTED;
use super::log_keeper::LogKeeper;
use super::pace::SnapshotPace;
use crate::mail::bell::CoreWaker;
use crate::mail::report::KeptLog;
use scurry_disk::{Directory, DiskFile};
use scurry_engine::{
    Disk, LogReach, SnapshotWriter, is_disk_full, remove_unclaimed_spares, segment_name,
    sync_behind,
};
use scurry_group::Clock;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

/// Tasks for the maintenance thread. Few are under way: the core waits for pieces to be written.
pub(super) enum MaintenanceTask {
    Begin {
        begun: u64,
        /// Expected length of the snapshot, bytes.
        about: u64,
    },
    Piece {
        bytes: Vec<u8>,
        /// Whether the next piece is to be written without a pause.
        hurries: bool,
    },
    /// All pieces are given: make them durable.
    Finish,
    /// The log is durable as far as the snapshot goes: make the snapshot valid.
    Publish,
    Abandon,
    SyncBehind {
        from: u64,
        to: u64,
        /// The first sequence of the segment that is being written, 0 where none is.
        open: u64,
    },
    /// Look how much of the log is kept. It is durable up to here.
    Survey {
        durable: u64,
    },
    /// The run ends: all of the log is synced, up to here.
    End {
        to: u64,
    },
}

/// Reports of the maintenance thread.
pub(super) enum MaintenanceReport {
    Synced { to: u64 },
    NotSynced(io::Error),
    Snapshot(SnapshotReport),
    Kept(KeptLog),
    Ended,
}

/// Reports about a snapshot.
pub(super) enum SnapshotReport {
    Written(Vec<u8>),
    Finished,
    /// The snapshot is valid; the log up to `needless` is not needed any more.
    Published {
        bytes: u64,
        needless: u64,
    },
    Failed(io::Error),
}

/// Returns the error of a log whose open segment has been removed from the directory.
fn removed(open: u64) -> io::Error {
    let segment = segment_name(open);
    io::Error::other(format!(
        "{segment} was removed while this server runs, and a start would not find it"
    ))
}

/// The core's handle of the maintenance thread.
pub(super) struct MaintenanceThread {
    tasks: Sender<MaintenanceTask>,
    news: Receiver<MaintenanceReport>,
    stash: Option<MaintenanceReport>,
}

impl MaintenanceThread {
    pub(super) fn start(
        core: u32,
        mut state: MaintenanceState,
        bell: Arc<CoreWaker>,
    ) -> io::Result<MaintenanceThread> {
        let (tasks, work) = channel();
        let (tell, news) = channel();
        thread::Builder::new().name(format!("keeper-{core}")).spawn(move || {
            while let Ok(task) = work.recv() {
                if let Some(news) = state.work(task) {
                    if tell.send(news).is_err() {
                        return;
                    }
                    bell.ring();
                }
            }
        })?;
        Ok(MaintenanceThread { tasks, news, stash: None })
    }

    pub(super) fn give(&mut self, task: MaintenanceTask) {
        if self.tasks.send(task).is_err() {
            tracing::error!("the keeper's thread has ended");
        }
    }

    pub(super) fn news(&mut self) -> Option<MaintenanceReport> {
        self.stash.take().or_else(|| self.news.try_recv().ok())
    }

    pub(super) fn has_news(&mut self) -> bool {
        self.stash = self.news();
        self.stash.is_some()
    }

    /// Waits for a report; false when none will arrive.
    pub(super) fn wait(&mut self) -> bool {
        if self.stash.is_none() {
            self.stash = self.news.recv().ok();
        }
        self.stash.is_some()
    }
}

/// State of the maintenance thread.
pub(super) struct MaintenanceState {
    path: PathBuf,
    directory: Directory,
    reach: Option<LogReach<DiskFile>>,
    keeper: LogKeeper,
    clock: Clock,
    writer: Option<(SnapshotWriter<Directory>, SnapshotPace)>,
}

impl MaintenanceState {
    /// Creates the state.
    pub(super) fn new(
        directory: Directory,
        reach: Option<LogReach<DiskFile>>,
        keeper: LogKeeper,
        clock: Clock,
    ) -> MaintenanceState {
        MaintenanceState {
            path: directory.path().to_owned(),
            directory,
            reach,
            keeper,
            clock,
            writer: None,
        }
    }

    fn work(&mut self, task: MaintenanceTask) -> Option<MaintenanceReport> {
        let snapshot = |outcome: io::Result<SnapshotReport>| {
            Some(MaintenanceReport::Snapshot(outcome.unwrap_or_else(SnapshotReport::Failed)))
        };
        match task {
            MaintenanceTask::SyncBehind { from, to, open } => {
                Some(match sync_behind(&mut self.directory, from) {
                    // The core writes this segment without syncing it, so only this sync notices that the file is gone.
                    Ok(newest) if newest < open => MaintenanceReport::NotSynced(removed(open)),
                    Ok(newest) => {
                        // Once for each segment, as in the mode where each batch is synced.
                        if newest <= to
                            && self.reach.as_ref().is_some_and(|r| r.sequence() < newest)
                        {
                            self.note_reach(to);
                        }
                        MaintenanceReport::Synced { to }
                    }
                    Err(error) => MaintenanceReport::NotSynced(error),
                })
            }
            MaintenanceTask::End { to } => Some(match sync_behind(&mut self.directory, to) {
                // The reach is raised only after the sync: it promises that the log up to there is on the device.
                Ok(_) => {
                    self.note_reach(to);
                    MaintenanceReport::Ended
                }
                Err(error) => MaintenanceReport::NotSynced(error),
            }),
            MaintenanceTask::Begin { begun, about } => match self.begin(begun, about) {
                Ok(()) => None,
                Err(error) => snapshot(Err(error)),
            },
            MaintenanceTask::Piece { bytes, hurries } => {
                // After a failure there is no writer, and the core has been told.
                let mut outcome = self.writer.as_mut()?.0.write(&bytes);
                if outcome.as_ref().is_err_and(is_disk_full) && self.gives_up_spares() {
                    outcome = self.writer.as_mut()?.0.write(&bytes);
                }
                let (writer, pace) = self.writer.as_mut()?;
                if outcome.is_ok() && pace.step(bytes.len()) {
                    outcome = writer.sync();
                }
                if !hurries {
                    let rest = pace.rest(writer.len(), self.clock.monotonic_ns());
                    thread::sleep(rest); // tidy: allow (a pace is a matter of time)
                }
                self.keep_or_end(outcome, SnapshotReport::Written(bytes))
            }
            MaintenanceTask::Finish => {
                let outcome = self.writer.as_mut()?.0.sync();
                self.keep_or_end(outcome, SnapshotReport::Finished)
            }
            MaintenanceTask::Publish => {
                let (writer, _) = self.writer.take()?;
                // Published before the log is shortened: a crash in between leaves too much log, never too little.
                let bytes = writer.len();
                let outcome = writer.publish().and_then(|needless| {
                    let now = self.clock.read().time;
                    self.keeper.forget(&mut self.directory, needless, now)?;
                    Ok(SnapshotReport::Published { bytes, needless })
                });
                snapshot(outcome)
            }
            MaintenanceTask::Survey { durable } => {
                let now = self.clock.read().time;
                match self.keeper.survey(&mut self.directory, durable, now) {
                    Ok(kept) => Some(MaintenanceReport::Kept(kept)),
                    Err(error) => {
                        tracing::warn!("how much of the log is kept cannot be seen: {error}");
                        None
                    }
                }
            }
            MaintenanceTask::Abandon => {
                if let Err(error) = self.writer.take()?.0.abandon() {
                    tracing::warn!("an unfinished snapshot was not removed: {error}");
                }
                None
            }
        }
    }

    /// Notes that the log up to here is on the device.
    fn note_reach(&mut self, to: u64) {
        if let Some(reach) = &mut self.reach
            && let Err(error) = reach.raise(to)
        {
            tracing::warn!("{NOT_NOTED}: {error}");
        }
    }

    fn begin(&mut self, begun: u64, about: u64) -> io::Result<()> {
        // Files that an earlier run has left unfinished.
        for name in self.directory.list()? {
            if name.ends_with(".new") {
                self.directory.remove(&name)?;
            }
        }
        let directory = Directory::open(&self.path)?;
        let pace = SnapshotPace::new(self.clock.monotonic_ns(), about);
        self.writer = Some((SnapshotWriter::new(directory, begun)?, pace));
        Ok(())
    }

    /// Removes the log's spare segments to make room for a snapshot, which will free other segments.
    fn gives_up_spares(&mut self) -> bool {
        match remove_unclaimed_spares(&mut self.directory) {
            Ok(removed) => removed > 0,
            Err(error) => {
                tracing::warn!("the log's spares were not removed: {error}");
                false
            }
        }
    }

    fn keep_or_end(
        &mut self,
        outcome: io::Result<()>,
        news: SnapshotReport,
    ) -> Option<MaintenanceReport> {
        Some(MaintenanceReport::Snapshot(match outcome {
            Ok(()) => news,
            Err(error) => {
                if let Some(Err(error)) = self.writer.take().map(|(writer, _)| writer.abandon()) {
                    tracing::warn!("an unfinished snapshot was not removed: {error}");
                }
                SnapshotReport::Failed(error)
            }
        }))
    }
}
