//! What a client does one after another: sessions, and events between them.

use crate::answer::Answer;
use crate::event::{self, Debit, Event};
use crate::plan::{ASKED_MAX, Habits, time};
use crate::request::{Kind, Part, Quantity, Subscriber, Words};
use scurry_model::Random;
use std::collections::BTreeMap;

/// Most debits that a lane remembers.
const DEBITS_MAX: usize = 4;

/// A client as a lane sees it.
#[derive(Clone, Copy, Debug)]
pub struct Owner<'a> {
    /// Origin-Host.
    pub host: &'a str,
    /// Subscribers.
    pub imsis: &'a [String],
    /// Subscribers that are known by numbers, which may move.
    pub numbers: &'a [String],
}

/// An open session.
#[derive(Clone, Debug)]
struct Session {
    id: String,
    subscriber: Subscriber,
    /// CC-Request-Number of the next request.
    number: u32,
    groups: Vec<u32>,
    /// What each rating group was granted and has not reported.
    granted: BTreeMap<u32, i64>,
    updates_left: u32,
    /// True if the client reports two services at the same time, each in a request.
    is_parallel: bool,
    /// False if the client forgets the session.
    ends: bool,
}

/// One lane: one session or event after another.
#[derive(Clone, Debug)]
pub struct Lane {
    /// Number of the lane among those of its client.
    number: usize,
    session: Option<Session>,
    /// When it may ask next.
    pub(crate) next_ms: u64,
    /// Requests without an answer.
    waiting: u32,
    serial: u32,
    /// Debits that may be refunded, the latest last.
    debits: Vec<Debit>,
    /// Sessions that were forgotten.
    pub(crate) abandoned: u64,
}

impl Lane {
    /// Makes the lane with this number, which begins its first session at once.
    #[must_use]
    pub fn new(number: usize) -> Lane {
        let (session, debits) = (None, Vec::new());
        Lane { number, session, next_ms: 0, waiting: 0, serial: 0, debits, abandoned: 0 }
    }

    /// Returns how many sessions were forgotten.
    #[must_use]
    pub fn abandoned(&self) -> u64 {
        self.abandoned
    }

