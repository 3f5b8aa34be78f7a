//! The thread that keeps a shard's part of the group on the device: the vote, entries that are cut off, entries
//! that come. It takes all orders that wait together, so that they cost one sync.

use super::channel::Body;
use scurry_disk::{Directory, DiskFile};
use scurry_engine::{LogBallot, LogBase, LogWriter, Vote, is_want_of_room};
use scurry_replica::Ticket;
use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

/// Pause before a full disk is tried again.
const FULL_PAUSE: Duration = Duration::from_millis(200);
/// Bytes that are written at once, unless a single order has more.
const WRITE_LEN: usize = 4 << 20;

/// Something to be made durable.
pub(super) struct Order {
    pub(super) ticket: Ticket,
    pub(super) vote: Option<Vote>,
    /// All entries from this index on are cut off before any is written.
    pub(super) truncate_from: Option<u64>,
    /// Frames, the first record of which has the sequence `first`, the last one `last`.
    pub(super) frames: Vec<Body>,
    pub(super) first: u64,
    pub(super) last: u64,
    /// A majority has the log up to this sequence: it will never be cut off.
    pub(super) sure: u64,
}

/// Work of the thread.
pub(super) enum Task {
    Store(Order),
    /// A frame without entries behind the end, and the sequence of the next record.
    Mark {
        frame: Vec<u8>,
        next: u64,
    },
    /// Entries up to a base need not be kept any more.
    Forget(LogBase),
    /// A snapshot has come: the log begins anew behind its base.
    Begin(LogBase),
}

/// The fate of orders.
pub(crate) enum Stored {
    /// The log begins behind the base that was given last.
    Begun,
    /// All up to this ticket are on the device; the log is there up to a sequence, where an order had frames or
    /// cut some off.
    Done { ticket: Ticket, last: Option<u64> },
    /// The device has no room: it is tried again and again.
    Full(String),
    /// Nothing is known of what is on the device.
    Failed(io::Error),
}

/// The files of a shard.
pub(super) struct Files {
    pub(super) writer: LogWriter<Directory>,
    pub(super) ballot: LogBallot<DiskFile>,
    /// Bytes of the log that are kept although nothing needs them.
    pub(super) log_bytes: u64,
}

/// Starts the thread, which tells what it has done.
pub(super) fn start(
    shard: u16,
    mut files: Files,
    tell: impl Fn(Stored) -> bool + Send + 'static,
) -> io::Result<Sender<Task>> {
    let (tasks, work) = channel();
    thread::Builder::new().name(format!("group-log-{shard}")).spawn(move || {
        let mut next = None;
        while let Some(task) = next.take().or_else(|| work.recv().ok()) {
            let batch = match task {
                Task::Store(order) => {
                    let (batch, other) = take(order, &work);
                    next = other;
                    batch
                }
                Task::Mark { mut frame, next: first } => {
                    let marked = patiently(&tell, || files.writer.write(first, &mut frame));
                    if let Err(error) = marked.and_then(|()| files.writer.sync()) {
                        tell(Stored::Failed(error));
                        return;
                    }
                    continue;
                }
                Task::Forget(base) => {
                    if let Err(error) = files.writer.forget(&base, files.log_bytes) {
                        tracing::warn!(shard, "the log was not made shorter: {error}");
                    }
                    continue;
                }
                Task::Begin(base) => {
                    let (said, has_failed) = match files.writer.begin_at(&base) {
                        Ok(()) => (Stored::Begun, false),
                        Err(error) => (Stored::Failed(error), true),
                    };
                    if !tell(said) || has_failed {
                        return;
                    }
                    continue;
                }
            };
            let outcome = store(&mut files, &batch, &tell);
            let Some(newest) = batch.last() else { continue };
            let has_log =
                |order: &&Order| !order.frames.is_empty() || order.truncate_from.is_some();
            let last = batch.iter().rev().find(has_log).map(|order| order.last);
            let (said, has_failed) = match outcome {
                Ok(()) => (Stored::Done { ticket: newest.ticket, last }, false),
                Err(error) => (Stored::Failed(error), true),
            };
            if !tell(said) || has_failed {
                return;
            }
            let _ = files.writer.fill_ahead();
        }
    })?;
    Ok(tasks)
}

/// The orders that wait behind the first, and a task that is none.
fn take(first: Order, work: &Receiver<Task>) -> (Vec<Order>, Option<Task>) {
    let mut batch = vec![first];
    let mut len = 0;
    while len < WRITE_LEN {
        match work.try_recv() {
            Ok(Task::Store(order)) => {
                len += order.frames.iter().map(|frame| frame.len()).sum::<usize>();
                batch.push(order);
            }
            Ok(other) => return (batch, Some(other)),
            Err(_) => break,
        }
    }
    (batch, None)
}

fn store(files: &mut Files, batch: &[Order], tell: &impl Fn(Stored) -> bool) -> io::Result<()> {
    let Files { writer, ballot, .. } = files;
    let mut bytes = Vec::new();
    let mut first = 0;
    let mut is_dirty = false;
    for order in batch {
        if let Some(vote) = order.vote {
            patiently(tell, || ballot.raise(vote).map_err(io::Error::other))?;
        }
        if let Some(index) = order.truncate_from {
            if !bytes.is_empty() {
                patiently(tell, || writer.write(first, &mut bytes))?;
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
        patiently(tell, || writer.write(first, &mut bytes))?;
    }
    if is_dirty {
        writer.sync()?;
    }
    if let Some(order) = batch.last()
        && let Err(error) = writer.note_reach(order.sure)
    {
        tracing::warn!("how far the log has come was not noted beside it: {error}");
    }
    Ok(())
}

/// Tries as long as the device has no room: this node counts for nothing meanwhile, and the others go on.
fn patiently(
    tell: &impl Fn(Stored) -> bool,
    mut step: impl FnMut() -> io::Result<()>,
) -> io::Result<()> {
    loop {
        match step() {
            Err(error) if is_want_of_room(&error) => {
                if !tell(Stored::Full(error.to_string())) {
                    return Err(error);
                }
                thread::sleep(FULL_PAUSE); // tidy: allow (a disk says nothing when it has room)
            }
            outcome => return outcome,
        }
    }
}
