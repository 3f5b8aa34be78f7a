//! A client: sessions and events at a steady rate, over a connection to each door. It sends one request in ten a second
//! time, to the other door, and each one again until it is answered.

use super::books::{Books, CREDIT_LIMIT};
use super::connecting::Connecting;
use super::control::Control;
use super::protocol::{Answered, BUSY, Connection, Copy, Protocol, Told};
use anyhow::{Result, bail, ensure};
use scurry_crash::clock;
use scurry_diameter_sim::load::{Answer, Habits, Kind, Lane, Owner, Quantity, Words};
use scurry_model::Random;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::Ordering;

/// Sessions have one request under way. Of two, the one that arrives after Tcc, when the other was answered before it, is
/// refused by the ledger (docs/ledger.md, late use): its use would be lost, as the client is told.
const HABITS: Habits = Habits { think_ms: 1_500, abandon: 12, parallel: 0, odd: 0 };
/// One request in so many is sent a second time.
const REPEATED: usize = 10;
/// Time within which all requests are answered after the last fault: longer than any pause of the machine.
const END_MS: u64 = 180_000;

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
struct Live<M> {
    words: Words,
    lane: usize,
    message: M,
    first_ms: u64,
    answer: Option<Answer>,
    copies: u32,
    /// Copies without an answer, and copies that are still to be sent in any case.
    waiting: u32,
    to_repeat: u32,
    next_door: usize,
    last_door: usize,
}

pub(super) struct Gateway<P: Protocol> {
    protocol: P,
    imsis: Vec<String>,
    primary: usize,
    connections: [Option<P::Connection>; 2],
    connecting: [Connecting; 2],
    lanes: Vec<Lane>,
    idle: Vec<usize>,
    live: BTreeMap<u32, Live<P::Message>>,
    /// Requests by the number of a copy.
    copies: BTreeMap<u64, u32>,
    due: BTreeMap<(u64, u64), Due>,
    next: u64,
    next_request: u32,
    /// Sessions and events a second.
    rate: f64,
    random: Random,
    books: Books,
    /// One more use is entered in the books than is reported, once.
    is_to_lie: bool,
}

fn now_ms() -> u64 {
    u64::try_from(clock::ns() / 1_000_000).unwrap_or(0)
}

impl<P: Protocol> Gateway<P> {
    pub(super) fn new(
        number: usize,
        addresses: [SocketAddr; 2],
        imsis: Vec<String>,
        rate: f64,
        mut random: Random,
    ) -> Result<Gateway<P>> {
        Ok(Gateway {
            protocol: P::new(number, Random::new(random.next_u64()))?,
            imsis,
            primary: number % 2,
            connections: [None, None],
            connecting: addresses.map(Connecting::to),
            lanes: Vec::new(),
            idle: Vec::new(),
            live: BTreeMap::new(),
            copies: BTreeMap::new(),
            due: BTreeMap::new(),
            next: 0,
            next_request: 0,
            rate,
            random,
            books: Books::default(),
            is_to_lie: false,
        })
    }

