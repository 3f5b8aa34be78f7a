//! The world of a run: doors, clients, links and the store, and what happens next.

mod clients;
mod numbers;

use crate::client::Client;
use crate::door::Door;
use crate::fault::Fault;
use crate::lane::Lane;
use crate::link::{Chunk, End, Link, LinkId};
use crate::plan::{Plan, time};
use crate::services;
use crate::side::{Told, settings};
use crate::store::{Asked, Outcomes, SimStore, Ticket};
use crate::truth::Truth;
use crate::world::numbers::Number;
use scurry_diameter::Origin;
use scurry_diameter::peer::{Admission, CloseReason, Event, Start, WatchdogState};
use scurry_ledger::Time;
use scurry_model::Random;
use scurry_service::CallError;
use scurry_service_table::ServiceTable;
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
    Carries(Ticket, Box<Asked>),
    /// The store replies.
    Replies(Ticket, Box<Outcomes>),
    /// A client sends another copy of a request that is answered.
    Repeats(usize),
    LinkFails,
    DoorFails,
    /// A number moves to another account.
    Moves,
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
    numbers: BTreeMap<String, Number>,
    /// Copies by link and hop-by-hop identifier.
    sent: BTreeMap<(LinkId, u32), u64>,
    /// True while anything may fail.
    pub(crate) is_faulty: bool,
}

impl World {
    pub(crate) fn new(plan: Plan, random: Random, fault: Fault) -> World {
        let table = services::table(plan.validity_s, fault == Fault::AllCharged);
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
                lanes: (0..plan.lanes).map(Lane::new).collect(),
                imsis: (0..plan.accounts)
                    .map(|number| format!("00101000000{at}{number:03}"))
                    .collect(),
                numbers: (0..plan.numbers).map(|number| format!("4912345{at}{number}")).collect(),
                open: Vec::new(),
            }
        });
        let clients: Vec<Client> = clients.collect();
        for imsi in clients.iter().flat_map(|client| &client.imsis) {
            store.create(format!("imsi-{imsi}").as_bytes(), plan.credit, Time(BEGIN_MS));
        }
        let all = clients.iter().flat_map(|client| &client.numbers);
        let numbers = numbers::create(all, &store, plan.credit, Time(BEGIN_MS));
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
            numbers,
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
            What::Moves => self.number_moves(),
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

    fn carry_out(&mut self, ticket: Ticket, request: &Asked) {
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
        self.note_chosen(request, &outcome);
        let at_ms = self.now_ms + self.up_to(self.plan.store_ms);
        self.schedule(at_ms, What::Replies(ticket, Box::new(outcome)));
    }

    fn door_told(&mut self, door: usize, link: LinkId, told: Vec<Told>) {
        for (event, message) in told {
            match (event, message) {
                (Event::Request(header), Some(message)) => {
                    let copy = self.sent[&(link, header.hop_by_hop)];
                    let request = self.truth.arrives(copy, door);
                    self.note_moved(request);
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
}
