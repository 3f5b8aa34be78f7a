//! A pair with a clock, for short scripted tests: every step must agree with the model.

use crate::{CommandOrTick, Event, Op, Pair, StepResult};
use scurry_ledger::{Answer, Bucket, Code, ItemAnswers, Limits, Session};

/// Ledger and model side by side, at a time that the test advances.
#[derive(Clone, Debug)]
pub struct ScriptedPair {
    /// Ledger and model.
    pub pair: Pair,
    /// Current time, ms.
    pub now: i64,
}

impl ScriptedPair {
    /// Creates an active account with buckets of (id, unit, first credit), at time 1,000.
    pub fn with(limits: Limits, buckets: &[(&str, &str, i64)]) -> ScriptedPair {
        let mut script = ScriptedPair { pair: Pair::new(limits), now: 1_000 };
        script.done(&Op::create(buckets));
        script
    }

    /// Creates one like [`ScriptedPair::with`], under the default limits.
    pub fn new(buckets: &[(&str, &str, i64)]) -> ScriptedPair {
        ScriptedPair::with(Limits::default(), buckets)
    }

    /// Executes one command.
    pub fn run(&mut self, op: &Op) -> StepResult {
        match self.pair.step(&Event { at: self.now, what: CommandOrTick::Do(op.clone()) }) {
            Ok(came) => came,
            Err(why) => panic!("{op:?}: {why}"),
        }
    }

    /// Executes a command that must be committed, and returns its answer.
    pub fn done(&mut self, op: &Op) -> Answer {
        match self.run(op) {
            StepResult::Commit(answer) => answer,
            other => panic!("{op:?}: {other:?}"),
        }
    }

    /// Executes a balance command that must be committed, and returns its code and amount.
    pub fn amount(&mut self, op: &Op) -> (Code, i64) {
        match self.done(op) {
            Answer::Amount { code, amount, .. } => (code, amount),
            other => panic!("{op:?}: {other:?}"),
        }
    }

    /// Executes a session command that must be committed, and returns its code and items.
    pub fn items(&mut self, op: &Op) -> (Code, ItemAnswers) {
        match self.done(op) {
            Answer::Session { code, items, .. } => (code, items),
            other => panic!("{op:?}: {other:?}"),
        }
    }

    /// Executes a session command that must be committed, and returns its code and the units granted to each item.
    pub fn grants(&mut self, op: &Op) -> (Code, Vec<i64>) {
        let (code, items) = self.items(op);
        (code, items.iter().map(|item| item.granted).collect())
    }

    /// Executes a command that must be rejected, and returns the code.
    pub fn refused(&mut self, op: &Op) -> Code {
        match self.run(op) {
            StepResult::Reject(code) => code,
            other => panic!("{op:?}: {other:?}"),
        }
    }

    /// Commits a command, and checks that it is replayed `ms` later.
    pub fn replayed_after(&mut self, op: &Op, ms: i64) {
        let answer = self.done(op);
        self.now += ms;
        assert_eq!(self.run(op), StepResult::Replay(answer));
    }

    /// Runs a timer; returns true when something was due.
    pub fn tick(&mut self) -> bool {
        match self.pair.step(&Event { at: self.now, what: CommandOrTick::Tick }) {
            Ok(came) => came == StepResult::Ticked(true),
            Err(why) => panic!("tick: {why}"),
        }
    }

    /// Returns an existing bucket.
    pub fn bucket(&self, id: &str) -> Bucket {
        let found = self.pair.account.iter().flat_map(|account| &account.buckets);
        let mut found = found.filter(|bucket| bucket.id.as_str() == id);
        found.next().copied().unwrap_or_else(|| panic!("no bucket {id}"))
    }

    /// Returns the amounts available and held in a bucket.
    pub fn funds(&self, id: &str) -> (i64, i64) {
        let bucket = self.bucket(id);
        (bucket.available, bucket.held)
    }

    /// Returns a session, if it is open.
    pub fn session(&self, id: &str) -> Option<&Session> {
        self.pair.account.as_ref().and_then(|account| account.session(id.as_bytes()))
    }
}
