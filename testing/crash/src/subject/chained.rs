//! Accounts of one client in one hash slot, which receive chains and single commands, next to their naive model. A
//! chain executed in part would be a state that the model never had.

use super::slot::{Act, ModelReply, Slot, SlotRequests};
use super::{Counts, InDoubt, ReplyTimes, Subject};
use crate::wire::RequestWords;
use anyhow::{Result, bail};
use scurry_conformance::Value;
use scurry_model::{ModelChainResult, Random};
use std::collections::{BTreeSet, VecDeque};

/// The accounts and their models.
pub(crate) struct Chained {
    key: String,
    /// Models after everything acknowledged.
    known: Slot,
    /// Models after everything sent.
    sent: Slot,
    /// Requests without a reply, and the model's results.
    open: VecDeque<(Act, ModelReply)>,
    requests: SlotRequests,
    /// Requests that the crash left in doubt.
    doubtful: Vec<Act>,
    counts: Counts,
}

impl Chained {
    pub(crate) fn new(key: String) -> Chained {
        let slot = Slot::new(&key);
        Chained {
            key,
            known: slot.clone(),
            sent: slot,
            open: VecDeque::new(),
            requests: SlotRequests::new(),
            doubtful: Vec::new(),
            counts: Counts::default(),
        }
    }

    fn send(&mut self, act: Act) -> RequestWords {
        let (words, said) = (act.words(), self.sent.execute(&act));
        self.open.push_back((act, said));
        words
    }

    /// Returns the states that a crash may leave: after each prefix of the open requests.
    fn states(&self) -> Vec<Slot> {
        let mut states = vec![self.known.clone()];
        for (act, _) in &self.open {
            let mut next = states[states.len() - 1].clone();
            next.execute(act);
            states.push(next);
        }
        states
    }

    /// Returns the sessions that may be open after the acknowledged requests and any prefix of the others.
    fn sessions(&self) -> Vec<String> {
        let ids: BTreeSet<String> = self.states().iter().flat_map(Slot::sessions).collect();
        ids.into_iter().collect()
    }
}

impl Subject for Chained {
    fn key(&self) -> &str {
        &self.key
    }

    fn next(&mut self, random: &mut Random) -> RequestWords {
        let act = self.requests.next(&self.sent, random);
        self.send(act)
    }

    fn replied(&mut self, reply: &Value) -> Result<()> {
        let Some((act, said)) = self.open.pop_front() else { bail!("nothing was asked") };
        said.compare(&act, reply)?;
        self.counts.replays += u64::from(said.is_replay());
        if let (Act::Chain(chain), ModelReply::Chain(ModelChainResult::Commit(_))) = (&act, &said) {
            self.counts.chains += u64::from(chain.len() > 1);
        }
        self.known.execute(&act);
        self.requests.remember(&self.known, act);
        Ok(())
    }

    fn state_requests(&self) -> Vec<RequestWords> {
        self.known.state_requests(&self.sessions())
    }

    fn check_state(&mut self, replies: &[Value], _: ReplyTimes) -> Result<InDoubt> {
        let shown = self.known.shown_by(replies, &self.sessions())?;
        let states = self.states();
        let Some(applied) = states.iter().position(|state| state.shown() == shown) else {
            bail!(
                "they show\n{shown}\nand were acknowledged as\n{}\nwith {:?} in doubt, after the \
                 last of which they would be\n{}",
                states[0].shown(),
                self.open,
                states[states.len() - 1].shown()
            );
        };
        let doubt = InDoubt { requests: self.open.len(), applied };
        self.doubtful = self.open.drain(..).map(|(act, _)| act).collect();
        self.known = states[applied].clone();
        self.sent = self.known.clone();
        Ok(doubt)
    }

    fn repeat_requests(&mut self, random: &mut Random) -> Vec<RequestWords> {
        let mut acts = std::mem::take(&mut self.doubtful);
        acts.extend(self.requests.some(5, random));
        acts.into_iter().map(|act| self.send(act)).collect()
    }

    fn counts(&self) -> Counts {
        self.counts
    }
}
