//! A client: sessions and events at a steady rate, over a connection to each door. It sends one request in ten a second
//! time, to the other door, and each one again until it is answered.

use super::books::Books;
use super::connection::{Connecting, Connection, Told};
use super::control::Control;
use anyhow::{Result, bail, ensure};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use scurry_crash::clock;
use scurry_diameter::Origin;
use scurry_diameter::peer::{Event, PeerSettings, Start, WatchdogState};
use scurry_diameter_sim::load::{
    Answer, Habits, Kind, Lane, Owner, Words, read_answer, write_copy,
};
use scurry_model::Random;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Sessions have one request under way. Of two, the one that arrives after Tcc, when the other was answered before it, is
/// refused by the ledger (docs/ledger.md, late use): its use would be lost, as the client is told.
const HABITS: Habits = Habits { think_ms: 1_500, abandon: 12, parallel: 0, odd: 0 };
/// One request in so many is sent a second time.
const REPEATED: usize = 10;
/// Time for an answer; after it the request is sent again. A door answers 3004 when it has waited for 3 s.
const ANSWER_MS: u64 = 5_000;
/// Time within which all requests are answered after the last fault: longer than any pause of the machine.
const END_MS: u64 = 180_000;
const BUSY: u32 = 3004;

/// What a client does at a time.
#[derive(Clone, Copy, Debug)]
enum Due {
    Lane(usize),
    /// The request is sent, or sent again if it is not answered.
    Send(u32),
    /// A copy is sent in any case.
    Repeat(u32),
}

/// A request that is not over: it has no answer, or copies that may still get one.
struct Live {
    words: Words,
    lane: usize,
    bytes: Vec<u8>,
    first_ms: u64,
    answer: Option<Answer>,
    copies: u32,
    /// Copies without an answer, and copies that are still to be sent in any case.
    waiting: u32,
    to_repeat: u32,
    next_door: usize,
    last_door: usize,
}

pub(super) struct Gateway {
    host: String,
    imsis: Vec<String>,
    addresses: [SocketAddr; 2],
    settings: Arc<PeerSettings>,
    primary: usize,
    connections: [Option<Connection>; 2],
    connecting: [Option<Connecting>; 2],
    connect_ms: [u64; 2],
    lanes: Vec<Lane>,
    idle: Vec<usize>,
    live: BTreeMap<u32, Live>,
    /// Requests by the number of a copy.
    copies: BTreeMap<u64, u32>,
    due: BTreeMap<(u64, u64), Due>,
    next: u64,
    next_end_to_end: u32,
    /// Sessions and events a second.
    rate: f64,
    random: Random,
    books: Books,
}

fn now_ms() -> u64 {
    u64::try_from(clock::ns() / 1_000_000).unwrap_or(0)
}

impl Gateway {
    pub(super) fn new(
        number: usize,
        addresses: [SocketAddr; 2],
        imsis: Vec<String>,
        rate: f64,
        random: Random,
    ) -> Gateway {
        let host = format!("pgw{number}.visited.example");
        let origin = Origin::new(&host, "visited.example", None);
        let settings = PeerSettings {
            watchdog_ms: 6_000,
            answer_ms: ANSWER_MS,
            requests_max: 4_096,
            ..PeerSettings::new(origin)
        };
        Gateway {
            host,
            imsis,
            addresses,
            settings: settings.into_shared(),
            primary: number % 2,
            connections: [None, None],
            connecting: [None, None],
            connect_ms: [0, 0],
            lanes: Vec::new(),
            idle: Vec::new(),
            live: BTreeMap::new(),
            copies: BTreeMap::new(),
            due: BTreeMap::new(),
            next: 0,
            next_end_to_end: 0,
            rate,
            random,
            books: Books::default(),
        }
    }

    /// Returns the accounts of its subscribers.
    pub(super) fn accounts(&self) -> Vec<String> {
        self.imsis.iter().map(|imsi| format!("imsi-{imsi}")).collect()
    }

    /// Charges until the run ends and everything is answered. Returns what was answered.
    pub(super) fn run(mut self, control: &Control) -> Result<Books> {
        let done = self.charge(control);
        if done.is_err() {
            control.fail();
        }
        self.books.counts.abandoned = self.lanes.iter().map(Lane::abandoned).sum();
        done.map(|()| self.books)
    }

