//! What clients do: they connect, ask, send again, fail over, and go on when they are answered.

use super::{CONNECT_MS, What, World};
use crate::answer;
use crate::client::ClientSide;
use crate::fault::Fault;
use crate::lane::Owner;
use crate::link::{Chunk, End, Link};
use crate::request::{self, Request, Words};
use crate::side::{Side, Told};
use crate::truth::Meaning;
use scurry_diameter::peer::{Event, WatchdogState};

impl World {
    pub(super) fn client_told(&mut self, client: usize, door: usize, told: Vec<Told>) {
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
                let means = (self.plan.habits, &mut self.random, self.now_ms);
                lane.answered(&request.words, answer, means);
                if self.is_faulty && self.plan.again > 0 && self.random.one_in(self.plan.again) {
                    let at_ms = self.now_ms + self.up_to(20_000);
                    self.schedule(at_ms, What::Repeats(at));
                }
            }
        }
    }

    pub(super) fn leave(&mut self, client: usize, door: usize) {
        self.clients[client].sides[door] = None;
        self.clients[client].connect_ms[door] = self.now_ms + 1 + self.up_to(CONNECT_MS);
    }

    /// Does what a client does by itself: it connects, asks, and sends again.
    pub(super) fn act(&mut self, client: usize, may_begin: bool) {
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
            let owner = Owner { host: &own.host, imsis: &own.imsis, numbers: &own.numbers };
            let habits = self.plan.habits;
            let words = own.lanes[at].next(owner, habits, &mut self.random, !may_begin);
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
        let written = self.fault.written(&words);
        let accounts = self.accounts_of(&words);
        self.truth.requests.push(Request {
            bytes: written.write(end_to_end),
            end_to_end,
            words,
            accounts,
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
    pub(super) fn send(&mut self, at: usize, door: usize, is_marked: bool) -> bool {
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
