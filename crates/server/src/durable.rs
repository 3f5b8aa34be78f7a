//! One core's side of durability: where its batches go, what waits for them, and the snapshots
//! that are written beside.

mod clerk;
mod divide;
pub(crate) mod events;
mod finish;
mod held;
mod keeper;
mod pace;
mod snapshots;
mod start;
mod start_grouped;
mod trouble;
mod writing;

pub(crate) use held::{Fate, Held};
pub(crate) use start::{CoreStart, Opened, Plan, Retention, open};
pub use start::{RecoveryProgress, RecoveryReport};
pub(crate) use start_grouped::{GroupPlan, open_grouped};
pub(crate) use trouble::{LOG_FAILED, Trouble};

use crate::clock::Clock;
use crate::durable::events::Events;
use crate::mail::mesh::Bell;
use crate::mail::report::DurableReport;
use crate::measures::histogram::Histogram;
use clerk::Clerk;
use keeper::{Hand, Keeper, Task};
use scurry_codec::LogFormat;
use scurry_disk::Directory;
use scurry_engine::{Commits, Durability, LogWriter, Shard};
use scurry_group::{CoreEnd, Grouped};
use scurry_ledger::Time;
use snapshots::Snapshots;
use std::io;
use std::sync::Arc;
use trouble::Shortage;

/// A batch that found no room is tried again after this, ms.
const FULL_RETRY_MS: i64 = 200;
/// The log says how far it is synced when nothing was written for this long, ms.
const IDLE_MS: i64 = 500;
/// A mark is not longer, bytes.
const MARK_LEN_MAX: u64 = 256;
/// In `write` mode the log is synced behind the clients so often, ms.
const SYNC_BEHIND_MS: i64 = 1_000;

/// Beginning of the warning about a failed note. Until the next note a file that goes missing may not
/// be missed.
const NOT_NOTED: &str = "how far the log has come was not noted beside it";

/// Where batches go.
enum Way {
    /// There is no log.
    None,
    /// Written by the core itself: the page cache takes them at once.
    Here(Box<LogWriter<Directory>>),
    /// Written and synced by a thread.
    There(Clerk),
    /// A group keeps it on several machines.
    Group(Box<Grouped>),
}

/// The first sequence of the segment that the core itself writes to, 0 where it writes none.
fn open_segment(way: &Way) -> u64 {
    match way {
        Way::Here(writer) => writer.first(),
        _ => 0,
    }
}

/// The log of one core, its snapshots, and all that waits for them.
pub(crate) struct Durable {
    commits: Commits,
    way: Way,
    keeper: Option<Keeper>,
    snapshots: Snapshots,
    /// Readers of committed changes; none without a log.
    events: Option<Events>,
    /// Replies and mail that show sequences which are not durable yet.
    held: held::Queue,
    trouble: Option<Trouble>,
    /// The log has failed, and all that shows what it has not taken is gone.
    is_given_up: bool,
    /// A batch that found no room is tried again then, ms of uptime.
    retry_ms: i64,
    /// Why it found none.
    full: Option<String>,
    /// The next segment could not be set aside.
    shortage: Shortage,
    /// When something was written last, ms of uptime.
    written_ms: i64,
    /// When the log was last synced behind the clients, ms of uptime.
    behind_ms: i64,
    syncing_behind: bool,
    /// How far the log has come cannot be noted beside it.
    is_unsaid: bool,
    /// True once the reach was noted at the end of the run.
    has_ended: bool,
    /// The clock by which batches are measured; none without a log.
    clock: Option<Clock>,
    /// When the batch that is under way was given to the log.
    given_ns: u64,
    /// From there until it was as durable as it had to be.
    writes: Histogram,
}

impl Durable {
    /// A core without a log.
    pub(crate) fn none() -> Durable {
        Durable::with(Commits::new(Durability::None, 0), Way::None, None, Snapshots::none())
    }

    fn with(commits: Commits, way: Way, keeper: Option<Keeper>, snapshots: Snapshots) -> Durable {
        Durable {
            commits,
            way,
            keeper,
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
            is_unsaid: false,
            has_ended: false,
            clock: None,
            given_ns: 0,
            writes: Histogram::default(),
        }
    }

    /// Starts the threads that carry on where recovery has stopped; they ring this bell.
    pub(crate) fn start(
        start: CoreStart,
        bell: &Arc<Bell>,
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
        let [for_log, for_keeper, for_events] = directories;
        let [log_reach, keeper_reach] = reaches;
        let mut writer = LogWriter::new(for_log, log, scurry_engine::SEGMENT_LEN_MAX);
        if let Some(reach) = log_reach {
            writer = writer.with_reach(reach);
        }
        let mut shortage = Shortage::default();
        shortage.note(&writer.set_ahead(), 0);
        let mut commits = Commits::new(durability, next - 1);
        commits.note_room(writer.room());
        let way = match durability {
            Durability::None => Way::None,
            Durability::Write => Way::Here(Box::new(writer)),
            Durability::Fsync => Way::There(Clerk::start(log.core, writer, bell.clone())?),
        };
        let hand = Hand::new(for_keeper, keeper_reach, Some(retention.log_bytes), clock);
        let keeper = Keeper::start(log.core, hand, bell.clone())?;
        let snapshots = Snapshots::new(log, retention.snapshot_log_bytes, logged_bytes);
        let events = Events::start((log, start.generation), for_events, bell.clone())?;
        let durable = Durable::with(commits, way, Some(keeper), snapshots);
        Ok((shard, Durable { events: Some(events), shortage, clock: Some(clock), ..durable }))
    }