    fn charge(&mut self, control: &Control) -> Result<()> {
        let begin_ms = now_ms();
        let mut end_ms = None;
        while !control.has_failed() {
            let now_ms = now_ms();
            for door in 0..2 {
                self.work(door, now_ms, control)?;
            }
            if control.is_ending.load(Ordering::Relaxed) {
                let end_ms = *end_ms.get_or_insert(now_ms + END_MS);
                if self.live.is_empty() && self.idle.len() == self.lanes.len() {
                    return Ok(());
                }
                let open = self.live.values().find(|live| live.answer.is_none());
                let open = open.map(|live| &live.words);
                ensure!(now_ms < end_ms, "no answer after the last fault: {open:?}");
            } else {
                let until_now = (now_ms - begin_ms) as f64 * self.rate / 1_000.0;
                while (self.books.counts.begun as f64) < until_now {
                    self.begin(now_ms);
                }
            }
            while let Some(entry) = self.due.first_entry().filter(|it| it.key().0 <= now_ms) {
                let due = entry.remove();
                self.act(due, now_ms);
            }
            let sockets = self.connections.iter().flatten().map(Connection::socket);
            let mut sockets: Vec<PollFd<'_>> =
                sockets.map(|socket| PollFd::new(socket, PollFlags::POLLIN)).collect();
            poll(&mut sockets, PollTimeout::from(2_u8))?;
        }
        Ok(())
    }

    fn schedule(&mut self, at_ms: u64, due: Due) {
        self.next += 1;
        self.due.insert((at_ms, self.next), due);
    }

    /// Begins a session or an event, in a lane that has nothing to do.
    fn begin(&mut self, now_ms: u64) {
        self.books.counts.begun += 1;
        let lane = self.idle.pop().unwrap_or_else(|| {
            self.lanes.push(Lane::new(self.lanes.len()));
            self.lanes.len() - 1
        });
        self.ask(lane, now_ms);
    }

    /// Has a lane make its next request.
    fn ask(&mut self, lane: usize, now_ms: u64) {
        let owner = Owner { host: &self.host, imsis: &self.imsis, numbers: &[] };
        let words = self.lanes[lane].next(owner, HABITS, &mut self.random, false);
        if let Some(words) = words {
            let end_to_end = self.next_end_to_end;
            self.next_end_to_end += 1;
            let is_repeated = self.random.one_in(REPEATED);
            let live = Live {
                bytes: words.write(end_to_end),
                words,
                lane,
                first_ms: now_ms,
                answer: None,
                copies: 0,
                waiting: 0,
                to_repeat: u32::from(is_repeated),
                next_door: self.primary,
                last_door: self.primary,
            };
            self.live.insert(end_to_end, live);
            self.schedule(now_ms, Due::Send(end_to_end));
            if is_repeated {
                // At the same time, so that either may be the first at the store, or later.
                let later_ms = if self.random.one_in(2) { 0 } else { self.random.below(3_000) };
                self.schedule(now_ms + later_ms as u64, Due::Repeat(end_to_end));
            }
        }
        self.go_on(lane);
    }

    /// Notes when a lane asks again, or that it has nothing to do.
    fn go_on(&mut self, lane: usize) {
        if self.lanes[lane].is_idle() {
            if !self.idle.contains(&lane) {
                self.idle.push(lane);
            }
        } else if let Some(due_ms) = self.lanes[lane].due_ms(true) {
            self.schedule(due_ms, Due::Lane(lane));
        }
    }

    fn act(&mut self, due: Due, now_ms: u64) {
        match due {
            Due::Lane(lane) => {
                let own = &self.lanes[lane];
                if !own.is_idle() && own.due_ms(true).is_some_and(|due_ms| due_ms <= now_ms) {
                    self.ask(lane, now_ms);
                }
            }
            Due::Send(at) => {
                let Some(live) = self.live.get(&at).filter(|live| live.answer.is_none()) else {
                    return;
                };
                let (door, is_marked) = (live.next_door, live.copies > 0);
                if !self.send(at, door, is_marked, now_ms) {
                    self.schedule(now_ms + 100, Due::Send(at));
                }
            }
            Due::Repeat(at) => {
                let Some(live) = self.live.get_mut(&at) else { return };
                live.to_repeat -= 1;
                let door = 1 - live.last_door;
                self.books.counts.repeats += 1;
                self.send(at, door, true, now_ms);
                self.forget(at);
            }
        }
    }

    /// Sends a copy to this door, or to the other one. Returns false if neither takes it.
    fn send(&mut self, at: u32, door: usize, is_marked: bool, now_ms: u64) -> bool {
        let Some(live) = self.live.get_mut(&at) else { return true };
        for door in [door, 1 - door] {
            let Some(connection) = &mut self.connections[door] else { continue };
            if !connection.is_usable() {
                continue;
            }
            self.books.counts.copies += 1;
            let copy = self.books.counts.copies;
            let is_sent = connection.request(copy, now_ms, |out, ids| {
                write_copy(&live.bytes, ids.hop_by_hop, is_marked, out);
            });
            if is_sent {
                self.copies.insert(copy, at);
                live.copies += 1;
                live.waiting += 1;
                live.last_door = door;
                return true;
            }
        }
        false
    }

