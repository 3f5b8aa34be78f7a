//! The thread that reads events out of a core's log, so that the core does not wait for files.

use super::render;
use super::shown::{EventLog, missed_events};
use crate::mail::bell::CoreWaker;
use crate::mail::message::{EventRequest, Statement};
use crate::ticket::Sender;
use scurry_disk::Directory;
use scurry_engine::{EventAt, EventFilter, EventReader, LogId, Read, ReadEventsError, Stop};
use scurry_resp::{Position, Reply};
use std::io;
use std::sync::Arc;
use std::sync::mpsc;
use std::thread;

/// Length of one reply's events, bytes: the reply ends with the event that exceeds it.
const REPLY_LEN_ENOUGH: usize = 1 << 20;

/// One read of the log for one reader.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) request: Box<EventRequest>,
    /// Where to start; None for the oldest event.
    pub(super) at: Option<EventAt>,
    /// The requested position, when no log has it any more.
    pub(super) missed_from: Option<Position>,
    /// How long to wait for an event, ms of uptime.
    pub(super) until_ms: i64,
    /// The sequence up to which the log is durable.
    pub(super) durable: u64,
    /// Whether the job may return without a reply when there is no event.
    pub(super) may_wait: bool,
}

/// Outcome of a job.
pub(super) enum JobOutcome {
    Reply(Sender, Vec<u8>),
    /// There is no event yet.
    Nothing(Job),
}

pub(super) fn start(
    (log, own): (LogId, EventLog),
    directory: Directory,
    work: mpsc::Receiver<Job>,
    tell: mpsc::Sender<JobOutcome>,
    bell: Arc<CoreWaker>,
) -> io::Result<()> {
    let mut reader = EventReader::new(directory, log);
    let name = format!("reader-{}", log.core);
    thread::Builder::new().name(name).spawn(move || {
        while let Ok(job) = work.recv() {
            if tell.send(read(&mut reader, own, job)).is_err() {
                return;
            }
            bell.ring();
        }
    })?;
    Ok(())
}

fn read(reader: &mut EventReader<Directory>, log: EventLog, mut job: Job) -> JobOutcome {
    let request = &job.request;
    let outcome = match &request.statement {
        Some(statement) if statement.is_reversed => state_back(reader, log, &job, statement),
        Some(statement) => state(reader, log, &job, statement),
        None => follow(reader, log, &job),
    };
    match outcome {
        Ok(Outcome::Reply(reply)) => JobOutcome::Reply(request.sender, reply),
        Ok(Outcome::Nothing(next)) => {
            job.at = Some(next);
            JobOutcome::Nothing(job)
        }
        Err(error) => {
            tracing::error!("events cannot be read: {error}");
            JobOutcome::Reply(request.sender, render::unreadable(request.protocol, &error))
        }
    }
}

enum Outcome {
    Reply(Vec<u8>),
    /// There is no event yet before this position.
    Nothing(EventAt),
}

/// Events in the form that they have in a reply.
#[derive(Default)]
struct RenderedEvents {
    bytes: Vec<u8>,
    count: usize,
}