    /// Has the books say once that one unit more was used than is reported: they must not agree in the end.
    pub(super) fn lie(&mut self) {
        self.is_to_lie = true;
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
            self.protocol.wait(self.connections.iter().flatten())?;
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
        let owner = Owner { host: self.protocol.host(), imsis: &self.imsis, numbers: &[] };
        let words = self.lanes[lane].next(owner, HABITS, &mut self.random, false);
        if let Some(mut words) = words {
            let request = self.next_request;
            self.next_request += 1;
            let is_repeated = self.random.one_in(REPEATED);
            let message = self.protocol.message(request, &mut words);
            if self.is_to_lie && words.kind == Kind::Update {
                words.parts[0].used = Some(Quantity::Octets(words.parts[0].used() + 1));
                self.is_to_lie = false;
            }
            let live = Live {
                message,
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
            self.live.insert(request, live);
            self.schedule(now_ms, Due::Send(request));
            if is_repeated {
                // At the same time, so that either may be the first at the store, or later.
                let later_ms = if self.random.one_in(2) { 0 } else { self.random.below(3_000) };
                self.schedule(now_ms + later_ms as u64, Due::Repeat(request));
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
            let number = self.books.counts.copies;
            let is_alone = live.answer.is_none() && live.waiting + live.to_repeat == 0;
            let copy = Copy { number, is_marked, is_alone };
            if connection.send(copy, &mut live.message, now_ms) {
                self.copies.insert(number, at);
                let most = &mut self.books.counts.under_way_max;
                *most = self.copies.len().max(*most);
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
        if is_over && let Some(connection) = self.connections[door].take() {
            let ended = connection.end();
            let counts = &mut self.books.counts;
            counts.cuts += u64::from(ended.cut_off.is_some());
            counts.cut_off += ended.cut_off.unwrap_or(0);
            told.extend(ended.unanswered.into_iter().map(Told::Unanswered));
            let pause_ms = 200 + self.random.below(800) as u64;
            self.connecting[door].pause_until(now_ms + pause_ms);
        }
        for told in told {
            self.take(door, told, now_ms, control)?;
        }
        Ok(())
    }

    fn connect(&mut self, door: usize, now_ms: u64) {
        let Some(stream) = self.connecting[door].stream(now_ms) else { return };
        if let Ok(connection) = self.protocol.begin(stream, now_ms) {
            self.books.counts.connections += 1;
            self.connections[door] = Some(connection);
        }
    }

    fn take(&mut self, door: usize, told: Told, now_ms: u64, control: &Control) -> Result<()> {
        match told {
            Told::Answer(copy, answered) => {
                control.answers.fetch_add(1, Ordering::Relaxed);
                if answered.answer.result != BUSY {
                    control.served[door].fetch_add(1, Ordering::Relaxed);
                }
                self.answered(door, copy, answered, now_ms)?;
            }
            Told::Unanswered(copy) => {
                let Some(at) = self.copies.remove(&copy) else { return Ok(()) };
                self.fail_over(at, door, now_ms, true);
            }
            Told::Suspect(is_suspect) => {
                self.books.counts.suspects += u64::from(is_suspect);
                let here = self.live.iter().filter(|(_, live)| live.last_door == door);
                let here: Vec<u32> = here.map(|(at, _)| *at).filter(|_| is_suspect).collect();
                here.into_iter().for_each(|at| self.fail_over(at, door, now_ms, false));
            }
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

    fn answered(
        &mut self,
        door: usize,
        copy: u64,
        mut answered: Answered,
        now_ms: u64,
    ) -> Result<()> {
        let Some(at) = self.copies.remove(&copy) else { bail!("an answer to no request") };
        let Some(live) = self.live.get_mut(&at) else {
            bail!("an answer to a request that is over")
        };
        let (words, answer) = (&live.words, &answered.answer);
        let is_its = (answer.session.as_str(), answer.number, answer.end_to_end)
            == (words.session.as_str(), words.number, at);
        ensure!(is_its, "a wrong answer, or to another request: {words:?} {answered:?}");
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
            // Of a session that has ended the store may not remember the request any more, but that it was denied.
            let may_be_late = !words.kind.is_event() && first.result != CREDIT_LIMIT;
            let is_late = may_be_late && matches!(answer.result, 5002 | 5012);
            let is_two = P::may_be_two(&live.message) && !is_same && !is_late;
            self.books.counts.twice_opened += u64::from(is_two);
            ensure!(
                is_same || is_late || is_two,
                "another answer to {words:?}:\n{first:?}\n{answer:?}"
            );
        } else {
            self.books.enter(words, answer, &answered.label)?;
            self.protocol.answered(words, &answered);
            let counts = &mut self.books.counts;
            counts.slowest_ms = counts.slowest_ms.max(now_ms - live.first_ms);
            let lane = live.lane;
            self.lanes[lane].answered(words, answer, (HABITS, &mut self.random, now_ms));
            live.answer = Some(answered.take());
            self.go_on(lane);
        }
        self.forget(at);
        Ok(())
    }

    /// Forgets a request that is over.
    fn forget(&mut self, at: u32) {
        let is_over =
            |live: &Live<P::Message>| live.answer.is_some() && live.waiting + live.to_repeat == 0;
        if self.live.get(&at).is_some_and(is_over) {
            self.live.remove(&at);
        }
    }
}