    /// Connects, reads, writes, and does what events say.
    fn work(&mut self, door: usize, now_ms: u64, control: &Control) -> Result<()> {
        let mut told = Vec::new();
        let Some(connection) = &mut self.connections[door] else {
            self.connect(door, now_ms);
            return Ok(());
        };
        let is_over = connection.work(now_ms, &mut told).is_err();
        let is_closed = told.iter().any(|(event, _)| matches!(event, Event::Close(_)));
        if (is_over || is_closed)
            && let Some(connection) = self.connections[door].take()
        {
            told.extend(connection.end());
            self.connect_ms[door] = now_ms + 200 + self.random.below(800) as u64;
        }
        for (event, message) in told {
            self.take(door, (event, message), now_ms, control)?;
        }
        Ok(())
    }

    fn connect(&mut self, door: usize, now_ms: u64) {
        let Some(connecting) = &self.connecting[door] else {
            if self.connect_ms[door] <= now_ms {
                self.connecting[door] = Some(Connecting::to(self.addresses[door]));
            }
            return;
        };
        let Some(outcome) = connecting.outcome() else { return };
        self.connecting[door] = None;
        self.connect_ms[door] = now_ms + 200;
        let wall_s = u64::try_from(clock::wall_ms() / 1_000).unwrap_or(0);
        let start = Start { now_ms, jitter_ms: 0, wall_s, random: self.random.next_u64() };
        let begun = outcome.and_then(|stream| Connection::begin(stream, &self.settings, &start));
        if let Ok(connection) = begun {
            self.books.counts.connections += 1;
            self.connections[door] = Some(connection);
        }
    }

    fn take(
        &mut self,
        door: usize,
        (event, message): Told,
        now_ms: u64,
        control: &Control,
    ) -> Result<()> {
        match (event, message) {
            (Event::Answer { token, .. }, Some(message)) => {
                let answer = read_answer(&message);
                control.answers.fetch_add(1, Ordering::Relaxed);
                if answer.result != BUSY {
                    control.served[door].fetch_add(1, Ordering::Relaxed);
                }
                self.answered(door, token.0, answer, now_ms)?;
            }
            (Event::Unanswered { token }, _) => {
                let Some(at) = self.copies.remove(&token.0) else { return Ok(()) };
                self.fail_over(at, door, now_ms, true);
            }
            (Event::Watchdog(state), _) => {
                let is_suspect = state != WatchdogState::Okay;
                if let Some(connection) = &mut self.connections[door] {
                    connection.suspect(is_suspect);
                }
                self.books.counts.suspects += u64::from(is_suspect);
                let here = self.live.iter().filter(|(_, live)| live.last_door == door);
                let here: Vec<u32> = here.map(|(at, _)| *at).filter(|_| is_suspect).collect();
                here.into_iter().for_each(|at| self.fail_over(at, door, now_ms, false));
            }
            _ => {}
        }
        Ok(())
    }

    /// Has a request sent again, over the other connection if that is in order.
    fn fail_over(&mut self, at: u32, door: usize, now_ms: u64, is_over: bool) {
        let Some(live) = self.live.get_mut(&at) else { return };
        live.waiting -= u32::from(is_over);
        if live.answer.is_none() {
            live.next_door = 1 - door;
            self.books.counts.failovers += 1;
            self.schedule(now_ms, Due::Send(at));
        }
        self.forget(at);
    }

    fn answered(&mut self, door: usize, copy: u64, answer: Answer, now_ms: u64) -> Result<()> {
        let Some(at) = self.copies.remove(&copy) else { bail!("an answer to no request") };
        let Some(live) = self.live.get_mut(&at) else {
            bail!("an answer to a request that is over")
        };
        let words = &live.words;
        let is_its = (answer.session.as_str(), answer.number, answer.end_to_end)
            == (words.session.as_str(), words.number, at);
        ensure!(is_its, "an answer to another request: {words:?} {answer:?}");
        live.waiting -= 1;
        if answer.result == BUSY {
            self.books.counts.busy += 1;
            if live.answer.is_none() {
                live.next_door = 1 - door;
                self.schedule(now_ms + 200, Due::Send(at));
            }
        } else if let Some(first) = &live.answer {
            self.books.counts.answered_again += 1;
            let is_same = first.result == answer.result
                && (words.kind == Kind::Check || first.said == answer.said);
            // Of a session that has ended the store may not remember the request any more.
            let is_late = matches!(answer.result, 5002 | 5012) && !words.kind.is_event();
            ensure!(is_same || is_late, "another answer to {words:?}:\n{first:?}\n{answer:?}");
        } else {
            self.books.enter(words, &answer)?;
            let counts = &mut self.books.counts;
            counts.slowest_ms = counts.slowest_ms.max(now_ms - live.first_ms);
            let lane = live.lane;
            self.lanes[lane].answered(words, &answer, (HABITS, &mut self.random, now_ms));
            live.answer = Some(answer);
            self.go_on(lane);
        }
        self.forget(at);
        Ok(())
    }

    /// Forgets a request that is over.
    fn forget(&mut self, at: u32) {
        let is_over = |live: &Live| live.answer.is_some() && live.waiting + live.to_repeat == 0;
        if self.live.get(&at).is_some_and(is_over) {
            self.live.remove(&at);
        }
    }
}
