//! Accounts of one hash slot that receive chains of commands. Each request waits for all copies, so the naive model
//! predicts each answer and each balance: a chain that was executed in part, or a limit that lost its used amount, is a
//! state that the model never had.

use super::{Account, TOO_MUCH, is_made};
use crate::route::{Answered, Ask, Signals};
use anyhow::{Result, ensure};
use scurry_crash::wire::Wire;
use scurry_crash::{Act, Slot, SlotRequests};
use scurry_model::{Op, Random};

/// Chains repeated after a fault.
const AGAIN: usize = 5;

/// Accounts of one hash slot and their model.
pub(crate) struct Chained {
    id: String,
    slot: Slot,
    requests: SlotRequests,
}

impl Chained {
    pub(crate) fn new(id: String) -> Chained {
        Chained { slot: Slot::new(&id), id, requests: SlotRequests::with_ids() }
    }

    fn ask(&mut self, act: Act, route: &mut dyn Ask, signals: &Signals) -> Result<()> {
        let said = self.slot.execute(&act);
        let Answered { reply, earlier, again } = route.ask(&self.id, &act.words(), signals)?;
        for (at, one) in earlier.iter().chain([&reply]).enumerate() {
            // An earlier attempt may have been executed; its stored answers are then the same.
            let may_be_again = again || at > 0;
            if !may_be_again || said.as_replay().compare(&act, one).is_err() {
                said.compare(&act, one)?;
            }
        }
        self.requests.remember(&self.slot, act);
        Ok(())
    }
}

impl Account for Chained {
    fn id(&self) -> &str {
        &self.id
    }

    fn ids(&self) -> Vec<&str> {
        self.slot.ids().collect()
    }

    fn create(&mut self, route: &mut dyn Ask, signals: &Signals) -> Result<()> {
        let ids: Vec<String> = self.slot.ids().map(str::to_owned).collect();
        for id in ids {
            let act = self.requests.next(&self.slot, &mut Random::new(0));
            self.slot.execute(&act);
            let made = route.ask(&id, &act.words(), signals)?;
            ensure!(is_made(&made), "{act:?}: {}", made.reply);
            // As in `make`: a denied request with an id, so that a WAIT covers the CREATE.
            self.ask(Act::Alone(id, Op::debit("made", "cent", TOO_MUCH)), route, signals)?;
        }
        Ok(())
    }

    fn step(&mut self, route: &mut dyn Ask, signals: &Signals, random: &mut Random) -> Result<()> {
        let act = self.requests.next(&self.slot, random);
        self.ask(act, route, signals)
    }

    fn audit(&mut self, wire: &mut Wire) -> Result<u64> {
        let sessions: Vec<String> = self.slot.sessions().into_iter().collect();
        let replies = wire.ask_all(&self.slot.state_requests(&sessions))?;
        let (there, known) = (self.slot.shown_by(&replies, &sessions)?, self.slot.shown());
        ensure!(there == known, "they show\n{there}\nand were acknowledged as\n{known}");
        Ok(0)
    }

    fn again(&mut self, route: &mut dyn Ask, signals: &Signals, random: &mut Random) -> Result<()> {
        for act in self.requests.some(AGAIN, random) {
            self.ask(act, route, signals)?;
        }
        Ok(())
    }
}
