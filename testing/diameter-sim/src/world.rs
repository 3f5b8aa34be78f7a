//! The world of a run: doors, clients, links and the store, and what happens next.

use crate::answer;
use crate::client::{Client, ClientSide};
use crate::door::Door;
use crate::fault::Fault;
use crate::link::{Chunk, End, Link, LinkId};
use crate::plan::{Plan, time};
use crate::request::{self, Request, Words};
use crate::side::{Side, Told, settings};
use crate::store::{SimStore, Ticket};
use crate::truth::{Meaning, Truth};
use scurry_diameter::Origin;
use scurry_diameter::peer::{Admission, CloseReason, Event, Start, WatchdogState};
use scurry_ledger::Time;
use scurry_model::Random;
use scurry_service::{CallError, Reply, Request as StoreRequest};
use scurry_service_table::{MeasureKey, ServiceRow, ServiceTable, UnknownSubscriber};
use std::collections::BTreeMap;

/// Wall clock at the begin of a run, ms.
const BEGIN_MS: i64 = 1_700_000_000_000;
/// Time after which a client connects again.
const CONNECT_MS: i64 = 2_000;

/// What happens at a time.
pub(crate) enum What {
    /// The next chunk of a link comes to this end.
    Delivers(LinkId, End),
    /// The store carries a request out.
    Carries(Ticket, Box<StoreRequest>),
    /// The store replies.
    Replies(Ticket, Box<Result<Reply, CallError>>),
    /// A client sends another copy of a request that is answered.
    Repeats(usize),
    LinkFails,
    DoorFails,
    /// A door starts.
    Starts(usize),
    /// A door has drained for long enough.
    Drained(usize),
}

pub(crate) struct World {
    pub(crate) plan: Plan,
    pub(crate) random: Random,
    pub(crate) fault: Fault,
    pub(crate) now_ms: u64,
    queue: BTreeMap<(u64, u64), What>,
    next: u64,
    pub(crate) links: Vec<Link>,
    pub(crate) doors: [Door; 2],
    pub(crate) clients: Vec<Client>,
    pub(crate) store: SimStore,
    table: ServiceTable,
    pub(crate) truth: Truth,
    /// Copies by link and hop-by-hop identifier.
    sent: BTreeMap<(LinkId, u32), u64>,
    /// True while anything may fail.
    pub(crate) is_faulty: bool,
}

impl World {
    pub(crate) fn new(plan: Plan, random: Random, fault: Fault) -> World {
        let row = ServiceRow {
            context: Some("32251@".to_owned()),
            measure: Some(MeasureKey::Volume),
            validity_s: Some(plan.validity_s),
            ..ServiceRow::default()
        };
        let table = ServiceTable::new(&[row], &[], UnknownSubscriber::default()).expect("a table");
        let store = SimStore::new();
        let doors = [0, 1].map(|door| {
            let origin = Origin::new(&format!("ocs{door}.example"), "ocs.example", None);
            Door::new(settings(origin, plan.watchdog_ms, 10_000), &store, &table, fault)
        });
        let clients = (0..plan.clients).map(|at| {
            let host = format!("pgw{at}.visited.example");
            let origin = Origin::new(&host, "visited.example", None);
            Client {
                settings: settings(origin, plan.watchdog_ms, plan.answer_ms),
                host,
                sides: [None, None],
                connect_ms: [0, 0],
                primary: at % 2,
                lanes: vec![Default::default(); plan.lanes],
                imsis: (0..plan.accounts)
                    .map(|number| format!("00101000000{at}{number:03}"))
                    .collect(),
                open: Vec::new(),
            }
        });
        let clients: Vec<Client> = clients.collect();
        for imsi in clients.iter().flat_map(|client| &client.imsis) {
            store.create(format!("imsi-{imsi}").as_bytes(), plan.credit, Time(BEGIN_MS));
        }
        World {
            plan,
            random,
            fault,
            now_ms: 0,
            queue: BTreeMap::new(),
            next: 0,
            links: Vec::new(),
            doors,
            clients,
            store,
            table,
            truth: Truth::default(),
            sent: BTreeMap::new(),
            is_faulty: true,
        }
    }

    /// Returns the wall clock.
    pub(crate) fn wall(&self) -> Time {
        Time(BEGIN_MS.saturating_add_unsigned(self.now_ms))
    }

