//! One core's side of durability: where its batches go, what waits for them, and the snapshots that are written beside
//! the log.

mod divide;
pub(crate) mod events;
mod finish;
mod held;
mod log_keeper;
mod log_thread;
mod maintenance_thread;
mod pace;
mod snapshots;
mod start;
mod start_grouped;
mod trouble;
mod writing;

pub(crate) use held::{HeldOutput, ReleaseOutcome};
pub(crate) use start::{CoreStart, Opened, Plan, Retention, open};
pub use start::{RecoveryProgress, RecoveryReport};
pub(crate) use start_grouped::{GroupPlan, open_grouped};
pub(crate) use trouble::{LOG_FAILED, RefusalCause};

use crate::durable::events::Events;
use crate::mail::bell::CoreWaker;
use crate::mail::report::{DurableReport, KeptLog};
use crate::measures::histogram::Histogram;
use log_keeper::LogKeeper;
use log_thread::LogThread;
use maintenance_thread::{MaintenanceState, MaintenanceTask, MaintenanceThread};
use scurry_codec::LogFormat;
use scurry_consensus::shard::{CoreEnd, GroupCore, Turn};
use scurry_disk::Directory;
use scurry_engine::{Commits, Durability, LogWriter, Shard};
use scurry_group::Clock;
use scurry_ledger::Time;
use snapshots::Snapshots;
use std::io;
use std::sync::Arc;
use trouble::Shortage;

/// Pause before a batch that found no room is tried again, ms.
const FULL_RETRY_MS: i64 = 200;
/// When nothing was written for this long, a mark in the log records how far it is synced, ms.
const IDLE_MS: i64 = 500;
/// Maximum length of a mark, bytes.
const MARK_LEN_MAX: u64 = 256;
/// Interval of background syncs in `write` mode, ms.
const SYNC_BEHIND_MS: i64 = 1_000;

/// Interval between two looks at how much of the log is kept, ms.
const SURVEY_MS: i64 = 60_000;

/// Beginning of the warning about a failed note. Until the next successful note, the loss of a file may go unnoticed.
const NOT_NOTED: &str = "how far the log has come was not noted beside it";

/// Where batches go.
enum BatchSink {
    /// There is no log.
    None,
    /// The core itself writes: the page cache takes batches at once.
    Inline(Box<LogWriter<Directory>>),
    /// A thread writes and syncs.
    Thread(LogThread),
    /// A group keeps the log on several machines.
    Group(Box<GroupCore>),
}

/// Returns the first sequence of the segment that the core itself writes to, 0 where it writes none.
fn open_segment(sink: &BatchSink) -> u64 {
    match sink {
        BatchSink::Inline(writer) => writer.first(),
        _ => 0,
    }
}

/// The log of one core, its snapshots, and all that waits for them.
pub(crate) struct Durable {
    commits: Commits,
    sink: BatchSink,
    maintenance: Option<MaintenanceThread>,
    snapshots: Snapshots,
    /// Readers of committed changes; None without a log.
    events: Option<Events>,
    /// Replies and mail that show sequences which are not durable yet.
    held: held::Queue,
    trouble: Option<RefusalCause>,
    /// The log has failed, and everything that showed unwritten changes is gone.
    is_given_up: bool,
    /// When a batch that found no room is tried again, ms of uptime.
    retry_ms: i64,
    /// Why that batch found no room.
    full: Option<String>,
    /// Failure to prepare the next segment.
    shortage: Shortage,
    /// When something was last written, ms of uptime.
    written_ms: i64,
    /// When the log was last synced in the background, ms of uptime.
    behind_ms: i64,
    syncing_behind: bool,
    /// The reach of the log cannot be noted beside it.
    is_reach_error_logged: bool,
    /// True once the reach was noted at the end of the run.
    has_ended: bool,
    /// The clock that measures batches; None without a log.
    clock: Option<Clock>,
    /// When the batch under way was given to the log, ns.
    given_ns: u64,
    /// Time from then until the batch was as durable as required.
    writes: Histogram,
    /// How much of the log is kept, as it was last seen, and when that is looked at next, ms of uptime.
    kept: KeptLog,
    survey_ms: i64,
}

impl Durable {
    /// Creates the state of a core without a log.
    pub(crate) fn none() -> Durable {
        Durable::with(Commits::new(Durability::None, 0), BatchSink::None, None, Snapshots::none())
    }