    /// The same for a core whose log a group keeps.
    fn start_grouped(
        start: CoreStart,
        end: CoreEnd,
        bell: &Arc<Bell>,
        clock: Clock,
    ) -> io::Result<(Shard, Durable)> {
        let CoreStart {
            mut shard, log, next, logged_bytes, durability, directories, reaches, ..
        } = start;
        shard.keep_journal_in(log, LogFormat::Replicated, next);
        let [_, for_keeper, for_events] = directories;
        let [_, keeper_reach] = reaches;
        // The group decides how much of the log is kept.
        let hand = Hand::new(for_keeper, keeper_reach, None, clock);
        let keeper = Keeper::start(log.core, hand, bell.clone())?;
        let snapshots = Snapshots::new(log, start.retention.snapshot_log_bytes, logged_bytes);
        let events = Events::start((log, start.generation), for_events, bell.clone())?;
        let commits = Commits::new(durability, next - 1);
        let way = Way::Group(Box::new(Grouped::new(end, log)));
        let durable = Durable::with(commits, way, Some(keeper), snapshots);
        Ok((shard, Durable { events: Some(events), clock: Some(clock), ..durable }))
    }

    /// How long batches took.
    pub(crate) fn writes(&self) -> &Histogram {
        &self.writes
    }

    /// The mode.
    pub(crate) fn durability(&self) -> Durability {
        self.commits.durability()
    }

    /// The position up to which replies may leave: a sequence, in a group a turn. Once a failed log was given
    /// up nothing shows the shard any more, and no reply needs to wait.
    #[inline]
    pub(crate) fn released(&self) -> u64 {
        match &self.way {
            Way::Group(group) => group.confirmed(),
            _ if self.is_given_up => u64::MAX,
            _ => self.commits.durable(),
        }
    }

    /// The position that has to be released before what shows the shard as it is now may leave; none when it
    /// is.
    #[inline]
    pub(crate) fn pending(&self, shard: &Shard) -> Option<u64> {
        if let Way::Group(group) = &self.way {
            return group.pending();
        }
        let sequence = shard.sequence();
        (self.released() < sequence).then_some(sequence)
    }

    /// The sequence up to which changes are durable.
    pub(crate) fn durable(&self) -> u64 {
        if self.is_given_up { u64::MAX } else { self.commits.durable() }
    }

    /// False where another node executes commands, or none.
    #[inline]
    pub(crate) fn executes(&self) -> bool {
        match &self.way {
            Way::Group(group) => group.leads(),
            _ => true,
        }
    }

    /// True where a group keeps the log.
    #[inline]
    pub(crate) fn is_grouped(&self) -> bool {
        matches!(self.way, Way::Group(_))
    }

    /// A command has shown the shard, or changed it.
    #[inline]
    pub(crate) fn note_shown(&mut self) {
        if let Way::Group(group) = &mut self.way {
            group.note_shown();
        }
    }

    /// A time that no clock may show less than, once.
    pub(crate) fn take_floor(&mut self) -> Option<Time> {
        match &mut self.way {
            Way::Group(group) => group.take_floor(),
            _ => None,
        }
    }

    /// Writes what was committed, or sees to it that it is; learns what has become durable.
    pub(crate) fn commit(&mut self, shard: &mut Shard, now: Time, uptime_ms: i64) {
        if matches!(self.way, Way::None) {
            return;
        }
        self.learn(uptime_ms);
        if matches!(self.way, Way::Group(_)) {
            return self.commit_in_group(shard, now, uptime_ms);
        }
        while self.may_write(uptime_ms)
            && let Some(batch) = self.commits.batch(shard, now)
        {
            self.written_ms = uptime_ms;
            self.send(batch, uptime_ms);
        }
        self.judge(shard);
        if let Some(events) = &mut self.events {
            events.look(self.commits.durable(), uptime_ms);
        }
    }

    fn commit_in_group(&mut self, shard: &mut Shard, now: Time, uptime_ms: i64) {
        let Way::Group(group) = &mut self.way else { return };
        group.end_turn(shard, now);
        if let Some(snapshot) = self.snapshots.take_news() {
            group.tell_snapshot(snapshot.shown, snapshot.needless);
        }
        if group.obey(shard, now)
            && let Some(keeper) = &mut self.keeper
        {
            self.snapshots.abandon(keeper);
        }
        self.commits.note_committed(group.committed(), group.bytes());
        if let Some(events) = &mut self.events {
            events.look(self.commits.durable(), uptime_ms);
        }
    }

