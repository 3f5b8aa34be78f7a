//! The load: one thread that sends requests by the clock over pipelined connections, and repeats each with the same id
//! until it has a clear answer. A latency counts from when the request was due, so a store that stands still is not
//! asked less.

use super::acknowledged::Acknowledged;
use super::connection::Connection;
use super::latency::Latencies;
use super::request::{Asked, Meaning, Request};
use super::sessions::Sessions;
use super::window::{OUTSIDE, Signals};
use anyhow::{Context, Result, bail, ensure};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;
use scurry_crash::clock::ns;
use scurry_model::Random;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const CONNECTIONS: usize = 12;
/// Pause before a refused request is sent again, ns.
const AGAIN_NS: i64 = 10_000_000;
/// Shortest sleep, ns: requests that are due within it go together.
const SLEEP_NS_MIN: i64 = 100_000;
/// Longest sleep, ns.
const SLEEP_NS_MAX: i64 = 5_000_000;
/// Time without any answer after which the load fails, ns.
const SILENCE_NS_MAX: i64 = 300_000_000_000;
const SECOND_NS: i64 = 1_000_000_000;
/// Interval of the lines of progress, ns.
const TELL_EVERY_NS: i64 = 10 * SECOND_NS;
/// Of so many acknowledged requests with an id one is sent once more, and must get its stored answer.
const REPEAT_ONE_IN: usize = 50;

/// What is sent next.
#[derive(Clone, Copy, Debug)]
enum Source {
    /// Nothing: requests under way are finished.
    Rest,
    /// CREATE of the accounts from here to before the end.
    Fill { next: u32, end: u32 },
    /// As many requests as the connections take.
    Closed,
    /// Requests by the clock.
    Paced { start_ns: i64, rate: u32, sent: u64 },
    /// The ends of the sessions that are open.
    Close,
}

/// The load of a piece.
pub(super) struct Load<'a> {
    nodes: Vec<(String, u16)>,
    interrupted: &'a AtomicBool,
    connections: Vec<Connection>,
    /// Connection that is tried first.
    turn: usize,
    source: Source,
    /// Requests to send again, each not before a time.
    again: VecDeque<(i64, Request)>,
    sessions: Sessions,
    pub(super) acknowledged: Acknowledged,
    random: Random,
    pub(super) counts: Counts,
    answered_ns: i64,
    classes: Vec<Latencies>,
    recent: Latencies,
}

/// Counts of a piece.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    /// Requests with a clear answer.
    pub(super) acknowledged: u64,
    /// Attempts that had no clear answer.
    pub(super) again: u64,
    /// Acknowledged requests that were sent once more and got their stored answers.
    pub(super) repeated: u64,
    /// Sessions that were left to expire.
    pub(super) expired: u64,
}

