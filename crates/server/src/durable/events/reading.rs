//! The thread beside a core that reads events out of the core's log.

use super::{Log, render};
use crate::mail::mesh::Bell;
use crate::mail::message::Ask;
use crate::ticket::Sender;
use scurry_disk::Directory;
use scurry_engine::{EventAt, EventReader, LogId, Stop, Wanted};
use scurry_resp::{Position, Reply};
use std::io;
use std::sync::Arc;
use std::sync::mpsc;
use std::thread;

/// Events of one reply, bytes: it ends behind the one that takes it beyond.
const REPLY_LEN_ENOUGH: usize = 1 << 20;

/// A reading of the log for one reader.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) ask: Box<Ask>,
    /// From where; none for what is oldest.
    pub(super) at: Option<EventAt>,
    /// The position that was asked for, when no log has it any more.
    pub(super) missed_from: Option<Position>,
    /// How long to wait for an event, ms of uptime.
    pub(super) until_ms: i64,
    /// How far the log is durable.
    pub(super) durable: u64,
    /// Without an event it comes back.
    pub(super) may_wait: bool,
}

/// Outcome of a job.
pub(super) enum Done {
    Reply(Sender, Vec<u8>),
    /// There is no event yet.
    Nothing(Job),
}

pub(super) fn start(
    (log, own): (LogId, Log),
    directory: Directory,
    work: mpsc::Receiver<Job>,
    tell: mpsc::Sender<Done>,
    bell: Arc<Bell>,
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

fn read(reader: &mut EventReader<Directory>, log: Log, mut job: Job) -> Done {
    let (ask, mut events, mut count) = (&job.ask, Vec::new(), 0);
    let wanted = Wanted { lows: &ask.lows, account: ask.account.as_deref() };
    let from = job.at.unwrap_or(EventAt::record(0));
    let mut left = ask.count;
    let outcome = reader.read(from, job.durable, wanted, &mut |found| {
        render::event(&mut Reply::new(&mut events, ask.protocol), log, found);
        count += 1;
        left -= u16::from(found.crossing.is_none());
        if left == 0 || events.len() >= REPLY_LEN_ENOUGH { Stop::Enough } else { Stop::GoOn }
    });
    let read = match outcome {
        Ok(read) => read,
        Err(error) => {
            let sender = ask.sender;
            tracing::error!("events cannot be read: {error}");
            return Done::Reply(sender, render::unreadable(ask.protocol, &error));
        }
    };
    // Who asks for what is oldest misses nothing.
    let missed_from = job.missed_from.or(job.at.map(|at| log.position(at)));
    let missed = read.missed_to.and_then(|to| Some((missed_from?, EventAt::record(to))));
    if count == 0 && missed.is_none() && job.may_wait {
        job.at = Some(read.next);
        return Done::Nothing(job);
    }
    let mut out = Vec::with_capacity(events.len() + 256);
    let mut reply = Reply::new(&mut out, ask.protocol);
    render::head(&mut reply, log, &read, job.durable);
    reply.array(count + usize::from(missed.is_some()));
    if let Some((from, to)) = missed {
        render::missed(&mut reply, from, log.position(to));
    }
    reply.formed(&events);
    Done::Reply(ask.sender, out)
}
