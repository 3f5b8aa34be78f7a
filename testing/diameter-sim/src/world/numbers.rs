//! Numbers, which move from one account to another while sessions are open.

use super::{What, World};
use crate::plan::time;
use crate::request::{Kind, Subscriber, Words};
use crate::store::{Asked, Outcomes, Replied, SimStore};
use scurry_ledger::{HolderStanding, Time};
use scurry_service::{StoreRead, StoreReply};
use std::collections::BTreeMap;

/// A number.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Number {
    /// Which of its two accounts has it.
    holder: usize,
    /// Time until which a door may send a session to the holder that it has found.
    chosen_until_ms: u64,
}

/// Returns one of the two accounts of a number.
fn account(number: &str, which: usize) -> Vec<u8> {
    format!("holder-{which}-of-{number}").into_bytes()
}

/// Creates the two accounts of each number. The first one has it.
pub(super) fn create<'a>(
    all: impl Iterator<Item = &'a String>,
    store: &SimStore,
    credit: i64,
    now: Time,
) -> BTreeMap<String, Number> {
    let mut numbers = BTreeMap::new();
    for number in all {
        (0..2).for_each(|which| store.create(&account(number, which), credit, now));
        store.give(&account(number, 0), number, now);
        numbers.insert(number.clone(), Number::default());
    }
    numbers
}

impl World {
    /// Schedules the next move of a number.
    pub(crate) fn schedule_move(&mut self) {
        if !self.numbers.is_empty() && self.is_faulty {
            let at_ms = self.now_ms + 1 + self.up_to(2 * self.plan.move_ms);
            self.schedule(at_ms, What::Moves);
        }
    }

    /// Moves a number to its other account, at one moment. Not when a door has found the account for a session that it has
    /// not opened there yet: the store does these one after the other, and such a session would be opened by an account
    /// that has given the number up before (docs/diameter.md, "What is not here").
    pub(super) fn number_moves(&mut self) {
        self.schedule_move();
        let all: Vec<&String> = self.numbers.keys().collect();
        let number = all[self.random.below(all.len())].clone();
        let Number { holder, chosen_until_ms } = self.numbers[&number];
        if !self.is_faulty || self.now_ms <= chosen_until_ms {
            return;
        }
        let (former, present) = (account(&number, holder), account(&number, 1 - holder));
        self.store.take(&former, self.wall());
        self.store.give(&present, &number, self.wall());
        // Requests that are under way open a session at one of both.
        for at in self.clients.iter().flat_map(|client| &client.open) {
            let request = &mut self.truth.requests[*at];
            let is_its = request.words.subscriber == Subscriber::Number(number.clone());
            if is_its && request.words.kind == Kind::Initial && !request.accounts.contains(&present)
            {
                request.accounts.push(present.clone());
            }
        }
        self.numbers.insert(number, Number { holder: 1 - holder, chosen_until_ms });
        self.truth.report.moves += 1;
    }

    /// Notes that a door is told the present holder of a number, for a session that no account has.
    pub(super) fn note_chosen(&mut self, asked: &Asked, outcome: &Outcomes) {
        let (Asked::All(StoreRead::Find { value, .. }), Ok(Replied::All(StoreReply::Found(found)))) =
            (asked, outcome)
        else {
            return;
        };
        let standing = found.holder.map(|holder| holder.standing);
        let number = std::str::from_utf8(value.as_bytes()).unwrap_or_default();
        let Some(number) = self.numbers.get_mut(number) else { return };
        if !matches!(standing, Some(HolderStanding::Open | HolderStanding::Ended)) {
            // The reply, and then the request, take this long at most.
            number.chosen_until_ms = self.now_ms + 2 * time(self.plan.store_ms);
        }
    }

    /// Returns the accounts one of which a request is for.
    pub(super) fn accounts_of(&self, words: &Words) -> Vec<Vec<u8>> {
        match &words.subscriber {
            Subscriber::Imsi(_) => words.account().into_iter().collect(),
            Subscriber::Number(number) => vec![account(number, self.numbers[number].holder)],
        }
    }

    /// Counts a copy of a request that opens a session, if the number has moved since it was answered.
    pub(super) fn note_moved(&mut self, request: usize) {
        let request = &self.truth.requests[request];
        let present = self.accounts_of(&request.words);
        let is_moved = !present.iter().all(|account| request.accounts.contains(account));
        let is_opening = request.words.kind == Kind::Initial;
        self.truth.report.moved_copies += u64::from(is_opening && is_moved);
    }
}