    pub(crate) fn schedule(&mut self, at_ms: u64, what: What) {
        self.next += 1;
        self.queue.insert((at_ms, self.next), what);
    }

    /// Returns a random time from 0 to `max`.
    pub(crate) fn up_to(&mut self, max: i64) -> u64 {
        time(self.random.between(0, max))
    }

    fn start(&mut self) -> Start {
        Start {
            now_ms: self.now_ms,
            jitter_ms: self.random.between(-2_000, 2_000),
            wall_s: (time(BEGIN_MS) + self.now_ms) / 1_000,
            random: self.random.next_u64(),
        }
    }

    /// Moves time to what happens next, and does all that happens then. Returns false if that is after `until_ms`.
    pub(crate) fn step(&mut self, until_ms: u64, may_begin: bool) -> bool {
        let due_ms = self.due_ms(may_begin).max(self.now_ms);
        if due_ms > until_ms {
            self.now_ms = until_ms;
            return false;
        }
        self.now_ms = due_ms;
        self.tick();
        while let Some(entry) = self.queue.first_entry().filter(|entry| entry.key().0 <= due_ms) {
            let what = entry.remove();
            self.happen(what);
            self.poll();
        }
        for client in 0..self.clients.len() {
            self.act(client, may_begin);
        }
        self.poll();
        true
    }

    fn due_ms(&self, may_begin: bool) -> u64 {
        let queued = self.queue.first_key_value().map(|((due_ms, _), _)| *due_ms);
        let doors = self.doors.iter().flat_map(|door| door.sides.values());
        let doors = doors.filter_map(|own| own.side.due_ms());
        let own = self.clients.iter().flat_map(|client| {
            let sides = client.sides.iter().zip(client.connect_ms);
            let sides = sides.filter_map(|(side, connect_ms)| match side {
                None => Some(connect_ms),
                Some(own) => own.side.due_ms(),
            });
            let lanes = client.lanes.iter().filter_map(move |lane| lane.due_ms(may_begin));
            let open = client.open.iter().map(|at| self.truth.requests[*at].next_ms);
            sides.chain(lanes).chain(open)
        });
        queued.into_iter().chain(doors).chain(own).min().unwrap_or(u64::MAX)
    }

    fn tick(&mut self) {
        for door in 0..2 {
            let links: Vec<LinkId> = self.doors[door].sides.keys().copied().collect();
            for link in links {
                let jitter_ms = self.random.between(-2_000, 2_000);
                let Some(own) = self.doors[door].sides.get_mut(&link) else { continue };
                if own.side.due_ms().is_some_and(|due_ms| due_ms <= self.now_ms) {
                    let told = own.side.tick(self.now_ms, jitter_ms);
                    self.door_told(door, link, told);
                }
            }
        }
        for client in 0..self.clients.len() {
            for door in 0..2 {
                let jitter_ms = self.random.between(-2_000, 2_000);
                let Some(own) = &mut self.clients[client].sides[door] else { continue };
                if own.side.due_ms().is_some_and(|due_ms| due_ms <= self.now_ms) {
                    let told = own.side.tick(self.now_ms, jitter_ms);
                    self.client_told(client, door, told);
                }
            }
        }
    }

    fn happen(&mut self, what: What) {
        match what {
            What::Delivers(link, end) => match self.links[link].to(end).deliver(self.now_ms) {
                Err(later_ms) => self.schedule(later_ms, What::Delivers(link, end)),
                Ok(None) => {}
                Ok(Some(chunk)) => self.arrives(link, end, chunk),
            },
            What::Carries(ticket, request) => self.carry_out(ticket, &request),
            What::Replies(ticket, outcome) => self.store.reply(ticket, *outcome),
            What::Repeats(request) => {
                let (door, is_marked) = (self.random.below(2), self.random.one_in(2));
                self.send(request, door, is_marked);
            }
            What::LinkFails => self.link_fails(),
            What::DoorFails => self.door_fails(),
            What::Starts(door) => {
                let settings = std::sync::Arc::clone(&self.doors[door].settings);
                self.doors[door] = Door::new(settings, &self.store, &self.table, self.fault);
            }
            What::Drained(door) => self.kill(door),
        }
    }

