//! One core's side of durability: where its batches go, what waits for them, and the snapshots
//! that are written beside.

mod clerk;
mod divide;
pub(crate) mod events;
mod finish;
mod held;
mod keeper;
mod shortage;
mod snapshots;
mod start;
mod trouble;

pub(crate) use held::{Fate, Held};
pub(crate) use start::{CoreStart, Opened, Plan, Retention, open};
pub use start::{RecoveryProgress, RecoveryReport};
pub(crate) use trouble::{LOG_FAILED, Trouble};

use crate::clock::Clock;
use crate::durable::events::Events;
use crate::mail::bundle::TRANSACTION_LEN_MAX;
use crate::mail::mesh::Bell;
use crate::mail::message::Ask;
use crate::mail::report::DurableReport;
use crate::measures::histogram::Histogram;
use crate::ticket::Sender;
use clerk::{Clerk, Said};
use keeper::{Hand, Keeper, News, Task};
use scurry_disk::Directory;
use scurry_engine::{Commits, Durability, LogWriter, Room, Shard};
use scurry_ledger::Time;
use shortage::{Shortage, describe};
use snapshots::Snapshots;
use std::io;
use std::sync::Arc;

/// Bytes of a frame before it is closed, and another begun in the same batch.
const FRAME_LEN: usize = 4 << 20;
/// Bytes that are given to the log without waiting for the end of the turn.
const BATCH_LEN: usize = 64 << 10;
/// Bytes that may wait for the log; above it nothing more is executed until some are written.
const WAITING_LEN_MAX: usize = 64 << 20;
/// Room that the log keeps for what is executed before anybody looks again: a frame that is as good
/// as long, then a request, or a transaction, and what the last one of its commands may become.
const ROOM_MIN: u64 = 24 << 20;
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
    ) -> io::Result<(Shard, Durable)> {
        let CoreStart { mut shard, log, next, durability, directories, reaches, retention, .. } =
            start;
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
        let hand = Hand::new(for_keeper, keeper_reach, retention.log_bytes);
        let keeper = Keeper::start(log.core, hand, bell.clone())?;
        let snapshots = Snapshots::new(log, retention.snapshot_log_bytes);
        let events = Events::start((log, start.generation), for_events, bell.clone())?;
        let durable = Durable::with(commits, way, Some(keeper), snapshots);
        Ok((shard, Durable { events: Some(events), shortage, clock: Some(clock), ..durable }))
    }

    /// How long batches took.
    pub(crate) fn writes(&self) -> &Histogram {
        &self.writes
    }

    /// The mode.
    pub(crate) fn durability(&self) -> Durability {
        self.commits.durability()
    }

    /// The sequence up to which replies may leave. Once a failed log was given up nothing shows the
    /// shard any more, and no reply needs to wait.
    #[inline]
    pub(crate) fn durable(&self) -> u64 {
        if self.is_given_up { u64::MAX } else { self.commits.durable() }
    }

    /// The log has failed, and every reply that shows what it has not taken was dealt with: those
    /// that are formed from now on are refusals, or show nothing of the shard.
    pub(crate) fn give_up(&mut self) {
        debug_assert!(self.trouble_is_final() && self.held.is_empty());
        self.is_given_up = true;
    }

    /// True from the failure of the log until it is given up.
    pub(crate) fn is_to_be_given_up(&self) -> bool {
        self.trouble_is_final() && !self.is_given_up
    }

    /// Why commands are refused, if they are.
    #[inline]
    pub(crate) fn trouble(&self) -> Option<&Trouble> {
        self.trouble.as_ref()
    }

    /// True when the open frame is long. Nothing more is executed then before somebody has looked
    /// at the commits: a short request may write a long record.
    #[inline]
    pub(crate) fn is_frame_long(&self, shard: &mut Shard) -> bool {
        shard.journal().is_some_and(|journal| journal.open_len() > FRAME_LEN)
    }

    /// True when a transaction, which stays in the open frame, has room there for another command of
    /// so many bytes. There is room for all its commands as long as their records are no longer than
    /// they are.
    pub(crate) fn has_transaction_room(&self, shard: &mut Shard, len: usize) -> bool {
        let most = FRAME_LEN + TRANSACTION_LEN_MAX;
        shard.journal().is_none_or(|journal| journal.open_len() + len <= most)
    }

    /// True when no more may be executed before something was written.
    pub(crate) fn is_congested(&self, shard: &mut Shard) -> bool {
        self.trouble.is_none()
            && (self.commits.room_left(shard) < ROOM_MIN && self.shortage.why().is_none()
                || shard.journal().is_some_and(|journal| journal.len() > WAITING_LEN_MAX))
    }

    /// True when as much waits as is worth a write of its own; less waits for the end of the
    /// turn, because each write costs system calls, and each sync a wait for the device.
    #[inline]
    pub(crate) fn is_batch_full(&self, shard: &mut Shard) -> bool {
        shard.journal().is_some_and(|journal| journal.len() >= BATCH_LEN)
    }

    /// Looks at what was committed: a frame that has become long is closed, and a log that has no
    /// room for more takes no more.
    #[inline]
    pub(crate) fn look_at(&mut self, shard: &mut Shard, now: Time) {
        let synced = self.commits.synced();
        if let Some(journal) = shard.journal()
            && journal.open_len() > FRAME_LEN
        {
            journal.seal(synced, now);
        }
        self.judge(shard);
    }

    /// Is there trouble, or no more?
    #[inline]
    fn judge(&mut self, shard: &mut Shard) {
        let is_calm = self.shortage.why().is_none() && self.full.is_none();
        let is_known = is_calm && self.trouble.is_none() || self.trouble_is_final();
        if !is_known {
            self.judge_room(shard);
        }
    }

    #[cold]
    fn judge_room(&mut self, shard: &mut Shard) {
        let lacks = self.commits.room_left(shard) < ROOM_MIN;
        let soft = self.shortage.why().filter(|_| lacks);
        match (self.full.as_deref().or(soft), &self.trouble) {
            (Some(why), None) => {
                tracing::error!("{why}. Writes are refused meanwhile");
                self.trouble = Some(Trouble::Full(why.to_owned()));
            }
            (None, Some(_)) => {
                tracing::info!("the log has room again");
                self.trouble = None;
            }
            _ => {}
        }
    }

    /// True when what is due may be committed by itself. Late does no harm, and what the log has
    /// no room for would.
    pub(crate) fn takes_commits(&self) -> bool {
        self.trouble.is_none()
    }

    /// Writes what was committed, or sees to it that it is; learns what has become durable.
    pub(crate) fn commit(&mut self, shard: &mut Shard, now: Time, uptime_ms: i64) {
        if matches!(self.way, Way::None) {
            return;
        }
        self.learn(uptime_ms);
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

    /// Work between turns: marks, syncs behind, snapshots.
    pub(crate) fn look_after(&mut self, shard: &mut Shard, now: Time, uptime_ms: i64) {
        if matches!(self.way, Way::None) {
            return;
        }
        self.learn(uptime_ms);
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
            keeper
                .give(Task::SyncBehind { from: self.commits.synced(), to: self.commits.written() });
        }
        // Also without room: a snapshot makes log needless.
        if !matches!(self.trouble, Some(Trouble::Failed(_))) {
            self.snapshots.step(shard, keeper, &self.commits, now);
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

    /// Somebody wants to read events; the reply comes with [`Durable::followed`]. Without a log
    /// nobody gets as far as here.
    pub(crate) fn follow(&mut self, ask: Box<Ask>, uptime_ms: i64) {
        if let Some(events) = &mut self.events {
            events.ask(ask, self.commits.durable(), uptime_ms);
        }
    }

    /// Forgets a reader of events whose connection is gone.
    pub(crate) fn unfollow(&mut self, sender: Sender) {
        if let Some(events) = &mut self.events {
            events.forget(sender);
        }
    }

    /// Events for one who has asked, as a reply.
    pub(crate) fn followed(&mut self) -> Option<(Sender, Vec<u8>)> {
        self.events.as_mut()?.reply()
    }

    /// The server stops: nobody waits for events any more.
    pub(crate) fn end_watches(&mut self) {
        if let Some(events) = &mut self.events {
            events.end_waits();
        }
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

    /// Memory of the mail that waits for the log, bytes.
    pub(crate) fn held_bytes(&self) -> u64 {
        self.held.memory_bytes()
    }

    /// The next thing that need not wait any more.
    pub(crate) fn release(&mut self) -> Option<(Held, Fate)> {
        self.held.pop(self.durable(), self.trouble_is_final())
    }

    /// True when nothing that waits will ever be durable.
    #[inline]
    pub(crate) fn trouble_is_final(&self) -> bool {
        matches!(self.trouble, Some(Trouble::Failed(_)))
    }

    /// True when a thread has something to tell.
    pub(crate) fn has_news(&mut self) -> bool {
        let clerk = match &mut self.way {
            Way::There(clerk) => clerk.has_news(),
            Way::None | Way::Here(_) => false,
        };
        clerk
            || self.keeper.as_mut().is_some_and(Keeper::has_news)
            || self.events.as_mut().is_some_and(Events::has_news)
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

    fn may_write(&self, uptime_ms: i64) -> bool {
        !self.commits.is_full() || uptime_ms >= self.retry_ms
    }

    fn send(&mut self, mut batch: scurry_engine::Batch, uptime_ms: i64) {
        self.given_ns = self.clock.map_or(0, |clock| clock.monotonic_ns());
        match &mut self.way {
            Way::None => {}
            Way::Here(writer) => {
                let outcome = batch.run(writer);
                self.done(batch, outcome, uptime_ms);
                if !self.commits.is_ahead() && self.shortage.why().is_none() {
                    self.set_ahead(uptime_ms);
                }
            }
            Way::There(clerk) => clerk.give(batch),
        }
    }

    /// Sets the next segment aside, or sees to it that it is.
    fn set_ahead(&mut self, uptime_ms: i64) {
        match &mut self.way {
            Way::None => {}
            Way::Here(writer) => {
                let outcome = writer.set_ahead();
                let room = writer.room();
                self.ahead(room, &outcome, uptime_ms);
            }
            Way::There(clerk) => clerk.set_ahead(),
        }
    }

    /// The next segment was set aside, or cannot be.
    fn ahead(&mut self, room: Room, outcome: &io::Result<()>, uptime_ms: i64) {
        self.commits.note_room(room);
        if let Err(error) = outcome
            && self.shortage.why().is_none()
        {
            tracing::warn!("no segment of the log was made ready ahead: {error}");
        }
        self.shortage.note(outcome, uptime_ms);
    }

    fn done(&mut self, batch: scurry_engine::Batch, outcome: io::Result<()>, uptime_ms: i64) {
        let said = outcome.as_ref().err().map(describe);
        if let Some(error) = batch.unsaid()
            && !self.is_unsaid
        {
            tracing::warn!("{NOT_NOTED}: {error}");
        }
        self.is_unsaid = batch.unsaid().is_some();
        match self.commits.done(batch, outcome) {
            Err(failed) => {
                tracing::error!(
                    "the log cannot be trusted any more: {failed}. Nothing is answered until the \
                     server was started again"
                );
                self.trouble = Some(Trouble::Failed(failed.to_string()));
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

    /// Takes in what threads have done.
    fn learn(&mut self, uptime_ms: i64) {
        while let Way::There(clerk) = &mut self.way
            && let Some(said) = clerk.news()
        {
            match said {
                Said::Done(batch, outcome) => self.done(batch, outcome, uptime_ms),
                Said::Ahead(room, outcome) => self.ahead(room, &outcome, uptime_ms),
            }
        }
        while let Some(news) = self.keeper.as_mut().and_then(Keeper::news) {
            match news {
                News::Synced { to } => {
                    self.syncing_behind = false;
                    self.commits.note_synced(to);
                }
                News::NotSynced(error) => {
                    tracing::error!("the log cannot be synced: {error}");
                    self.commits.fail();
                    self.trouble = Some(Trouble::Failed(error.to_string()));
                }
                News::Snapshot(event) => self.snapshots.learn(event),
                News::Ended => self.has_ended = true,
            }
        }
    }
}