    fn with(
        commits: Commits,
        sink: BatchSink,
        maintenance: Option<MaintenanceThread>,
        snapshots: Snapshots,
    ) -> Durable {
        Durable {
            commits,
            sink,
            maintenance,
            snapshots,
            events: None,
            held: held::Queue::default(),
            trouble: None,
            is_given_up: false,
            retry_ms: 0,
            full: None,
            shortage: Shortage::default(),
            written_ms: 0,
            behind_ms: 0,
            syncing_behind: false,
            is_reach_error_logged: false,
            has_ended: false,
            clock: None,
            given_ns: 0,
            writes: Histogram::default(),
            kept: KeptLog::default(),
            survey_ms: 0,
        }
    }

    /// Starts the threads, which continue where recovery has stopped and ring this bell.
    pub(crate) fn start(
        start: CoreStart,
        bell: &Arc<CoreWaker>,
        clock: Clock,
        group: Option<CoreEnd>,
    ) -> io::Result<(Shard, Durable)> {
        if let Some(end) = group {
            return Durable::start_grouped(start, end, bell, clock);
        }
        let CoreStart {
            mut shard,
            log,
            next,
            logged_bytes,
            durability,
            directories,
            reaches,
            retention,
            ..
        } = start;
        shard.keep_journal(log, next);
        let [for_log, for_maintenance, for_events] = directories;
        let [log_reach, maintenance_reach] = reaches;
        let mut writer = LogWriter::new(for_log, log, scurry_engine::SEGMENT_LEN_MAX);
        if let Some(reach) = log_reach {
            writer = writer.with_reach(reach);
        }
        let mut shortage = Shortage::default();
        shortage.note(&writer.set_ahead(), 0);
        let mut commits = Commits::new(durability, next - 1);
        commits.note_room(writer.room());
        let sink = match durability {
            Durability::None => BatchSink::None,
            Durability::Write => BatchSink::Inline(Box::new(writer)),
            Durability::Fsync => {
                BatchSink::Thread(LogThread::start(log.core, writer, bell.clone())?)
            }
        };
        let keeper = LogKeeper::new(log, retention, true);
        let state = MaintenanceState::new(for_maintenance, maintenance_reach, keeper, clock);
        let maintenance = MaintenanceThread::start(log.core, state, bell.clone())?;
        let snapshots = Snapshots::new(log, retention.snapshot_log_bytes, logged_bytes);
        let events = Events::start((log, start.store, start.generation), for_events, bell.clone())?;
        let durable = Durable::with(commits, sink, Some(maintenance), snapshots);
        Ok((shard, Durable { events: Some(events), shortage, clock: Some(clock), ..durable }))
    }

    /// Does the same for a core of a group, which keeps the log.
    fn start_grouped(
        start: CoreStart,
        end: CoreEnd,
        bell: &Arc<CoreWaker>,
        clock: Clock,
    ) -> io::Result<(Shard, Durable)> {
        let CoreStart {
            mut shard, log, next, logged_bytes, durability, directories, reaches, ..
        } = start;
        shard.keep_journal_in(log, LogFormat::Replicated, next);
        let [_, for_maintenance, for_events] = directories;
        let [_, maintenance_reach] = reaches;
        // The group decides how much of the log is kept.
        let keeper = LogKeeper::new(log, start.retention, false);
        let state = MaintenanceState::new(for_maintenance, maintenance_reach, keeper, clock);
        let maintenance = MaintenanceThread::start(log.core, state, bell.clone())?;
        let snapshots = Snapshots::new(log, start.retention.snapshot_log_bytes, logged_bytes);
        let events = Events::start((log, start.store, start.generation), for_events, bell.clone())?;
        let commits = Commits::new(durability, next - 1);
        let sink = BatchSink::Group(Box::new(GroupCore::new(end, log)));
        let durable = Durable::with(commits, sink, Some(maintenance), snapshots);
        Ok((shard, Durable { events: Some(events), clock: Some(clock), ..durable }))
    }

    /// Returns how long batches took.
    pub(crate) fn writes(&self) -> &Histogram {
        &self.writes
    }

    /// Returns the durability mode.
    pub(crate) fn durability(&self) -> Durability {
        self.commits.durability()
    }

    /// Returns the position up to which replies may be sent: a sequence, or in a group a turn. Once a failed log was
    /// given up, nothing shows the shard any more, and no reply needs to wait.
    #[inline]
    pub(crate) fn released(&self) -> u64 {
        match &self.sink {
            BatchSink::Group(group) => group.confirmed().get(),
            _ if self.is_given_up => u64::MAX,
            _ => self.commits.durable(),
        }
    }