impl<'a> Load<'a> {
    /// Makes a load on these nodes. Ids of its requests have numbers from `serial` on.
    pub(super) fn new(
        nodes: Vec<(String, u16)>,
        acknowledged: Acknowledged,
        serial: u64,
        seed: u64,
        interrupted: &'a AtomicBool,
    ) -> Result<Load<'a>> {
        Ok(Load {
            connections: (0..CONNECTIONS).map(|at| Connection::new(at % nodes.len())).collect(),
            nodes,
            interrupted,
            turn: 0,
            source: Source::Rest,
            again: VecDeque::new(),
            sessions: Sessions::new(acknowledged.accounts(), serial),
            acknowledged,
            random: Random::new(seed),
            counts: Counts::default(),
            answered_ns: ns(),
            classes: Vec::new(),
            recent: Latencies::new()?,
        })
    }

    /// Returns the number from which a later load may take ids.
    pub(super) fn serial(&self) -> u64 {
        self.sessions.serial()
    }

    fn is_interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed)
    }

    /// Creates all accounts, unless it is interrupted.
    pub(super) fn fill(&mut self) -> Result<()> {
        let end = self.acknowledged.accounts();
        self.source = Source::Fill { next: 0, end };
        let (signals, mut told_ns) = (Signals::default(), ns());
        while let Source::Fill { next, end } = self.source
            && next < end
            && !self.is_interrupted()
        {
            self.step(&signals)?;
            if ns() - told_ns > TELL_EVERY_NS {
                told_ns = ns();
                eprintln!("{next} of {end} accounts are made");
            }
        }
        self.drain()
    }

    /// Sends as much as the connections take for this time. Returns the requests that were answered in a second.
    pub(super) fn measure(&mut self, time: Duration) -> Result<u32> {
        let (signals, start, before) = (Signals::default(), ns(), self.counts.acknowledged);
        self.source = Source::Closed;
        while i64::try_from(time.as_nanos())? > ns() - start && !self.is_interrupted() {
            self.step(&signals)?;
        }
        let (answered, took_ns) = (self.counts.acknowledged - before, ns() - start);
        self.drain()?;
        Ok(u32::try_from(u128::from(answered) * 1_000_000_000 / u128::try_from(took_ns)?)?)
    }

    /// Sends requests at this rate until the signals say that it is over, then finishes what is under way and closes all
    /// sessions. Returns the latencies, by class.
    pub(super) fn run(
        &mut self,
        rate: u32,
        classes: usize,
        signals: &Signals,
    ) -> Result<Vec<Latencies>> {
        self.counts = Counts::default();
        self.sessions.bound(rate);
        self.classes = (0..classes).map(|_| Latencies::new()).collect::<Result<_>>()?;
        let start_ns = ns();
        (self.answered_ns, self.source) = (start_ns, Source::Paced { start_ns, rate, sent: 0 });
        let mut told_ns = start_ns;
        while !signals.is_over() {
            self.step(signals)?;
            if ns() - told_ns > TELL_EVERY_NS {
                self.tell((ns() - start_ns) / SECOND_NS, ns() - told_ns, signals);
                told_ns = ns();
            }
        }
        let classes = std::mem::take(&mut self.classes);
        ensure!(
            !signals.has_failed(),
            "the load ends because another part of the piece has failed"
        );
        self.drain()?;
        self.source = Source::Close;
        while self.sessions.has_ready() {
            self.step(&Signals::default())?;
        }
        self.drain()?;
        Ok(classes)
    }

    /// Waits until every request has a clear answer.
    fn drain(&mut self) -> Result<()> {
        self.source = Source::Rest;
        let signals = Signals::default();
        while !self.again.is_empty() || self.in_flight() > 0 {
            self.step(&signals)?;
        }
        Ok(())
    }

    fn in_flight(&self) -> usize {
        self.connections.iter().map(Connection::len).sum()
    }

    /// Sends what is due, waits for a moment at most, and reads what has arrived.
    fn step(&mut self, signals: &Signals) -> Result<()> {
        let now = ns();
        let is_silent = now - self.answered_ns > SILENCE_NS_MAX;
        ensure!(!is_silent, "no answer for {} s", SILENCE_NS_MAX / SECOND_NS);
        self.mend(now);
        while let Some(at) = self.room(now) {
            let Some(mut request) = self.next(now)? else { break };
            let acknowledged = &self.acknowledged;
            request.used.get_or_insert_with(|| match request.asked {
                Asked::Check => acknowledged.of(request.account),
                _ => 0,
            });
            self.connections[at].begin(request, now);
        }
        for at in 0..self.connections.len() {
            if self.connections[at].flush().is_err() {
                self.close(at, now);
            }
        }
        let due_ns = self.due_ns().unwrap_or(now + SLEEP_NS_MAX);
        signals.behind_ns.store((now - due_ns).max(0), Ordering::Relaxed);
        self.wait((due_ns - now).clamp(SLEEP_NS_MIN, SLEEP_NS_MAX))?;
        self.receive(signals)
    }

    /// Closes connections that are silent, and connects those that are closed, each to a node chosen at random.
    fn mend(&mut self, now: i64) {
        for at in 0..self.connections.len() {
            if self.connections[at].is_silent(now) {
                self.close(at, now);
            }
            if self.connections[at].is_idle(now) {
                let node = self.random.below(self.nodes.len());
                self.connections[at].connect(node, &self.nodes[node], now);
            }
        }
    }

    fn close(&mut self, at: usize, now: i64) {
        for request in self.connections[at].close(now) {
            self.counts.again += 1;
            self.again.push_back((now + AGAIN_NS, request));
        }
    }

    /// Returns a connection that takes a request.
    fn room(&mut self, now: i64) -> Option<usize> {
        let count = self.connections.len();
        let mut all = (self.turn..self.turn + count).map(|at| at % count);
        let found = all.find(|at| self.connections[*at].has_room(now))?;
        self.turn = found + 1;
        Some(found)
    }

    /// Returns when the next request of a paced load is due. None if the source has no times.
    fn due_ns(&self) -> Option<i64> {
        let Source::Paced { start_ns, rate, sent } = self.source else { return None };
        Some(start_ns + (sent as f64 * 1e9 / f64::from(rate)) as i64)
    }

    /// Returns a request that is due.
    fn next(&mut self, now: i64) -> Result<Option<Request>> {
        if self.again.front().is_some_and(|(from_ns, _)| *from_ns <= now) {
            return Ok(self.again.pop_front().map(|(_, request)| request));
        }
        let due_ns = self.due_ns();
        match &mut self.source {
            Source::Rest => Ok(None),
            Source::Fill { next, end } if *next < *end => {
                *next += 1;
                Ok(Some(Request::new(Asked::Create, *next - 1, 0, now)))
            }
            Source::Fill { .. } => Ok(None),
            Source::Close => Ok(self.sessions.end(now)),
            Source::Closed => Ok(Some(self.sessions.mixed(&mut self.random, now))),
            Source::Paced { sent, .. } => {
                let due_ns = due_ns.context("a paced load has times")?;
                if due_ns > now {
                    return Ok(None);
                }
                *sent += 1;
                Ok(Some(self.sessions.mixed(&mut self.random, due_ns)))
            }
        }
    }

    /// Sleeps until something arrives, or for this time.
    fn wait(&self, sleep_ns: i64) -> Result<()> {
        let ready = self.connections.iter().filter_map(Connection::descriptor);
        let mut all: Vec<PollFd<'_>> = ready
            .map(|(descriptor, writes)| {
                let writes = if writes { PollFlags::POLLOUT } else { PollFlags::empty() };
                PollFd::new(descriptor, PollFlags::POLLIN | writes)
            })
            .collect();
        match ppoll(&mut all, Some(TimeSpec::new(0, sleep_ns)), None) {
            Ok(_) | Err(Errno::EINTR) => Ok(()),
            Err(error) => bail!("the load cannot wait: {error}"),
        }
    }

    fn receive(&mut self, signals: &Signals) -> Result<()> {
        let (now, windows) = (ns(), signals.windows());
        let mut answers = Vec::new();
        for at in 0..self.connections.len() {
            let answered = self.connections[at]
                .receive(now, |request, meaning| answers.push((request, meaning)));
            let is_refused = answers.iter().any(|(_, meaning)| *meaning == Meaning::Undone);
            if is_refused {
                self.connections[at].rest(now);
            }
            for (request, meaning) in answers.drain(..) {
                match meaning {
                    Meaning::Done => {
                        let class = windows.class_since(request.due_ns);
                        if let Some(own) = self.classes.get_mut(class) {
                            own.record(now - request.due_ns);
                            self.recent.record(now - request.due_ns);
                            let silent = windows.class_since(self.answered_ns);
                            self.classes[silent].silent(now - self.answered_ns);
                        }
                        self.answered_ns = now;
                        self.done(request, now)?;
                    }
                    Meaning::Undone => {
                        self.counts.again += 1;
                        self.again.push_back((now + AGAIN_NS, request));
                    }
                    Meaning::Wrong(text) => bail!(text),
                }
            }
            if answered.is_err() {
                self.close(at, now);
            }
        }
        Ok(())
    }

    /// Takes note of a request that has its answer.
    fn done(&mut self, request: Request, now: i64) -> Result<()> {
        self.counts.acknowledged += 1;
        if request.is_repeat {
            self.counts.repeated += 1;
        } else {
            self.acknowledged.add(request.account, request.units())?;
            self.counts.expired += u64::from(request.asked == Asked::ReserveBriefly);
            if request.has_id() && self.random.one_in(REPEAT_ONE_IN) {
                self.again.push_back((now, request.repeated(now)));
                return Ok(());
            }
        }
        self.sessions.done(&request);
        Ok(())
    }

    /// Prints a line about the last seconds.
    fn tell(&mut self, at_s: i64, took_ns: i64, signals: &Signals) {
        let recent = &self.recent;
        let rate = recent.count() as f64 * 1e9 / took_ns as f64;
        let ms = |share| recent.quantile_us(share) as f64 / 1e3;
        let behind_ms = signals.behind_ns.load(Ordering::Relaxed) / 1_000_000;
        let class = signals.windows().class_since(ns());
        let during = if class == OUTSIDE { "" } else { ", a fault is under way" };
        eprintln!(
            "{at_s} s: {rate:.0} answers a second, p50 {:.2} ms, p99 {:.2} ms, p99.9 {:.2} ms, {} under way, {behind_ms} \
             ms late{during}",
            ms(0.5),
            ms(0.99),
            ms(0.999),
            self.in_flight(),
        );
        self.recent.clear();
    }
}
