//! Troubles of the log: it has no room, or it has failed. When that is the case, and which commands are refused.

use super::{BatchSink, Durable};
use crate::mail::bundle::TRANSACTION_LEN_MAX;
use scurry_engine::{Shard, is_disk_full};
use scurry_ledger::Time;
use scurry_resp::table::Spec;
use std::io;

/// Length at which a frame is closed and another one begins in the same batch, bytes.
const FRAME_LEN: usize = 4 << 20;
/// Bytes that are given to the log without waiting for the end of the turn.
const BATCH_LEN: usize = 64 << 10;
/// Maximum number of bytes that wait for the log; above it nothing is executed until some are written.
const WAITING_LEN_MAX: usize = 64 << 20;
/// Room that the log keeps for commands executed before the next check, bytes: a frame that is nearly full, then a
/// request or a transaction, and the record of its last command.
const ROOM_MIN: u64 = 24 << 20;
/// Pause before the next look for room, ms.
const RETRY_MS: i64 = 500;

/// The error of a command that needs every core when the log of another core has failed.
pub(crate) const LOG_FAILED: &str = "MISCONF the log of a thread has failed and nothing of it is \
                                     answered until the server was started again: see INFO \
                                     persistence and the server's log";

/// Why commands are refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RefusalCause {
    /// The log has no room for more writes, or not even for committed changes, and the replies to those then wait for
    /// room. This can end by itself.
    Full(String),
    /// A write or a sync has failed. Only a restart can find out how much is on the device.
    Failed(String),
}

impl RefusalCause {
    /// Returns the error for a command, if it is refused.
    #[cold]
    pub(crate) fn refuses(&self, spec: &Spec) -> Option<String> {
        match self {
            RefusalCause::Full(why) => {
                spec.flags.contains(&"write").then(|| format!("MISCONF {why}"))
            }
            RefusalCause::Failed(why) => {
                let shows = spec.keys.0 != 0
                    || spec.flags.iter().any(|flag| ["write", "readonly"].contains(flag));
                shows.then(|| {
                    format!(
                        "MISCONF the log has failed and nothing is answered until the server was \
                         started again ({why})"
                    )
                })
            }
        }
    }
}

impl Durable {
    /// Reports whether the open frame is long. Then nothing more is executed before the commits are examined, since a
    /// short request may write a long record.
    #[inline]
    pub(crate) fn is_frame_long(&self, shard: &mut Shard) -> bool {
        shard.journal().is_some_and(|journal| journal.open_len() > FRAME_LEN)
    }

    /// Reports whether a transaction, which stays in the open frame, has room there for another command of `len` bytes.
    /// All its commands have room as long as their records are no longer than they are.
    pub(crate) fn has_transaction_room(&self, shard: &mut Shard, len: usize) -> bool {
        let most = FRAME_LEN + TRANSACTION_LEN_MAX;
        shard.journal().is_none_or(|journal| journal.open_len() + len <= most)
    }

    /// Reports whether nothing more may be executed before some of the log is written.
    pub(crate) fn is_congested(&self, shard: &mut Shard) -> bool {
        if let BatchSink::Group(group) = &self.sink {
            return group.is_congested();
        }
        self.trouble.is_none()
            && (self.commits.room_left(shard) < ROOM_MIN && self.shortage.why().is_none()
                || shard.journal().is_some_and(|journal| journal.len() > WAITING_LEN_MAX))
    }

    /// Reports whether enough bytes wait to be written at once. Fewer wait for the end of the turn, because each
    /// write costs system calls and each sync a wait for the device.
    #[inline]
    pub(crate) fn is_batch_full(&self, shard: &mut Shard) -> bool {
        shard.journal().is_some_and(|journal| journal.len() >= BATCH_LEN)
    }

    /// Examines new commits: closes a frame that has become long, and stops commits to a log that has no room.
    #[inline]
    pub(crate) fn look_at(&mut self, shard: &mut Shard, now: Time) {
        let synced = self.commits.synced();
        if let Some(journal) = shard.journal()
            && journal.open_len() > FRAME_LEN
        {
            journal.seal(synced, now);
        }
        self.update_trouble(shard);
    }

