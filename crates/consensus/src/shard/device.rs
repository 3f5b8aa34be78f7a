//! The durable storage of a shard's group: its vote and its log. All waiting orders share one sync.

use crate::replica::{ByteCount, Index, Sequence, Term, Ticket};
use crate::shard::channel::FrameBytes;
use scurry_engine::{Disk, LogBallot, LogBase, LogRetention, LogWriter, Vote, is_disk_full};
use std::io;

/// Bytes after which no further orders join a batch; a single order may have more.
const WRITE_LEN: ByteCount = ByteCount(4 << 20);

/// A request to make data durable.
#[derive(Debug)]
pub struct Order {
    /// The replica's ticket for it.
    pub ticket: Ticket,
    /// The vote to store first; None when it has not changed.
    pub vote: Option<Vote>,
    /// All entries from this index on are removed before any frame is written.
    pub truncate_from: Option<Index>,
    /// Frames with the records from `first` to `last`.
    pub frames: Vec<FrameBytes>,
    /// The first sequence.
    pub first: Sequence,
    /// The last sequence.
    pub last: Sequence,
    /// A majority has the log up to this sequence: it is never removed.
    pub sure: Sequence,
}

impl Order {
    /// Asserts what the group promises and the device relies on. Called on both sides of the channel.
    pub(crate) fn check(&self) {
        let Order { vote, truncate_from, frames, first, last, sure, .. } = self;
        assert!(*first <= last.next(), "an order ends before it begins");
        assert!(frames.is_empty() == (*first == last.next()), "an order has records and no frame");
        let records = last.next().0 - first.0;
        assert!(frames.len() as u64 <= records, "a frame of an order has no record");
        // Entries are removed to make room for others at their place.
        assert!(truncate_from.is_none() || !frames.is_empty(), "an order removes and adds nothing");
        assert!(sure <= last, "an order calls more committed than the log has");
        assert!(vote.is_none_or(|vote| vote.term > Term(0)), "an order has a vote of no term");
    }
}

/// Work for the device.
#[derive(Debug)]
pub enum Task {
    /// Data to make durable.
    Store(Order),
    /// A frame without records, after the last entry.
    Mark {
        /// The bytes.
        frame: Vec<u8>,
        /// The sequence of the next record.
        next: Sequence,
        /// Everything up to this sequence is committed: it is never removed.
        sure: Sequence,
    },
    /// Entries up to a base are no longer needed.
    Forget(LogBase),
    /// A snapshot counts: the next write begins a segment.
    EndSegment,
    /// A snapshot was received: the log starts again after its base.
    Begin(LogBase),
}

const NOT_NOTED: &str = "how far the log has come was not noted beside it";

/// The outcome of orders.
#[derive(Debug)]
pub enum Stored {
    /// The log begins after the last given base.
    Begun,
    /// Orders are on the device.
    Done {
        /// The last of these orders.
        ticket: Ticket,
        /// The last sequence of the log on the device; None when no order had frames or removed entries.
        last: Option<Sequence>,
    },
    /// The device is full: the write is retried until it succeeds.
    Full(String),
    /// The write or sync has failed: the content of the device is unknown.
    Failed(io::Error),
}

/// The outcome of a task.
#[derive(Debug)]
pub enum TaskOutcome {
    /// The task is done. Contains the next task when one of another kind was taken from the queue.
    GoesOn(Option<Task>),
    /// The device must not be used again: the receiver of its reports has ended, or the device has failed.
    Ends,
}

/// The files of a shard's log.
pub struct LogDevice<D: Disk> {
    /// The log.
    pub writer: LogWriter<D>,
    /// The vote.
    pub ballot: LogBallot<D::File>,
    /// How much of the log is kept although nothing needs it.
    pub retention: LogRetention,
}