/// Renders events until the reply is long enough.
fn tell(
    reader: &mut EventReader<Directory>,
    log: EventLog,
    (request, durable): (&EventRequest, u64),
    (from, wanted): (EventAt, EventFilter<'_>),
) -> Result<(Read, RenderedEvents), ReadEventsError> {
    let (mut told, mut left) = (RenderedEvents::default(), request.count);
    let read = reader.read(from, durable, wanted, &mut |found| {
        let event = log.event(found);
        render::write(&mut Reply::new(&mut told.bytes, request.protocol), &event);
        told.count += 1;
        left -= u16::from(found.crossing.is_none());
        if left == 0 || told.bytes.len() >= REPLY_LEN_ENOUGH { Stop::Enough } else { Stop::GoOn }
    })?;
    Ok((read, told))
}

fn follow(
    reader: &mut EventReader<Directory>,
    log: EventLog,
    job: &Job,
) -> Result<Outcome, ReadEventsError> {
    let request = &job.request;
    let wanted = EventFilter {
        lows: &request.lows,
        names: &request.events,
        account: request.account.as_deref(),
        ..EventFilter::default()
    };
    let from = job.at.unwrap_or(EventAt::record(0));
    let (read, told) = tell(reader, log, (request, job.durable), (from, wanted))?;
    // A reader that starts at the oldest event misses nothing.
    let missed_from = job.missed_from.or(job.at.map(|at| log.position(at)));
    let missed = read.missed_to.and_then(|to| Some((missed_from?, EventAt::record(to))));
    if told.count == 0 && missed.is_none() && job.may_wait {
        return Ok(Outcome::Nothing(read.next));
    }
    let mut out = Vec::with_capacity(told.bytes.len() + 256);
    let mut reply = Reply::new(&mut out, request.protocol);
    render::head(&mut reply, log, &read, job.durable);
    reply.array(told.count + usize::from(missed.is_some()));
    if let Some((from, to)) = missed {
        render::write(&mut reply, &missed_events(from, log.position(to)));
    }
    reply.formed(&told.bytes);
    Ok(Outcome::Reply(out))
}

fn wanted<'a>(request: &'a EventRequest, statement: &'a Statement) -> EventFilter<'a> {
    EventFilter {
        account: request.account.as_deref(),
        period: statement.period,
        unit: statement.unit,
        transaction: statement.transaction.as_ref(),
        session: statement.session.as_ref(),
        lows: &[],
        names: &[],
    }
}

fn state(
    reader: &mut EventReader<Directory>,
    log: EventLog,
    job: &Job,
    statement: &Statement,
) -> Result<Outcome, ReadEventsError> {
    let (request, durable) = (&job.request, job.durable);
    let wanted = wanted(request, statement);
    // Asked before reading: an entry that is removed meanwhile then counts as missed.
    let kept_from = reader.kept_from(durable)?;
    let begin = EventAt::record(1);
    let (from, is_whole) = match (job.at, statement.period.from) {
        // Entries before the cursor were in earlier replies.
        (Some(cursor), _) => (cursor, true),
        (None, Some(from)) if kept_from.is_some_and(|kept| kept < from) => {
            (reader.since(from, durable)?, true)
        }
        // In the first generation the log starts where the store started.
        (None, _) => (begin, log.generation == 1),
    };
    let (read, told) = tell(reader, log, (request, durable), (from, wanted))?;
    let next = (read.next.sequence <= durable).then(|| log.position(read.next));
    let begin = from.sequence.max(read.missed_to.unwrap_or(0));
    let head = render::StatementHead {
        next,
        complete: is_whole && read.missed_to.is_none(),
        kept_from,
        looked: read.next.sequence.saturating_sub(begin),
        reached: read.reached,
    };
    Ok(Outcome::Reply(render::statement(request, &head, (told.count, &told.bytes))))
}

/// Renders a statement, newest entries first.
fn state_back(
    reader: &mut EventReader<Directory>,
    log: EventLog,
    job: &Job,
    statement: &Statement,
) -> Result<Outcome, ReadEventsError> {
    let (request, durable) = (&job.request, job.durable);
    let wanted = wanted(request, statement);
    let before = job.at.unwrap_or(EventAt::record(durable + 1));
    let back = reader.read_back(before, wanted, usize::from(request.count), &mut |found| {
        let mut told = Vec::new();
        let event = log.event(found);
        render::write(&mut Reply::new(&mut told, request.protocol), &event);
        told
    })?;
    // Asked after reading: an entry that was removed meanwhile had been read before.
    let kept_from = reader.kept_from(durable)?;
    let is_kept =
        statement.period.from.is_some_and(|from| kept_from.is_some_and(|kept| kept < from));
    let head = render::StatementHead {
        next: back.next.map(|next| log.position(next)),
        // In the first generation the log starts where the store started.
        complete: is_kept
            || log.generation == 1 && reader.oldest()?.is_none_or(|oldest| oldest == 1),
        kept_from,
        looked: back.looked,
        reached: back.reached,
    };
    Ok(Outcome::Reply(render::statement(request, &head, (back.told.len(), &back.told.concat()))))
}