    /// Updates the trouble: whether there is any now.
    #[inline]
    pub(super) fn update_trouble(&mut self, shard: &mut Shard) {
        let is_calm = self.shortage.why().is_none() && self.full.is_none();
        let is_known = is_calm && self.trouble.is_none() || self.trouble_is_final();
        if !is_known {
            self.update_full(shard);
        }
    }

    #[cold]
    fn update_full(&mut self, shard: &mut Shard) {
        // A missing next segment is no trouble as long as the present one has room.
        let lacks = self.commits.room_left(shard) < ROOM_MIN;
        let soft = self.shortage.why().filter(|_| lacks);
        match (self.full.as_deref().or(soft), &self.trouble) {
            (Some(why), None) => {
                tracing::error!("{why}. Writes are refused meanwhile");
                self.trouble = Some(RefusalCause::Full(why.to_owned()));
            }
            (None, Some(_)) => {
                tracing::info!("the log has room again");
                self.trouble = None;
            }
            _ => {}
        }
    }

    /// Reports whether timers may commit. Late commits do no harm; commits that the log has no room for would.
    pub(crate) fn takes_commits(&self) -> bool {
        match &self.sink {
            BatchSink::Group(group) => group.takes_commits(),
            _ => self.trouble.is_none(),
        }
    }

    /// Returns why commands are refused, if they are.
    #[inline]
    pub(crate) fn trouble(&self) -> Option<&RefusalCause> {
        self.trouble.as_ref()
    }

    /// Reports whether nothing that waits will ever be durable.
    #[inline]
    pub(crate) fn trouble_is_final(&self) -> bool {
        matches!(self.trouble, Some(RefusalCause::Failed(_)))
    }

    /// Gives up a failed log once every reply that shows unwritten changes was dealt with. From now on replies are
    /// refusals, or show nothing of the shard.
    pub(crate) fn give_up(&mut self, shard: &Shard) {
        debug_assert!(self.is_to_be_given_up() && self.held.is_empty());
        if let BatchSink::Group(group) = &mut self.sink {
            return group.finish_resignation(shard);
        }
        self.is_given_up = true;
        if let Some(events) = &mut self.events {
            events.give_up();
        }
    }

    /// True from the failure of the log, or from the loss of leadership, until it is given up.
    pub(crate) fn is_to_be_given_up(&self) -> bool {
        self.trouble_is_final() && !self.is_given_up || self.resigns()
    }

    /// Reports whether another node leads and replies still wait.
    pub(super) fn resigns(&self) -> bool {
        matches!(&self.sink, BatchSink::Group(group) if group.resigns())
    }
}

/// Whether the next segment is missing, and why.
#[derive(Default)]
pub(super) struct Shortage {
    why: Option<String>,
    /// Time of the next look for room, ms of uptime.
    retry_ms: i64,
    /// Whether a try is under way.
    is_tried: bool,
}

impl Shortage {
    /// Records the outcome of a try.
    pub(super) fn note(&mut self, outcome: &io::Result<()>, uptime_ms: i64) {
        self.is_tried = false;
        self.retry_ms = uptime_ms + RETRY_MS;
        self.why = outcome.as_ref().err().map(describe);
    }

    /// Returns the reason that refused commands get; None without a shortage.
    #[inline]
    pub(super) fn why(&self) -> Option<&str> {
        self.why.as_deref()
    }

    /// Reports whether it is time for another try, and marks it as begun.
    pub(super) fn begin_try(&mut self, uptime_ms: i64) -> bool {
        let is_due = self.why.is_some() && !self.is_tried && uptime_ms >= self.retry_ms;
        self.is_tried |= is_due;
        is_due
    }

    /// Returns the milliseconds until the next try.
    pub(super) fn ms_until_due(&self, uptime_ms: i64) -> Option<i64> {
        let waits = self.why.is_some() && !self.is_tried;
        waits.then(|| (self.retry_ms - uptime_ms).max(0))
    }
}

/// Describes an error of a log without room to clients that want to write.
pub(super) fn describe(error: &io::Error) -> String {
    if is_disk_full(error) {
        format!("the disk is full and nothing can be written: make room ({error})")
    } else {
        format!("the log cannot go on and nothing can be written: look at the disk ({error})")
    }
}