    /// Work between turns: marks, syncs behind, snapshots.
    pub(crate) fn look_after(&mut self, shard: &mut Shard, now: Time, uptime_ms: i64) {
        if matches!(self.way, Way::None) {
            return;
        }
        self.learn(uptime_ms);
        if let Way::Group(group) = &self.way {
            if group.shows_the_log()
                && let Some(keeper) = &mut self.keeper
            {
                self.snapshots.step(shard, keeper, &self.commits, now, false);
            }
            return;
        }
        if self.shortage.begin_try(uptime_ms) {
            self.set_ahead(uptime_ms);
        }
        self.judge(shard);
        if uptime_ms - self.written_ms > IDLE_MS
            && self.may_write(uptime_ms)
            && self.commits.room_left(shard) > MARK_LEN_MAX
            && let Some(batch) = self.commits.mark(shard, now)
        {
            self.send(batch, uptime_ms);
        }
        let Some(keeper) = &mut self.keeper else { return };
        if self.commits.durability() == Durability::Write
            && !self.syncing_behind
            && self.commits.synced() < self.commits.written()
            && (uptime_ms - self.behind_ms > SYNC_BEHIND_MS || self.snapshots.waits_for_sync())
        {
            self.syncing_behind = true;
            self.behind_ms = uptime_ms;
            let (from, to) = (self.commits.synced(), self.commits.written());
            keeper.give(Task::SyncBehind { from, to, open: open_segment(&self.way) });
        }
        // Also without room: a snapshot makes log needless.
        if !matches!(self.trouble, Some(Trouble::Failed(_))) {
            let is_short = !self.commits.is_ahead();
            self.snapshots.step(shard, keeper, &self.commits, now, is_short);
        }
    }

    /// True when the core has something to do soon that no event announces.
    pub(crate) fn is_busy(&self) -> bool {
        !self.trouble_is_final() && self.snapshots.can_step(self.keeper.as_ref())
    }

    /// Milliseconds until something is to be done, at most.
    pub(crate) fn patience_ms(&self, uptime_ms: i64) -> Option<i64> {
        let retry = self.commits.is_full().then_some(FULL_RETRY_MS);
        let shortage = self.shortage.patience_ms(uptime_ms);
        let events = self.events.as_ref().and_then(|events| events.patience_ms(uptime_ms));
        [retry, shortage, events].into_iter().flatten().min()
    }

    /// Begins a snapshot; false when one is being written, or there is no log.
    pub(crate) fn begin_snapshot(&mut self) -> Result<(), &'static str> {
        if matches!(self.way, Way::None) {
            return Err("there is no log to take a snapshot of: start with --durability write or \
                        fsync");
        }
        if self.trouble_is_final() {
            return Err("the log cannot be written: see INFO persistence and the server's log");
        }
        self.snapshots.ask()
    }

    /// Keeps what shows the shard as it is now until it is durable up to this sequence.
    pub(crate) fn hold(&mut self, sequence: u64, held: Held) {
        self.held.push(sequence, held);
    }

    /// Reports whether the reply to a call of a door waits for the log.
    pub(crate) fn holds_calls(&self) -> bool {
        self.held.has_calls()
    }

    /// Memory of the mail that waits for the log, bytes.
    pub(crate) fn held_bytes(&self) -> u64 {
        self.held.memory_bytes()
    }

    /// The next thing that need not wait any more.
    pub(crate) fn release(&mut self) -> Option<(Held, Fate)> {
        self.held.pop(self.released(), self.trouble_is_final() || self.resigns())
    }

    /// True when a thread has something to tell.
    pub(crate) fn has_news(&mut self) -> bool {
        let clerk = match &mut self.way {
            Way::There(clerk) => clerk.has_news(),
            Way::Group(group) => group.has_orders(),
            Way::None | Way::Here(_) => false,
        };
        clerk
            || self.keeper.as_mut().is_some_and(Keeper::has_news)
            || self.events.as_mut().is_some_and(Events::has_news)
    }

    /// Clients that wait for events.
    pub(crate) fn readers(&self) -> usize {
        self.events.as_ref().map_or(0, Events::readers)
    }

    /// The durability part of INFO.
    pub(crate) fn report(&self, shard: &Shard) -> DurableReport {
        let (bytes, batches) = self.commits.given();
        DurableReport {
            sequence: shard.sequence(),
            durable: self.commits.durable().min(shard.sequence()),
            synced: self.commits.synced(),
            bytes,
            batches,
            full: matches!(self.trouble, Some(Trouble::Full(_))),
            failed: self.commits.has_failed(),
            ..self.snapshots.report()
        }
    }
}
