//! An account of one client, next to its naive model.

use super::requests::{Pending, Requests};
use super::{Counts, InDoubt, ReplyTimes, Subject, compare, limits, shown, words_of};
use crate::views;
use crate::wire::RequestWords;
use anyhow::{Result, bail};
use scurry_conformance::Value;
use scurry_ledger::Time;
use scurry_model::{Model, ModelResult, Op, Random};

/// Time of the model. No compared value depends on it.
const NOW: Time = Time(1_000);

/// The account and its models.
pub(crate) struct Account {
    id: String,
    /// Model after everything acknowledged.
    known: Model,
    /// Model after everything sent.
    sent: Model,
    /// Requests without a reply, and the model's results.
    open: Pending,
    requests: Requests,
    /// Requests that the crash left in doubt.
    doubtful: Vec<Op>,
    replays: u64,
}

impl Account {
    pub(crate) fn new(id: String) -> Account {
        let model = Model::new(limits());
        Account {
            id,
            known: model.clone(),
            sent: model,
            open: Pending::new(),
            requests: Requests::new(),
            doubtful: Vec::new(),
            replays: 0,
        }
    }

    fn send(&mut self, op: Op) -> RequestWords {
        let words = words_of(&self.id, &op);
        let expected = op.with(|command| self.sent.execute(NOW, command));
        self.open.push_back((op, expected));
        words
    }

    /// Returns the sessions that may be open after the acknowledged requests and any prefix of the others.
    fn sessions(&self) -> Vec<String> {
        let mut ids: Vec<String> = Vec::new();
        for model in self.states() {
            let shot = model.snapshot(NOW);
            ids.extend(shot.into_iter().flat_map(|shot| shot.sessions.into_keys()));
        }
        ids.sort();
        ids.dedup();
        ids
    }

    /// Returns the states that a crash may leave: after each prefix of the open requests.
    fn states(&self) -> Vec<Model> {
        let mut states = vec![self.known.clone()];
        for (op, _) in &self.open {
            let mut next = states[states.len() - 1].clone();
            op.with(|command| next.execute(NOW, command));
            states.push(next);
        }
        states
    }
}

impl Subject for Account {
    fn key(&self) -> &str {
        &self.id
    }

    fn next(&mut self, random: &mut Random) -> RequestWords {
        let shot = self.sent.snapshot(NOW);
        let op = self.requests.next(shot.as_ref(), &self.open, random);
        self.send(op)
    }

    fn replied(&mut self, reply: &Value) -> Result<()> {
        let Some((op, expected)) = self.open.pop_front() else { bail!("nothing was asked") };
        compare(&op, &expected, reply)?;
        self.replays += u64::from(matches!(expected, ModelResult::Replay(_)));
        op.with(|command| self.known.execute(NOW, command));
        self.requests.remember(op);
        Ok(())
    }

    fn state_requests(&self) -> Vec<RequestWords> {
        views::state_requests(&self.id, &self.sessions())
    }

    fn check_state(&mut self, replies: &[Value], _: ReplyTimes) -> Result<InDoubt> {
        let shown = shown::of_server(replies, &self.sessions())?;
        let states = self.states();
        let texts: Vec<String> =
            states.iter().map(|state| shown::of_model(state.snapshot(NOW).as_ref())).collect();
        let Some(applied) = texts.iter().position(|text| *text == shown) else {
            bail!(
                "it shows\n{shown}\nand was acknowledged as\n{}\nwith {} requests in doubt, after \
                 the last of which it would be\n{}",
                texts[0],
                self.open.len(),
                texts[texts.len() - 1]
            );
        };
        let doubt = InDoubt { requests: self.open.len(), applied };
        self.doubtful = self.open.drain(..).map(|(op, _)| op).collect();
        self.known = states[applied].clone();
        self.sent = self.known.clone();
        Ok(doubt)
    }

    fn repeat_requests(&mut self, random: &mut Random) -> Vec<RequestWords> {
        let mut ops = std::mem::take(&mut self.doubtful);
        ops.extend(self.requests.some(4, random));
        ops.into_iter().map(|op| self.send(op)).collect()
    }

    fn counts(&self) -> Counts {
        Counts { replays: self.replays, ..Counts::default() }
    }
}