    /// Returns the position that must be released before a reply that shows the shard's present state may be sent; None
    /// when it is released already.
    #[inline]
    pub(crate) fn pending(&self, shard: &Shard) -> Option<u64> {
        if let BatchSink::Group(group) = &self.sink {
            return group.pending().map(Turn::get);
        }
        let sequence = shard.sequence();
        (self.released() < sequence).then_some(sequence)
    }

    /// Returns the sequence up to which changes are durable.
    pub(crate) fn durable(&self) -> u64 {
        if self.is_given_up { u64::MAX } else { self.commits.durable() }
    }

    /// Reports whether this node executes commands. False where another node leads, or none.
    #[inline]
    pub(crate) fn executes(&self) -> bool {
        match &self.sink {
            BatchSink::Group(group) => group.leads(),
            _ => true,
        }
    }

    /// Reports whether another node executes commands, and this one shows a committed state.
    pub(crate) fn follows(&self) -> bool {
        match &self.sink {
            BatchSink::Group(group) => !group.leads() && group.shows_the_log(),
            _ => false,
        }
    }

    /// Reports whether a group keeps the log.
    #[inline]
    pub(crate) fn is_grouped(&self) -> bool {
        matches!(self.sink, BatchSink::Group(_))
    }

    /// Notes that a command has shown or changed the shard.
    #[inline]
    pub(crate) fn note_shown(&mut self) {
        if let BatchSink::Group(group) = &mut self.sink {
            group.note_shown();
        }
    }

    /// Returns, once, a lower bound for the clocks.
    pub(crate) fn take_floor(&mut self) -> Option<Time> {
        match &mut self.sink {
            BatchSink::Group(group) => group.take_floor(),
            _ => None,
        }
    }

    /// Writes new commits, or hands them on for writing, and updates the durable position.
    pub(crate) fn commit(&mut self, shard: &mut Shard, now: Time, uptime_ms: i64) {
        if matches!(self.sink, BatchSink::None) {
            return;
        }
        self.handle_reports(uptime_ms);
        if matches!(self.sink, BatchSink::Group(_)) {
            return self.commit_in_group(shard, now, uptime_ms);
        }
        while self.may_write(uptime_ms)
            && let Some(batch) = self.commits.batch(shard, now)
        {
            self.written_ms = uptime_ms;
            self.send(batch, uptime_ms);
        }
        self.update_trouble(shard);
        if let Some(events) = &mut self.events {
            events.look(self.commits.durable(), uptime_ms);
        }
    }

    fn commit_in_group(&mut self, shard: &mut Shard, now: Time, uptime_ms: i64) {
        let BatchSink::Group(group) = &mut self.sink else { return };
        group.end_turn(shard, now);
        if let Some(snapshot) = self.snapshots.take_news() {
            group.tell_snapshot(snapshot.shown, snapshot.needless);
        }
        if group.carry_out_orders(shard, now)
            && let Some(maintenance) = &mut self.maintenance
        {
            self.snapshots.abandon(maintenance);
        }
        self.commits.note_committed(group.committed(), group.bytes());
        if let Some(events) = &mut self.events {
            events.look(self.commits.durable(), uptime_ms);
        }
    }

    /// Does the work between turns: marks, background syncs, snapshots.
    pub(crate) fn look_after(&mut self, shard: &mut Shard, now: Time, uptime_ms: i64) {
        if matches!(self.sink, BatchSink::None) {
            return;
        }
        self.handle_reports(uptime_ms);
        self.survey(uptime_ms);
        // In a group the host marks and syncs the log; only snapshots are made here.
        if let BatchSink::Group(group) = &self.sink {
            if group.shows_the_log()
                && let Some(maintenance) = &mut self.maintenance
            {
                self.snapshots.step(shard, maintenance, &mut self.commits, now, false);
            }
            return;
        }
        if self.shortage.begin_try(uptime_ms) {
            self.set_ahead(uptime_ms);
        }
        self.update_trouble(shard);
        // After a pause in the writes, a mark records that everything before it is synced.
        if uptime_ms - self.written_ms > IDLE_MS
            && self.may_write(uptime_ms)
            && self.commits.room_left(shard) > MARK_LEN_MAX
            && let Some(batch) = self.commits.mark(shard, now)
        {
            self.send(batch, uptime_ms);
        }
        let Some(maintenance) = &mut self.maintenance else { return };
        // A finished snapshot waits for a sync, so it does not wait for the interval.
        if self.commits.durability() == Durability::Write
            && !self.syncing_behind
            && self.commits.synced() < self.commits.written()
            && (uptime_ms - self.behind_ms > SYNC_BEHIND_MS || self.snapshots.waits_for_sync())
        {
            self.syncing_behind = true;
            self.behind_ms = uptime_ms;
            let (from, to) = (self.commits.synced(), self.commits.written());
            maintenance.give(MaintenanceTask::SyncBehind {
                from,
                to,
                open: open_segment(&self.sink),
            });
        }
        // Also without room: a snapshot makes parts of the log removable.
        if !matches!(self.trouble, Some(RefusalCause::Failed(_))) {
            let is_short = !self.commits.is_ahead();
            self.snapshots.step(shard, maintenance, &mut self.commits, now, is_short);
        }
    }

