//! The scenario's session loop as commands of the ledger, for the rungs that know no RESP.

use anyhow::{Context, Result};
use scurry_ledger::{Command, ItemRequest, Name, SessionRequest};

use crate::names::{AccountText, SessionText, account_text, session_text};
use crate::random::Random;
use crate::scenario::{Charging, Operation};

/// How many accounts there are and how many sessions run at a time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Population {
    pub(crate) accounts: u32,
    pub(crate) sessions: u32,
    pub(crate) seed: u64,
}

/// Sessions that take turns, each at its own place in the loop.
#[derive(Debug)]
pub(crate) struct SessionLoop {
    steps: Vec<LoopStep>,
    sessions: Vec<LoopSession>,
    turn: usize,
    population: Population,
    random: Random,
    counter: u64,
    consumed: i128,
}

/// One operation of the loop.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LoopStep {
    pub(crate) operation: Operation,
    request: u32,
    items: [ItemRequest; 1],
}

#[derive(Clone, Debug)]
struct LoopSession {
    step: usize,
    account: AccountText,
    session: SessionText,
}

/// The next operation of one session.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LoopRequest {
    pub(crate) step: LoopStep,
    pub(crate) account: AccountText,
    pub(crate) session: SessionText,
    /// The session ends with it.
    pub(crate) last: bool,
}

impl SessionLoop {
    pub(crate) fn new(charging: &Charging, population: Population) -> Result<SessionLoop> {
        let unit = Name::new(charging.unit.as_bytes()).context("the scenario's unit is no name")?;
        let mut request = 0;
        let mut steps = Vec::new();
        for operation in charging.operations() {
            let (used, requested) = match operation {
                Operation::Reserve => (None, Some(charging.requested)),
                Operation::Update => (Some(charging.used_update), Some(charging.requested)),
                Operation::Terminate => (Some(charging.used_terminate), None),
                Operation::Get | Operation::Session => (None, None),
            };
            let item =
                ItemRequest { key: charging.item_key.into(), unit, used, requested, min: None };
            steps.push(LoopStep { operation, request, items: [item] });
            request += u32::from(operation.writes());
        }
        let idle = LoopSession { step: 0, account: account_text(0), session: session_text(0) };
        Ok(SessionLoop {
            steps,
            sessions: vec![idle; population.sessions as usize],
            turn: 0,
            population,
            random: Random::seeded(population.seed),
            counter: 0,
            consumed: 0,
        })
    }

    /// The next operation, of the next session in turn. It counts as carried out.
    pub(crate) fn next(&mut self) -> LoopRequest {
        let session = &mut self.sessions[self.turn];
        self.turn = (self.turn + 1) % self.population.sessions as usize;
        if session.step == 0 {
            session.account = account_text(self.random.below(self.population.accounts));
            session.session = session_text(self.counter);
            self.counter += 1;
        }
        let step = self.steps[session.step];
        session.step = (session.step + 1) % self.steps.len();
        self.consumed += i128::from(step.items[0].used.unwrap_or(0));
        let (account, id) = (session.account, session.session);
        LoopRequest { step, account, session: id, last: session.step == 0 }
    }

    /// Units that all operations so far have used.
    pub(crate) fn consumed(&self) -> i128 {
        self.consumed
    }
}

impl LoopRequest {
    /// The command of an operation that writes; none of a read.
    #[inline]
    pub(crate) fn command(&self) -> Option<Command<'_>> {
        let request = SessionRequest {
            session: &self.session,
            request: self.step.request,
            items: &self.step.items,
            ..SessionRequest::default()
        };
        match self.step.operation {
            Operation::Get | Operation::Session => None,
            Operation::Reserve => Some(Command::Reserve(request)),
            Operation::Update => Some(Command::Update(request)),
            Operation::Terminate => Some(Command::Terminate(request)),
        }
    }

    /// Units that the item must be granted.
    #[inline]
    pub(crate) fn granted(&self) -> i64 {
        self.step.items[0].requested.unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Scenario;

    #[test]
    fn sessions_take_turns_and_each_keeps_its_place() {
        let charging = Scenario::built_in("moaf-scur").unwrap().charging.unwrap();
        let population = Population { accounts: 9, sessions: 2, seed: 1 };
        let mut all = SessionLoop::new(&charging, population).unwrap();
        let requests: Vec<LoopRequest> = (0..16).map(|_| all.next()).collect();
        let names: Vec<&str> = requests.iter().map(|r| r.step.operation.name()).collect();
        let expected =
            ["GET", "RESERVE", "SESSION", "UPDATE", "SESSION", "UPDATE", "SESSION", "TERMINATE"];
        assert_eq!(names.iter().step_by(2).copied().collect::<Vec<_>>(), expected);
        assert_eq!(names.iter().skip(1).step_by(2).copied().collect::<Vec<_>>(), expected);
        assert!(requests.iter().step_by(2).all(|r| r.session == requests[0].session));
        assert_ne!(requests[0].session, requests[1].session);
        assert!(requests[14].last && requests[15].last && !requests[13].last);
        assert_eq!(all.consumed(), 2 * 2_500);
        let numbers: Vec<Option<u32>> = requests
            .iter()
            .step_by(2)
            .map(|r| match r.command()? {
                Command::Reserve(s) | Command::Update(s) | Command::Terminate(s) => Some(s.request),
                _ => None,
            })
            .collect();
        assert_eq!(numbers, [None, Some(0), None, Some(1), None, Some(2), None, Some(3)]);
        assert_eq!((requests[2].granted(), requests[14].granted()), (1_000, 0));
    }
}
