//! A core's side of SCUR.WATCH and SCUR.STATEMENT: the clients that wait for events, and the thread that reads events
//! for them. The core only reports how far the log is durable; another thread reads the files. Without readers this
//! costs nothing.

mod reading;
mod render;
mod shown;

pub use shown::{EventLog, missed_events};

use super::Durable;
use crate::mail::bell::CoreWaker;
use crate::mail::message::EventRequest;
use crate::ticket::Sender;
use reading::{Job, JobOutcome};
use scurry_disk::Directory;
use scurry_engine::{EventAt, LogId};
use scurry_resp::{Position, WatchStart};
use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::sync::mpsc;

/// Readers of one core's events: their jobs, and the thread that reads for them.
pub(crate) struct Events {
    log: EventLog,
    jobs: mpsc::Sender<Job>,
    done: mpsc::Receiver<JobOutcome>,
    /// Readers with a job at the thread.
    under_way: Vec<Sender>,
    /// Jobs that have reached the end of the durable log and wait for more.
    waiting: Vec<Job>,
    replies: VecDeque<(Sender, Vec<u8>)>,
    /// The server stops, so no job waits any more.
    ending: bool,
    /// The log has failed: nothing more becomes durable.
    given_up: bool,
}

impl Events {
    /// Starts the thread, which rings the bell when it has read.
    pub(crate) fn start(
        (log, store, generation): (LogId, u64, u32),
        directory: Directory,
        bell: Arc<CoreWaker>,
    ) -> io::Result<Events> {
        let (jobs, work) = mpsc::channel();
        let (tell, done) = mpsc::channel();
        let own =
            EventLog { store, generation, thread: u16::try_from(log.core).unwrap_or(u16::MAX) };
        reading::start((log, own), directory, work, tell, bell)?;
        Ok(Events {
            log: own,
            jobs,
            done,
            under_way: Vec::new(),
            waiting: Vec::new(),
            replies: VecDeque::new(),
            ending: false,
            given_up: false,
        })
    }

    /// Accepts a request; its reply is returned by [`Events::reply`].
    pub(crate) fn ask(&mut self, request: Box<EventRequest>, durable: u64, uptime_ms: i64) {
        let (at, missed_from) = match request.start {
            WatchStart::Oldest => (None, None),
            WatchStart::Newest => (Some(EventAt::record(durable + 1)), None),
            WatchStart::At(position)
                if request.statement.is_some() && !self.has_been(position, durable) =>
            {
                let end = self.log.position(EventAt::record(durable + 1));
                let reply = render::foreign(request.protocol, position, end);
                return self.replies.push_back((request.sender, reply));
            }
            // A position of an earlier generation: start at the oldest event, and report the gap as missed.
            WatchStart::At(position) if position.generation < self.log.generation => {
                (None, Some(position))
            }
            WatchStart::At(position) if !self.has_been(position, durable) => {
                let end = self.log.position(EventAt::record(durable + 1));
                let reply = render::ahead(request.protocol, position, end);
                return self.replies.push_back((request.sender, reply));
            }
            WatchStart::At(Position { sequence, index, .. }) => {
                (Some(EventAt { sequence, index }), None)
            }
        };
        // The current millisecond may be nearly over, so add one: no wait is too short.
        let whole_ms = i64::from(request.block_ms) + i64::from(request.block_ms > 0);
        let until_ms = uptime_ms + whole_ms;
        let job = Job { request, at, missed_from, until_ms, durable, may_wait: false };
        self.place(job, durable, uptime_ms);
    }

    /// Returns the number of readers without a reply.
    pub(crate) fn readers(&self) -> usize {
        self.under_way.len() + self.waiting.len()
    }

    /// Reports whether a reply of this store can have contained the position.
    fn has_been(&self, position: Position, durable: u64) -> bool {
        let is_end = position.sequence == durable + 1 && position.index == 0;
        let is_own =
            (position.generation, position.thread) == (self.log.generation, self.log.thread);
        is_own && (position.sequence <= durable || is_end)
    }

    /// Serves waiting readers when there are new events for them or their timeout is over.
    #[inline]
    pub(crate) fn look(&mut self, durable: u64, uptime_ms: i64) {
        if !self.under_way.is_empty() {
            self.handle_reports();
        }
        if !self.waiting.is_empty() {
            for job in std::mem::take(&mut self.waiting) {
                self.place(job, durable, uptime_ms);
            }
        }
    }