    /// Asks, at times, how much of the log is kept.
    fn survey(&mut self, uptime_ms: i64) {
        let durable = self.commits.durable().min(self.commits.written());
        if let Some(maintenance) = &mut self.maintenance
            && uptime_ms >= self.survey_ms
        {
            self.survey_ms = uptime_ms + SURVEY_MS;
            maintenance.give(MaintenanceTask::Survey { durable });
        }
    }

    /// Reports whether the core has work that no event announces.
    pub(crate) fn is_busy(&self) -> bool {
        !self.trouble_is_final() && self.snapshots.can_step(self.maintenance.as_ref())
    }

    /// Returns the milliseconds until the next work is due, at most.
    pub(crate) fn ms_until_due(&self, uptime_ms: i64) -> Option<i64> {
        let retry = self.commits.is_full().then_some(FULL_RETRY_MS);
        let shortage = self.shortage.ms_until_due(uptime_ms);
        let events = self.events.as_ref().and_then(|events| events.ms_until_due(uptime_ms));
        [retry, shortage, events].into_iter().flatten().min()
    }

    /// Begins a snapshot. An error when one is being written already, or there is no log.
    pub(crate) fn begin_snapshot(&mut self) -> Result<(), &'static str> {
        if matches!(self.sink, BatchSink::None) {
            return Err("there is no log to take a snapshot of: start with --durability write or \
                        fsync");
        }
        if self.trouble_is_final() {
            return Err("the log cannot be written: see INFO persistence and the server's log");
        }
        self.snapshots.ask()
    }

    /// Holds something that shows the shard's present state until the log is durable up to this sequence.
    pub(crate) fn hold(&mut self, sequence: u64, held: HeldOutput) {
        self.held.push(sequence, held);
    }

    /// Reports whether the reply to a call of a door waits for the log.
    pub(crate) fn holds_calls(&self) -> bool {
        self.held.has_calls()
    }

    /// Returns the memory of the mail that waits for the log, bytes.
    pub(crate) fn held_bytes(&self) -> u64 {
        self.held.memory_bytes()
    }

    /// Removes and returns the next held item that need not wait any more.
    pub(crate) fn release(&mut self) -> Option<(HeldOutput, ReleaseOutcome)> {
        self.held.pop(self.released(), self.trouble_is_final() || self.resigns())
    }

    /// Reports whether a thread has a report.
    pub(crate) fn has_news(&mut self) -> bool {
        let log_thread = match &mut self.sink {
            BatchSink::Thread(log_thread) => log_thread.has_news(),
            BatchSink::Group(group) => group.has_orders(),
            BatchSink::None | BatchSink::Inline(_) => false,
        };
        log_thread
            || self.maintenance.as_mut().is_some_and(MaintenanceThread::has_news)
            || self.events.as_mut().is_some_and(Events::has_news)
    }

    /// Returns the number of clients that wait for events.
    pub(crate) fn readers(&self) -> usize {
        self.events.as_ref().map_or(0, Events::readers)
    }

    /// Returns the durability part of INFO.
    pub(crate) fn report(&self, shard: &Shard) -> DurableReport {
        let (bytes, batches) = self.commits.given();
        DurableReport {
            sequence: shard.sequence(),
            durable: self.commits.durable().min(shard.sequence()),
            synced: self.commits.synced(),
            bytes,
            batches,
            full: matches!(self.trouble, Some(RefusalCause::Full(_))),
            failed: self.commits.has_failed(),
            kept: self.kept,
            ..self.snapshots.report()
        }
    }
}