    fn arrives(&mut self, link: LinkId, end: End, chunk: Chunk) {
        let Link { client, door, .. } = self.links[link];
        match (end, chunk) {
            (End::Door, Chunk::Bytes(bytes)) => {
                let (told, former) = self.doors[door].take(link, &bytes, self.now_ms);
                for link in former {
                    self.end_door_side(door, link);
                }
                self.door_told(door, link, told);
            }
            (End::Door, Chunk::End) => self.end_door_side(door, link),
            (End::Client, chunk) => {
                if self.clients[client].door_of(link) != Some(door) {
                    return;
                }
                let Some(own) = &mut self.clients[client].sides[door] else { return };
                let told = match &chunk {
                    Chunk::Bytes(bytes) => {
                        own.side.take(bytes, self.now_ms, &mut |_| Admission::Admit)
                    }
                    Chunk::End => own.side.end(self.now_ms),
                };
                self.client_told(client, door, told);
                if matches!(chunk, Chunk::End) {
                    self.leave(client, door);
                }
            }
        }
    }

    /// Sends what a side has written.
    fn flush(&mut self, link: LinkId, to: End, mut bytes: Vec<u8>) {
        if bytes.is_empty() {
            return;
        }
        // TCP has no borders between messages.
        let rest = bytes.split_off(self.random.below(bytes.len() + 1));
        for part in [bytes, rest] {
            if !part.is_empty() {
                self.send_chunk(link, to, Chunk::Bytes(part));
            }
        }
    }

    pub(crate) fn send_chunk(&mut self, link: LinkId, to: End, chunk: Chunk) {
        let delay_ms = self.up_to(self.plan.delay_ms);
        if let Some(due_ms) = self.links[link].to(to).send(chunk, self.now_ms, delay_ms) {
            self.schedule(due_ms, What::Delivers(link, to));
        }
    }

    /// Lets doors ask the store, and sends what all sides have written.
    fn poll(&mut self) {
        for door in 0..2 {
            self.doors[door].poll();
            let written = self.doors[door].sides.iter_mut();
            let written: Vec<(LinkId, Vec<u8>)> =
                written.map(|(link, own)| (*link, std::mem::take(&mut own.side.out))).collect();
            for (link, bytes) in written {
                self.flush(link, End::Client, bytes);
            }
            self.disconnect_drained(door);
        }
        for (ticket, request) in self.store.take_asked() {
            let at_ms = self.now_ms + self.up_to(self.plan.store_ms);
            self.schedule(at_ms, What::Carries(ticket, Box::new(request)));
        }
        for client in 0..self.clients.len() {
            for door in 0..2 {
                let Some(own) = &mut self.clients[client].sides[door] else { continue };
                let (link, bytes) = (own.link, std::mem::take(&mut own.side.out));
                self.flush(link, End::Door, bytes);
            }
        }
    }

    /// Asks clients of a door that drains to disconnect, once their requests are answered.
    fn disconnect_drained(&mut self, door: usize) {
        if self.doors[door].drain_until_ms.is_none() {
            return;
        }
        let links: Vec<LinkId> = self.doors[door].sides.keys().copied().collect();
        for link in links {
            if !self.doors[door].has_answered(link) {
                continue;
            }
            let Some(own) = self.doors[door].sides.get_mut(&link) else { continue };
            let told = own.side.drain(self.now_ms);
            let bytes = std::mem::take(&mut own.side.out);
            self.flush(link, End::Client, bytes);
            self.door_told(door, link, told);
        }
    }

    fn carry_out(&mut self, ticket: Ticket, request: &StoreRequest) {
        let (now, plan) = (self.wall(), &self.plan);
        let rate = plan.store_fault;
        let is_lost = self.is_faulty && rate > 0 && self.random.one_in(rate);
        let lost = || Err(CallError::Unknown("its reply is lost".to_owned()));
        let outcome = match (self.fault, is_lost) {
            (Fault::StoreForgets, true) => self.store.pretend(request, now),
            (_, false) => self.store.execute(request, now),
            // Before it was carried out, or after it.
            (_, true) if self.random.one_in(2) => lost(),
            (_, true) => {
                drop(self.store.execute(request, now));
                lost()
            }
        };
        let at_ms = self.now_ms + self.up_to(self.plan.store_ms);
        self.schedule(at_ms, What::Replies(ticket, Box::new(outcome)));
    }