    /// Reports whether the lane has nothing to do any more, if no session begins.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.session.is_none() && self.waiting == 0
    }

    /// Returns when the lane may ask, if it need not wait for an answer.
    #[must_use]
    pub fn due_ms(&self, may_begin: bool) -> Option<u64> {
        let may_ask = match &self.session {
            None => may_begin && self.waiting == 0,
            Some(session) => {
                let is_next = session.is_parallel && session.updates_left > 0 && session.number > 1;
                self.waiting == 0 || self.waiting == 1 && is_next && may_begin
            }
        };
        may_ask.then_some(self.next_ms)
    }

    /// Returns the next request; none if the lane forgets its session now. With `is_ending` it reports no more use than it
    /// must.
    pub fn next(
        &mut self,
        owner: Owner<'_>,
        habits: Habits,
        random: &mut Random,
        is_ending: bool,
    ) -> Option<Words> {
        let Some(session) = &mut self.session else {
            let words = self.begin(owner, habits, random);
            self.waiting += 1;
            return Some(words);
        };
        let is_update = session.updates_left > 0 && !is_ending;
        if !is_update && (self.waiting > 0 || !session.ends) {
            if self.waiting == 0 {
                self.session = None;
                self.abandoned += 1;
            }
            return None;
        }
        let kind = if is_update { Kind::Update } else { Kind::Termination };
        let chosen = if is_update && session.is_parallel {
            let turn = session.number as usize % session.groups.len();
            vec![session.groups[turn]]
        } else {
            session.groups.clone()
        };
        let mut parts = Vec::new();
        for group in chosen {
            let granted = session.granted.remove(&group).unwrap_or(0);
            // Mostly within the grant; some clients use more, also without one.
            let above = if random.one_in(8) { random.between(1, 700) } else { 0 };
            let used = random.between(0, granted) + above;
            let asked = is_update.then(|| Quantity::Octets(random.between(1, ASKED_MAX)));
            let used = Some(Quantity::Octets(used));
            parts.push(Part { rating_group: group, used, asked, ..Part::default() });
        }
        let words = Words {
            host: owner.host.to_owned(),
            subscriber: session.subscriber.clone(),
            session: session.id.clone(),
            kind,
            number: session.number,
            parts,
            refund: Vec::new(),
        };
        session.number += 1;
        session.updates_left = session.updates_left.saturating_sub(1);
        if !is_update {
            self.session = None;
        }
        self.waiting += 1;
        Some(words)
    }

    fn begin(&mut self, owner: Owner<'_>, habits: Habits, random: &mut Random) -> Words {
        let Owner { host, imsis, numbers } = owner;
        self.serial += 1;
        let mut subscriber = Subscriber::Imsi(imsis[random.below(imsis.len())].clone());
        let id = format!("{host};{};{}", self.number, self.serial);
        let asked = Some(Quantity::Octets(random.between(1, ASKED_MAX)));
        let mut part = Part { rating_group: 10, asked, ..Part::default() };
        let mut kind = match random.below(10) {
            0 => Kind::Check,
            1 => {
                part = Part { used: asked, asked: None, ..part };
                Kind::Settle
            }
            2 => Kind::Debit,
            3 => Kind::Refund,
            _ => Kind::Initial,
        };
        if kind.is_event() && happens(habits.odd, random) {
            let Event { kind, of, parts, refund } = event::draw(&self.debits, random);
            let subscriber = of.unwrap_or(subscriber);
            let host = host.to_owned();
            return Words { host, subscriber, session: id, kind, number: 0, parts, refund };
        }
        if kind == Kind::Refund {
            match self.debits.pop() {
                None => kind = Kind::Debit,
                Some(debit) => {
                    part = Part { asked: None, refund: debit.name, ..part };
                    subscriber = debit.of;
                }
            }
        }
        // A number that may move gets no events that move units: a copy of one that comes after the move is charged to
        // the new account too (docs/diameter.md, "What is not here").
        let is_of_number = matches!(kind, Kind::Initial | Kind::Check);
        if is_of_number && !numbers.is_empty() && random.one_in(3) {
            subscriber = Subscriber::Number(numbers[random.below(numbers.len())].clone());
        }
        let mut parts = vec![part.clone()];
        if kind == Kind::Initial {
            let groups: Vec<u32> = (10..=10 + u32::from(random.one_in(2))).collect();
            let asks = |group: &u32| Part { rating_group: *group, ..part.clone() };
            parts = groups.iter().map(asks).collect();
            self.session = Some(Session {
                id: id.clone(),
                subscriber: subscriber.clone(),
                number: 1,
                is_parallel: groups.len() > 1 && happens(habits.parallel, random),
                groups,
                granted: BTreeMap::new(),
                updates_left: u32::try_from(random.below(7)).unwrap_or(0),
                ends: !happens(habits.abandon, random),
            });
        }
        let (host, refund) = (host.to_owned(), Vec::new());
        Words { host, subscriber, session: id, kind, number: 0, parts, refund }
    }

    /// Takes the first answer to a request.
    pub fn answered(
        &mut self,
        words: &Words,
        answer: &Answer,
        (habits, random, now_ms): (Habits, &mut Random, u64),
    ) {
        self.waiting -= 1;
        self.next_ms = now_ms + time(random.between(0, habits.think_ms));
        if words.kind == Kind::Debit && answer.result == 2001 {
            self.debits.extend(Debit::of(words, answer));
            if self.debits.len() > DEBITS_MAX {
                self.debits.remove(0);
            }
        }
        let Some(session) = self.session.as_mut().filter(|session| session.id == words.session)
        else {
            return;
        };
        if answer.result != 2001 {
            self.session = None;
            return;
        }
        for service in &answer.services {
            session.granted.insert(service.rating_group, service.granted);
        }
    }
}

/// Reports whether something of this rate happens now.
fn happens(rate: usize, random: &mut Random) -> bool {
    rate > 0 && random.one_in(rate)
}
