//! An account whose state is fully known: each request waits for all copies, and nothing expires during a run. So the
//! naive model predicts each answer and each balance, whatever happens to the nodes.

use super::{Account, TOO_MUCH, is_made};
use crate::route::{Answered, Ask, Signals};
use anyhow::{Result, ensure};
use scurry_conformance::Value;
use scurry_crash::wire::Wire;
use scurry_crash::{Pending, Requests, compare, limits, shown, value_of, views, words_of};
use scurry_ledger::Time;
use scurry_model::{Model, ModelResult, Op, Random};

/// Time of the model. No compared value depends on it.
const NOW: Time = Time(1_000);
/// Requests repeated after a fault.
const AGAIN: usize = 5;

/// The account and its model.
pub(crate) struct ModelledAccount {
    id: String,
    model: Model,
    requests: Requests,
}

impl ModelledAccount {
    pub(crate) fn new(id: String) -> ModelledAccount {
        ModelledAccount { id, model: Model::new(limits()), requests: Requests::with_ids() }
    }

    fn ask(&mut self, op: Op, route: &mut dyn Ask, signals: &Signals) -> Result<()> {
        let expected = op.with(|command| self.model.execute(NOW, command));
        let Answered { reply, earlier, again } =
            route.ask(&self.id, &words_of(&self.id, &op), signals)?;
        for (at, one) in earlier.iter().chain([&reply]).enumerate() {
            right(&op, &expected, one, again || at > 0)?;
        }
        self.requests.remember(op);
        Ok(())
    }
}

/// Compares a reply with the model. An earlier attempt may have been executed; its stored answer is then the same.
fn right(op: &Op, expected: &ModelResult, reply: &Value, again: bool) -> Result<()> {
    match expected {
        ModelResult::Commit(answer) if again && *reply == value_of(op, answer, 1) => Ok(()),
        _ => compare(op, expected, reply),
    }
}

impl Account for ModelledAccount {
    fn id(&self) -> &str {
        &self.id
    }

    fn create(&mut self, route: &mut dyn Ask, signals: &Signals) -> Result<()> {
        let op = self.requests.next(None, &Pending::new(), &mut Random::new(0));
        op.with(|command| self.model.execute(NOW, command));
        let made = route.ask(&self.id, &words_of(&self.id, &op), signals)?;
        ensure!(is_made(&made), "{op:?}: {}", made.reply);
        // As in `make`: a denied request with an id, so that a WAIT covers the CREATE.
        self.ask(Op::debit("made", "cent", TOO_MUCH), route, signals)
    }

    fn step(&mut self, route: &mut dyn Ask, signals: &Signals, random: &mut Random) -> Result<()> {
        let shot = self.model.snapshot(NOW);
        let op = self.requests.next(shot.as_ref(), &Pending::new(), random);
        self.ask(op, route, signals)
    }

    fn audit(&mut self, wire: &mut Wire) -> Result<u64> {
        let (id, shot) = (&self.id, self.model.snapshot(NOW));
        let sessions: Vec<String> =
            shot.iter().flat_map(|shot| shot.sessions.keys().cloned()).collect();
        let looks = views::state_requests(id, &sessions);
        let there = shown::of_server(&wire.ask_all(&looks)?, &sessions)?;
        let known = shown::of_model(shot.as_ref());
        ensure!(there == known, "it shows\n{there}\nand was acknowledged as\n{known}");
        Ok(0)
    }

    fn again(&mut self, route: &mut dyn Ask, signals: &Signals, random: &mut Random) -> Result<()> {
        for op in self.requests.some(AGAIN, random) {
            self.ask(op, route, signals)?;
        }
        Ok(())
    }
}
