//! What a shard's group wants of the device: the vote, entries that are cut off, entries that come. All orders that
//! wait together cost one sync.

use crate::channel::Body;
use scurry_engine::{Disk, LogBallot, LogBase, LogWriter, Vote, is_disk_full};
use scurry_replica::{Index, Sequence, Ticket};
use std::io;

/// Bytes that are written at once, unless a single order has more.
const WRITE_LEN: usize = 4 << 20;

/// Something to be made durable.
#[derive(Debug)]
pub struct Order {
    /// The replica's name for it.
    pub ticket: Ticket,
    /// The vote that is given with it.
    pub vote: Option<Vote>,
    /// All entries from this index on are cut off before any is written.
    pub truncate_from: Option<Index>,
    /// Frames, the first record of which has the sequence `first`, the last one `last`.
    pub frames: Vec<Body>,
    /// The first sequence.
    pub first: Sequence,
    /// The last sequence.
    pub last: Sequence,
    /// A majority has the log up to this sequence: it will never be cut off.
    pub sure: Sequence,
}

/// Work of the device.
#[derive(Debug)]
pub enum Task {
    /// Something is to be durable.
    Store(Order),
    /// A frame without entries behind the end.
    Mark {
        /// The bytes.
        frame: Vec<u8>,
        /// The sequence of the next record.
        next: Sequence,
        /// All up to this sequence is committed: it is never cut off.
        sure: Sequence,
    },
    /// Entries up to a base need not be kept any more.
    Forget(LogBase),
    /// A snapshot has come: the log begins anew behind its base.
    Begin(LogBase),
}

const NOT_NOTED: &str = "how far the log has come was not noted beside it";

/// The fate of orders.
#[derive(Debug)]
pub enum Stored {
    /// The log begins behind the base that was given last.
    Begun,
    /// Orders are on the device.
    Done {
        /// All up to this one.
        ticket: Ticket,
        /// The log is there up to this sequence, where an order had frames or cut some off.
        last: Option<Sequence>,
    },
    /// The device has no room: it is tried again and again.
    Full(String),
    /// Nothing is known of what is on the device.
    Failed(io::Error),
}

/// The outcome of a task.
#[derive(Debug)]
pub enum Worked {
    /// Done. A task that was taken and is none of the same kind is to be done next.
    GoesOn(Option<Task>),
    /// Nothing more is to be done: nobody listens, or the device has failed.
    Ends,
}

/// The files of a shard's log.
pub struct LogDevice<D: Disk> {
    /// The log.
    pub writer: LogWriter<D>,
    /// The vote.
    pub ballot: LogBallot<D::File>,
    /// Bytes of the log that are kept although nothing needs them.
    pub log_bytes: u64,
}

impl<D: Disk> LogDevice<D> {
    /// Does a task, and with an order those that wait behind it, which `more` gives. `tell` hears what was done, and
    /// says whether anybody listens; `rest` is called between two tries where there is no room.
    pub fn work(
        &mut self,
        task: Task,
        more: impl FnMut() -> Option<Task>,
        tell: &impl Fn(Stored) -> bool,
        rest: &impl Fn(),
    ) -> Worked {
        let (batch, next) = match task {
            Task::Store(order) => take(order, more),
            Task::Mark { mut frame, next: first, sure } => {
                let marked = patiently((tell, rest), || self.writer.write(first.0, &mut frame));
                return match marked.and_then(|()| self.writer.sync()) {
                    Ok(()) => {
                        // An end that goes missing with its mark is missed.
                        if let Err(error) = self.writer.raise_reach(sure.0) {
                            tracing::warn!("{NOT_NOTED}: {error}");
                        }
                        Worked::GoesOn(None)
                    }
                    Err(error) => {
                        tell(Stored::Failed(error));
                        Worked::Ends
                    }
                };
            }
            Task::Forget(base) => {
                if let Err(error) = self.writer.forget(&base, self.log_bytes) {
                    tracing::warn!("the log was not made shorter: {error}");
                }
                return Worked::GoesOn(None);
            }
            Task::Begin(base) => {
                let (said, has_failed) = match self.writer.begin_at(&base) {
                    Ok(()) => (Stored::Begun, false),
                    Err(error) => (Stored::Failed(error), true),
                };
                return match tell(said) && !has_failed {
                    true => Worked::GoesOn(None),
                    false => Worked::Ends,
                };
            }
        };
        let outcome = self.store(&batch, (tell, rest));
        let Some(newest) = batch.last() else { return Worked::GoesOn(next) };
        let has_log = |order: &&Order| !order.frames.is_empty() || order.truncate_from.is_some();
        let last = batch.iter().rev().find(has_log).map(|order| order.last);
        let (said, has_failed) = match outcome {
            Ok(()) => (Stored::Done { ticket: newest.ticket, last }, false),
            Err(error) => (Stored::Failed(error), true),
        };
        if !tell(said) || has_failed {
            return Worked::Ends;
        }
        let _ = self.writer.fill_ahead();
        Worked::GoesOn(next)
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
        for order in batch {
            if let Some(vote) = order.vote {
                patiently(told, || ballot.raise(vote).map_err(io::Error::other))?;
            }
            if let Some(index) = order.truncate_from {
                if !bytes.is_empty() {
                    patiently(told, || writer.write(first.0, &mut bytes))?;
                    writer.sync()?;
                    bytes.clear();
                }
                writer.truncate(index.0)?;
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
            patiently(told, || writer.write(first.0, &mut bytes))?;
        }
        if is_dirty {
            writer.sync()?;
        }
        if let Some(order) = batch.last()
            && let Err(error) = writer.note_reach(order.sure.0)
        {
            tracing::warn!("{NOT_NOTED}: {error}");
        }
        Ok(())
    }
}

/// The orders that wait behind the first, and a task that is none.
fn take(first: Order, mut more: impl FnMut() -> Option<Task>) -> (Vec<Order>, Option<Task>) {
    let mut batch = vec![first];
    let mut len = 0;
    while len < WRITE_LEN {
        match more() {
            Some(Task::Store(order)) => {
                len += order.frames.iter().map(|frame| frame.len()).sum::<usize>();
                batch.push(order);
            }
            Some(other) => return (batch, Some(other)),
            None => break,
        }
    }
    (batch, None)
}

/// Tries as long as the device has no room: this node counts for nothing meanwhile, and the others go on.
fn patiently(
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