    /// Gives a job to the thread, or lets it wait.
    fn place(&mut self, mut job: Job, durable: u64, uptime_ms: i64) {
        job.may_wait = !self.ending && uptime_ms < job.until_ms;
        job.durable = durable;
        let is_at_end = job.at.is_some_and(|at| at.sequence > durable);
        let shown = job.request.statement.as_ref().map_or(0, |statement| statement.shown);
        let is_early = durable < shown && !self.ending && !self.given_up;
        // A statement waits for the changes that its client may have seen; a reader at the end waits for new events.
        if is_early || is_at_end && job.may_wait {
            self.waiting.push(job);
            return;
        }
        self.under_way.push(job.request.sender);
        if self.jobs.send(job).is_err() {
            tracing::error!("the thread that reads events has ended");
        }
    }

    fn handle_reports(&mut self) {
        while let Ok(done) = self.done.try_recv() {
            let sender = match &done {
                JobOutcome::Reply(sender, _) => *sender,
                JobOutcome::Nothing(job) => job.request.sender,
            };
            let Some(at) = self.under_way.iter().position(|other| *other == sender) else {
                // Its client has disconnected.
                continue;
            };
            self.under_way.swap_remove(at);
            match done {
                JobOutcome::Reply(sender, reply) => self.replies.push_back((sender, reply)),
                JobOutcome::Nothing(job) => self.waiting.push(job),
            }
        }
    }

    /// Reports whether the thread has finished a job.
    pub(crate) fn has_news(&mut self) -> bool {
        let before = self.under_way.len();
        self.handle_reports();
        self.under_way.len() < before || !self.replies.is_empty()
    }

    /// Returns the next finished reply.
    pub(crate) fn reply(&mut self) -> Option<(Sender, Vec<u8>)> {
        self.replies.pop_front()
    }

    /// Forgets a client that waits and has disconnected.
    pub(crate) fn forget(&mut self, sender: Sender) {
        self.waiting.retain(|job| job.request.sender != sender);
        self.under_way.retain(|other| *other != sender);
    }

    /// Forgets all readers, and returns them.
    fn take_readers(&mut self) -> Vec<Sender> {
        let waiting = self.waiting.drain(..).map(|job| job.request.sender);
        let readers = waiting.chain(self.under_way.drain(..));
        readers.chain(self.replies.drain(..).map(|(sender, _)| sender)).collect()
    }

    /// Ends all waits: the server stops.
    pub(crate) fn end_waits(&mut self) {
        self.ending = true;
    }

    /// Ends the waits for changes that will not become durable: the log has failed.
    pub(super) fn give_up(&mut self) {
        self.given_up = true;
    }

    /// Returns the milliseconds until the next timeout of a reader.
    pub(crate) fn ms_until_due(&self, uptime_ms: i64) -> Option<i64> {
        // The other jobs wait for the log alone, and its progress wakes the core.
        let until = self.waiting.iter().filter(|job| job.may_wait);
        until.map(|job| (job.until_ms - uptime_ms).max(1)).min()
    }
}

impl Durable {
    /// Starts a request for events; [`Durable::followed`] returns the reply. Requests are refused earlier where there
    /// is no log.
    pub(crate) fn follow(&mut self, request: Box<EventRequest>, uptime_ms: i64) {
        if let Some(events) = &mut self.events {
            events.ask(request, self.commits.durable(), uptime_ms);
        }
    }

    /// Forgets a reader of events after its connection has closed.
    pub(crate) fn unfollow(&mut self, sender: Sender) {
        if let Some(events) = &mut self.events {
            events.forget(sender);
        }
    }

    /// Forgets all readers of events, and returns them.
    pub(crate) fn lose_readers(&mut self) -> Vec<Sender> {
        self.events.as_mut().map(Events::take_readers).unwrap_or_default()
    }

    /// Returns the next finished reply with events, and its reader.
    pub(crate) fn followed(&mut self) -> Option<(Sender, Vec<u8>)> {
        self.events.as_mut()?.reply()
    }

    /// Ends all waits for events: the server stops.
    pub(crate) fn end_watches(&mut self) {
        if let Some(events) = &mut self.events {
            events.end_waits();
        }
    }
}
