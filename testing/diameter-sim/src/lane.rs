//! What a client does one after another: sessions, and events between them.

use crate::answer::Answer;
use crate::plan::{Plan, time};
use crate::request::{Kind, Part, Words};
use scurry_model::Random;
use std::collections::BTreeMap;

/// Largest request for units.
const ASKED_MAX: i64 = 5_000;

/// An open session.
#[derive(Clone, Debug)]
struct Session {
    id: String,
    imsi: String,
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

/// One lane.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lane {
    session: Option<Session>,
    pub(crate) next_ms: u64,
    /// Requests without an answer.
    waiting: u32,
    serial: u32,
    /// A debit that may be refunded: its Refund-Information, and its subscriber.
    debit: Option<(Vec<u8>, String)>,
    pub(crate) abandoned: u64,
}

impl Lane {
    /// Reports whether the lane has nothing to do any more, if no session begins.
    pub(crate) fn is_idle(&self) -> bool {
        self.session.is_none() && self.waiting == 0
    }

    /// Returns when the lane may ask, if it need not wait for an answer.
    pub(crate) fn due_ms(&self, may_begin: bool) -> Option<u64> {
        let may_ask = match &self.session {
            None => may_begin && self.waiting == 0,
            Some(session) => {
                let is_next = session.is_parallel && session.updates_left > 0 && session.number > 1;
                self.waiting == 0 || self.waiting == 1 && is_next && may_begin
            }
        };
        may_ask.then_some(self.next_ms)
    }

    /// Returns the next request. `host` is the client, `at` the number of the lane.
    pub(crate) fn next(
        &mut self,
        (host, at, imsis): (&str, usize, &[String]),
        plan: &Plan,
        random: &mut Random,
        is_ending: bool,
    ) -> Option<Words> {
        let Some(session) = &mut self.session else {
            let words = self.begin((host, at, imsis), plan, random);
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
            let asked = is_update.then(|| random.between(1, ASKED_MAX));
            parts.push(Part { rating_group: group, used: Some(used), asked });
        }
        let words = Words {
            host: host.to_owned(),
            imsi: session.imsi.clone(),
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

    fn begin(
        &mut self,
        (host, at, imsis): (&str, usize, &[String]),
        plan: &Plan,
        random: &mut Random,
    ) -> Words {
        self.serial += 1;
        let mut imsi = imsis[random.below(imsis.len())].clone();
        let id = format!("{host};{at};{}", self.serial);
        let asked = Some(random.between(1, ASKED_MAX));
        let mut part = Part { rating_group: 10, used: None, asked };
        let mut refund = Vec::new();
        let kind = match random.below(10) {
            0 => Kind::Check,
            1 => {
                part = Part { used: asked, asked: None, ..part };
                Kind::Settle
            }
            2 => Kind::Debit,
            3 => match self.debit.take() {
                None => Kind::Debit,
                Some((information, of)) => {
                    part.asked = None;
                    (refund, imsi) = (information, of);
                    Kind::Refund
                }
            },
            _ => Kind::Initial,
        };
        let mut parts = vec![part];
        if kind == Kind::Initial {
            let groups: Vec<u32> = (10..=10 + u32::from(random.one_in(2))).collect();
            let asks = |group: &u32| Part { rating_group: *group, ..part };
            parts = groups.iter().map(asks).collect();
            self.session = Some(Session {
                id: id.clone(),
                imsi: imsi.clone(),
                number: 1,
                is_parallel: groups.len() > 1 && random.one_in(2),
                groups,
                granted: BTreeMap::new(),
                updates_left: u32::try_from(random.below(7)).unwrap_or(0),
                ends: plan.abandon == 0 || !random.one_in(plan.abandon),
            });
        }
        Words { host: host.to_owned(), imsi, session: id, kind, number: 0, parts, refund }
    }

    /// Takes the first answer to a request.
    pub(crate) fn answered(
        &mut self,
        words: &Words,
        answer: &Answer,
        (plan, random, now_ms): (&Plan, &mut Random, u64),
    ) {
        self.waiting -= 1;
        self.next_ms = now_ms + time(random.between(0, plan.think_ms));
        if words.kind == Kind::Debit && answer.result == 2001 {
            let information = answer.services.first().map(|service| service.refund.clone());
            self.debit = information.map(|information| (information, words.imsi.clone()));
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