    fn door_told(&mut self, door: usize, link: LinkId, told: Vec<Told>) {
        for (event, message) in told {
            match (event, message) {
                (Event::Request(header), Some(message)) => {
                    let copy = self.sent[&(link, header.hop_by_hop)];
                    self.truth.arrives(copy, door);
                    self.doors[door].begin(link, &message);
                }
                (Event::Close(reason), _) => self.door_closes(door, link, reason),
                (Event::Watchdog(state), _) => self.watchdog(state),
                _ => {}
            }
        }
    }

    fn watchdog(&mut self, state: WatchdogState) {
        match state {
            WatchdogState::Okay => self.truth.report.trusted_again += 1,
            WatchdogState::Suspect | WatchdogState::Down => self.truth.report.suspects += 1,
        }
    }

    fn door_closes(&mut self, door: usize, link: LinkId, reason: CloseReason) {
        let report = &mut self.truth.report;
        match reason {
            CloseReason::WatchdogTimeout => report.watchdog_closes += 1,
            CloseReason::Refused(_) => report.elections_lost += 1,
            _ => {}
        }
        let Some(mut own) = self.doors[door].sides.remove(&link) else { return };
        let bytes = std::mem::take(&mut own.side.out);
        self.flush(link, End::Client, bytes);
        self.send_chunk(link, End::Client, Chunk::End);
    }

    /// Ends a connection of a door below its machine, and with it the requests that are under way.
    fn end_door_side(&mut self, door: usize, link: LinkId) {
        let Some(mut own) = self.doors[door].sides.remove(&link) else { return };
        drop(own.side.end(self.now_ms));
        self.send_chunk(link, End::Client, Chunk::End);
    }

    /// Kills a door: its host closes the connections.
    pub(crate) fn kill(&mut self, door: usize) {
        let links: Vec<LinkId> = self.doors[door].sides.keys().copied().collect();
        for link in links {
            self.end_door_side(door, link);
        }
        self.doors[door].is_up = false;
        let at_ms = self.now_ms + self.up_to(8_000);
        self.schedule(at_ms, What::Starts(door));
    }

    fn client_told(&mut self, client: usize, door: usize, told: Vec<Told>) {
        for (event, message) in told {
            match event {
                Event::Answer { token, .. } => {
                    let bytes = message.expect("an answer is a message");
                    let (at, meaning) = self.truth.answered(token.0, answer::read(&bytes));
                    self.heard(client, door, at, meaning);
                }
                Event::Unanswered { token } => {
                    let at = self.truth.gives_up(token.0);
                    self.fail_over(at, door);
                }
                Event::Watchdog(state) => {
                    self.watchdog(state);
                    // RFC 3539, 3.4.1: what waits is sent over the other connection.
                    let open = self.clients[client].open.clone();
                    for at in open.into_iter().filter(|_| state == WatchdogState::Suspect) {
                        self.fail_over(at, door);
                    }
                }
                Event::Close(_) => {
                    let Some(own) = &mut self.clients[client].sides[door] else { continue };
                    let (link, bytes) = (own.link, std::mem::take(&mut own.side.out));
                    self.flush(link, End::Door, bytes);
                    self.send_chunk(link, End::Door, Chunk::End);
                    self.leave(client, door);
                }
                Event::Up(_) | Event::Request(_) => {}
            }
        }
    }

    /// Has a request sent again, if it is not answered, over the other connection if that is in order.
    fn fail_over(&mut self, at: usize, door: usize) {
        let request = &mut self.truth.requests[at];
        if request.answer.is_none() {
            (request.next_ms, request.next_door) = (self.now_ms, 1 - door);
            self.truth.report.failovers += 1;
        }
    }

    fn heard(&mut self, client: usize, door: usize, at: usize, meaning: Meaning) {
        match meaning {
            Meaning::Again => {}
            Meaning::Busy => {
                if self.truth.requests[at].answer.is_none() {
                    let later_ms = self.now_ms + 50 + self.up_to(500);
                    let request = &mut self.truth.requests[at];
                    (request.next_ms, request.next_door) = (later_ms, 1 - door);
                }
            }
            Meaning::First => {
                self.clients[client].open.retain(|open| *open != at);
                let request = &self.truth.requests[at];
                let lane = &mut self.clients[client].lanes[request.lane];
                let answer = request.answer.as_ref().expect("an answer");
                lane.answered(&request.words, answer, (&self.plan, &mut self.random, self.now_ms));
                if self.is_faulty && self.plan.again > 0 && self.random.one_in(self.plan.again) {
                    let at_ms = self.now_ms + self.up_to(20_000);
                    self.schedule(at_ms, What::Repeats(at));
                }
            }
        }
    }