impl<D: Disk> LogDevice<D> {
    /// Executes a task; an order together with the waiting orders that `more` returns. `tell` reports the outcome and
    /// returns false when its receiver has ended; `rest` is called between two attempts while the device is full.
    pub fn work(
        &mut self,
        task: Task,
        more: impl FnMut() -> Option<Task>,
        tell: &impl Fn(Stored) -> bool,
        rest: &impl Fn(),
    ) -> TaskOutcome {
        let (batch, next) = match task {
            Task::Store(order) => take_batch(order, more),
            Task::Mark { mut frame, next: first, sure } => {
                assert!(sure < first, "a mark calls more committed than the log has");
                let marked =
                    retry_while_full((tell, rest), || self.writer.write(first, &mut frame));
                return match marked.and_then(|()| self.writer.sync()) {
                    Ok(()) => {
                        // Notes how far the log was synced, so that a start notices a log whose end is missing together
                        // with its mark.
                        if let Err(error) = self.writer.raise_reach(sure) {
                            tracing::warn!("{NOT_NOTED}: {error}");
                        }
                        TaskOutcome::GoesOn(None)
                    }
                    Err(error) => {
                        tell(Stored::Failed(error));
                        TaskOutcome::Ends
                    }
                };
            }
            Task::Forget(base) => {
                if let Err(error) = self.writer.forget(&base, self.retention) {
                    tracing::warn!("the log was not made shorter: {error}");
                }
                return TaskOutcome::GoesOn(None);
            }
            Task::EndSegment => {
                self.writer.end_segment();
                return TaskOutcome::GoesOn(None);
            }
            Task::Begin(base) => {
                let (said, has_failed) = match self.writer.begin_at(&base) {
                    Ok(()) => (Stored::Begun, false),
                    Err(error) => (Stored::Failed(error), true),
                };
                return match tell(said) && !has_failed {
                    true => TaskOutcome::GoesOn(None),
                    false => TaskOutcome::Ends,
                };
            }
        };
        let outcome = self.store(&batch, (tell, rest));
        let Some(newest) = batch.last() else { return TaskOutcome::GoesOn(next) };
        let has_log = |order: &&Order| !order.frames.is_empty() || order.truncate_from.is_some();
        let last = batch.iter().rev().find(has_log).map(|order| order.last);
        let (said, has_failed) = match outcome {
            Ok(()) => (Stored::Done { ticket: newest.ticket, last }, false),
            Err(error) => (Stored::Failed(error), true),
        };
        if !tell(said) || has_failed {
            return TaskOutcome::Ends;
        }
        // An error here is not a failure of the log.
        let _ = self.writer.fill_ahead();
        TaskOutcome::GoesOn(next)
    }

    fn store(
        &mut self,
        batch: &[Order],
        told: (&impl Fn(Stored) -> bool, &impl Fn()),
    ) -> io::Result<()> {
        let LogDevice { writer, ballot, .. } = self;
        let mut bytes = Vec::new();
        let mut first = Sequence(0);
        let mut is_dirty = false;
        let mut before: Option<&Order> = None;
        for order in batch {
            order.check();
            if let Some(before) = before.replace(order) {
                assert!(before.ticket < order.ticket, "orders come in another order than tickets");
                assert!(before.sure <= order.sure, "what is committed goes back");
                let follows = order.truncate_from.is_some() || order.first == before.last.next();
                assert!(follows, "records are missing between two orders");
            }
            if let Some(vote) = order.vote {
                // This syncs: the vote is durable before the entries that follow it.
                retry_while_full(told, || ballot.raise(vote).map_err(io::Error::other))?;
                // The file keeps a greater vote: it would be another promise than the one that is sent.
                assert!(ballot.newest() == vote, "the device has a later vote than is given");
            }
            if let Some(index) = order.truncate_from {
                // The frames of earlier orders are written and synced before the truncation, which may remove some of
                // them.
                if !bytes.is_empty() {
                    retry_while_full(told, || writer.write(first, &mut bytes))?;
                    writer.sync()?;
                    bytes.clear();
                }
                writer.truncate(index)?;
            }
            if !order.frames.is_empty() {
                if bytes.is_empty() {
                    first = order.first;
                }
                for frame in &order.frames {
                    bytes.extend_from_slice(frame);
                }
                is_dirty = true;
            }
        }
        if !bytes.is_empty() {
            retry_while_full(told, || writer.write(first, &mut bytes))?;
        }
        if is_dirty {
            writer.sync()?;
        }
        if let Some(order) = batch.last()
            && let Err(error) = writer.note_reach(order.sure)
        {
            tracing::warn!("{NOT_NOTED}: {error}");
        }
        Ok(())
    }
}

/// Takes the orders that wait after the first, and the task of another kind that ends the batch.
fn take_batch(first: Order, mut more: impl FnMut() -> Option<Task>) -> (Vec<Order>, Option<Task>) {
    let mut batch = vec![first];
    let mut len = ByteCount(0);
    while len < WRITE_LEN {
        match more() {
            Some(Task::Store(order)) => {
                len += order.frames.iter().map(|frame| ByteCount::of(frame)).sum();
                batch.push(order);
            }
            Some(other) => return (batch, Some(other)),
            None => break,
        }
    }
    (batch, None)
}

/// Retries a step while the device is full. In the meantime this node does not count for commits, and the others
/// continue.
fn retry_while_full(
    (tell, rest): (&impl Fn(Stored) -> bool, &impl Fn()),
    mut step: impl FnMut() -> io::Result<()>,
) -> io::Result<()> {
    loop {
        match step() {
            Err(error) if is_disk_full(&error) => {
                if !tell(Stored::Full(error.to_string())) {
                    return Err(error);
                }
                rest();
            }
            outcome => return outcome,
        }
    }
}