    fn leave(&mut self, client: usize, door: usize) {
        self.clients[client].sides[door] = None;
        self.clients[client].connect_ms[door] = self.now_ms + 1 + self.up_to(CONNECT_MS);
    }

    /// Does what a client does by itself: it connects, asks, and sends again.
    fn act(&mut self, client: usize, may_begin: bool) {
        for door in 0..2 {
            let own = &self.clients[client];
            if own.sides[door].is_none() && own.connect_ms[door] <= self.now_ms {
                self.connect(client, door);
            }
        }
        for at in 0..self.plan.lanes {
            let own = &mut self.clients[client];
            if own.lanes[at].due_ms(may_begin).is_none_or(|due_ms| due_ms > self.now_ms) {
                continue;
            }
            let who = (own.host.as_str(), at, &own.imsis[..]);
            let words = own.lanes[at].next(who, &self.plan, &mut self.random, !may_begin);
            if let Some(words) = words {
                self.ask(client, at, words);
            }
        }
        for at in self.clients[client].open.clone() {
            let request = &self.truth.requests[at];
            if request.next_ms > self.now_ms {
                continue;
            }
            let (door, is_first) = (request.next_door, request.copies == 0);
            self.truth.requests[at].next_ms = self.now_ms + 300;
            if self.send(at, door, !is_first) {
                self.truth.requests[at].next_ms = u64::MAX;
                let rate = self.plan.double;
                if is_first && self.is_faulty && rate > 0 && self.random.one_in(rate) {
                    let (door, is_marked) = (self.random.below(2), self.random.one_in(2));
                    self.send(at, door, is_marked);
                }
            }
        }
    }

    fn connect(&mut self, client: usize, door: usize) {
        if !self.doors[door].is_up || self.doors[door].drain_until_ms.is_some() {
            self.clients[client].connect_ms[door] = self.now_ms + 500;
            return;
        }
        let link = self.links.len();
        self.links.push(Link::new(client, door));
        let (here, there) = (self.start(), self.start());
        let mut side = Side::connect(&self.clients[client].settings, &here);
        let mut other = Side::accept(&self.doors[door].settings, &there);
        side.is_stubborn = self.fault == Fault::WatchdogStaysSuspect;
        other.is_stubborn = side.is_stubborn;
        self.clients[client].sides[door] = Some(ClientSide { link, side });
        self.doors[door].accept(link, other);
    }

    /// Makes a request of these words, which is sent at once.
    fn ask(&mut self, client: usize, lane: usize, words: Words) {
        let at = self.truth.requests.len();
        let end_to_end = u32::try_from(at).unwrap_or(u32::MAX);
        let primary = self.clients[client].primary;
        let mut written = words.clone();
        if self.fault == Fault::UseMiscounted {
            written.parts.iter_mut().for_each(|part| part.used = part.used.map(|used| used + 1));
        }
        self.truth.requests.push(Request {
            bytes: written.write(end_to_end),
            end_to_end,
            words,
            client,
            lane,
            answer: None,
            answers: 0,
            copies: 0,
            waiting: 0,
            next_door: primary,
            next_ms: self.now_ms,
            seen_at: [false; 2],
            first_seen: None,
        });
        self.clients[client].open.push(at);
    }

    /// Sends a copy, over the connection to this door if it is in order, else over the other one. Returns false if both
    /// are not.
    fn send(&mut self, at: usize, door: usize, is_marked: bool) -> bool {
        let client = self.truth.requests[at].client;
        let Some(door) = self.clients[client].way(door) else { return false };
        let Some(own) = &mut self.clients[client].sides[door] else { return false };
        let (link, mut hop_by_hop) = (own.link, 0);
        let copy = self.truth.copies.len() as u64;
        let bytes = &self.truth.requests[at].bytes;
        let is_sent = own.side.request(copy, self.now_ms, |out, ids| {
            hop_by_hop = ids.hop_by_hop;
            request::write_copy(bytes, ids.hop_by_hop, is_marked, out);
        });
        assert!(is_sent, "a connection in order takes requests");
        self.truth.send(at);
        self.sent.insert((link, hop_by_hop), copy);
        true
    }
}
