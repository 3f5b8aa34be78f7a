//! A ledger and a model side by side. Every step compares everything that both can show, and checks the invariants.

use crate::{Model, ModelResult, Op, Snapshot, invariants};
use scurry_ledger::{
    Account, Answer, Change, Code, Decision, Limits, Op as Fact, Rejection, Time, WindowEntry,
    apply, check, decide, decide_in_place, next_due, tick, tick_in_place, validate, view,
    view_in_place,
};

/// Event at clock time `at`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Clock time, ms. It may have gone backwards.
    pub at: i64,
    /// Command or timer of the event.
    pub what: CommandOrTick,
}

/// Command or timer.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "nearly every event is a command")]
pub enum CommandOrTick {
    /// Command.
    Do(Op),
    /// Timer.
    Tick,
}

/// Result of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "as ModelResult, and ticks")]
pub enum StepResult {
    Replay(Answer),
    Reject(scurry_ledger::Code),
    Commit(Answer),
    Ticked(bool),
}

/// Account of the ledger and of the model.
#[derive(Clone, Debug)]
pub struct Pair {
    /// Bounds of both.
    pub limits: Limits,
    /// Account of the ledger.
    pub account: Option<Account>,
    /// Model.
    pub model: Model,
    /// True to compare everything after each step, not only the outcome and the state.
    pub thorough: bool,
}

/// How far ahead a state with allowances is compared: 60 days.
const NEAR_MS: i64 = 60 * 24 * 3_600_000;

/// Failure of a step: what differs or is broken.
type Checked = Result<(), String>;

fn same<T: PartialEq + std::fmt::Debug + ?Sized>(what: &str, ledger: &T, model: &T) -> Checked {
    if ledger == model {
        return Ok(());
    }
    Err(format!("{what}:\n  ledger {ledger:?}\n  model  {model:?}"))
}

/// Reports whether a request is new but below the window of its session.
pub(crate) fn is_below(account: Option<&Account>, op: &Op, limits: &Limits) -> bool {
    let known = op.request().zip(account).and_then(|(request, account)| {
        let open = account.session(request.session.as_bytes())?;
        Some(open.answers.look_up(op.request_name()?, limits.answers_max, open.version))
    });
    known == Some(WindowEntry::Late)
}

impl Pair {
    /// Creates a pair without an account.
    pub fn new(limits: Limits) -> Pair {
        let model = Model::new(limits.clone());
        Pair { limits, account: None, model, thorough: true }
    }

    /// Executes one event on both, with all checks.
    pub fn step(&mut self, event: &Event) -> Result<StepResult, String> {
        let at = Time(event.at);
        match &event.what {
            CommandOrTick::Do(op) => self.execute(op, at),
            CommandOrTick::Tick => self.tick(at),
        }
    }

    fn execute(&mut self, op: &Op, at: Time) -> Result<StepResult, String> {
        let decision = op.with(|command| decide(self.account.as_ref(), command, at, &self.limits));
        let modelled = op.with(|command| self.model.execute(at, command));
        let outcome = match &decision {
            Decision::Replay(answer) => ModelResult::Replay(answer.clone()),
            Decision::Reject(rejection) => ModelResult::Reject(rejection.code),
            Decision::Commit(_, answer) => ModelResult::Commit(answer.clone()),
        };
        same("outcome", &outcome, &modelled)?;
        // These two rejections also tell how long ago the session expired.
        if let (Decision::Reject(rejection), Some(request)) = (&decision, op.request())
            && matches!(rejection.code, Code::UnknownSession | Code::SessionExists)
        {
            let modelled = self.model.expired_ms(at, &request.session);
            same("how long ago the session expired", &rejection.expired_ms, &modelled)?;
        }
        if let Decision::Commit(change, answer) = &decision {
            self.commit(op, change, answer, at)?;
        }
        self.look(at)?;
        Ok(match outcome {
            ModelResult::Replay(answer) => StepResult::Replay(answer),
            ModelResult::Reject(code) => StepResult::Reject(code),
            ModelResult::Commit(answer) => StepResult::Commit(answer),
        })
    }

    fn commit(&mut self, op: &Op, change: &Change, answer: &Answer, at: Time) -> Checked {
        let before = self.account.clone();
        self.change(change)?;
        self.tells(change)?;
        self.crosses(change)?;
        let mut in_place = before.clone();
        let again = op.with(|command| decide_in_place(&mut in_place, command, at, &self.limits));
        same("decide_in_place", &again, &Decision::Commit(change.clone(), answer.clone()))?;
        same("the state of decide_in_place", &in_place, &self.account)?;
        let now = at.on(before.as_ref());
        invariants::transition(before.as_ref(), self.account.as_ref(), op, answer, now)?;
        self.repeated(op, answer, at, is_below(before.as_ref(), op, &self.limits))
    }

    /// Applies a Change to two equal accounts, which must stay equal (I8).
    pub(crate) fn change(&mut self, change: &Change) -> Checked {
        let mut copy = self.account.clone();
        apply(&mut self.account, change);
        apply(&mut copy, change);
        same("I8: a Change applied to a copy", &copy, &self.account)
    }

    /// Compares the marks that a Change crosses with the model's. The Change has been applied.
    pub(crate) fn crosses(&self, change: &Change) -> Checked {
        let named = |no| self.account.as_ref().and_then(|account| account.bucket_no(no));
        let crossed = change.ops.iter().filter_map(|fact| match fact {
            Fact::CrossMark { bucket, mark, is_below } => {
                let id = named(*bucket).map_or(String::new(), |of| of.id.as_str().to_string());
                Some((id, *is_below, i128::from(*mark)))
            }
            _ => None,
        });
        let mut crossed: Vec<_> = crossed.collect();
        crossed.sort();
        same("marks that are crossed", crossed.as_slice(), self.model.crossed())
    }

    /// Compares the thresholds that a Change reports with the model's, in the order of the ids of their limits.
    pub(crate) fn tells(&self, change: &Change) -> Checked {
        let told = change.ops.iter().filter_map(|fact| match fact {
            Fact::ReachThreshold { limit, percent, used, .. } => {
                Some((limit.as_str().to_string(), i128::from(*percent), i128::from(*used)))
            }
            _ => None,
        });
        let mut told: Vec<_> = told.collect();
        told.sort();
        same("thresholds that are told", told.as_slice(), self.model.told())
    }

    /// Checks I7: repeating a command is a Replay of the same answer, unless no answer is remembered: below the window
    /// only the number is.
    fn repeated(&self, op: &Op, answer: &Answer, at: Time, below: bool) -> Checked {
        let closed = matches!(answer, Answer::Session { version: 0, .. });
        if !op.has_id() || may_be_forgotten(answer, &self.limits) {
            return Ok(());
        }
        let again = op.with(|command| decide(self.account.as_ref(), command, at, &self.limits));
        if let (Decision::Reject(Rejection { code, .. }), true, false) = (&again, below, closed) {
            return same("I7: the same again", code, &Code::OutOfWindow);
        }
        same("I7: the same again", &again, &Decision::Replay(answer.clone()))
    }

    fn tick(&mut self, at: Time) -> Result<StepResult, String> {
        let change = self.account.as_ref().and_then(|account| tick(account, at, &self.limits));
        let mut in_place = self.account.clone();
        let again = tick_in_place(&mut in_place, at, &self.limits);
        same("tick_in_place", &again, &change)?;
        let ticked = self.model.tick(at);
        same("something was due", &change.is_some(), &ticked)?;
        if let Some(change) = &change {
            let before = self.account.clone();
            self.change(change)?;
            self.crosses(change)?;
            same("the state of tick_in_place", &in_place, &self.account)?;
            invariants::ticked(before.as_ref(), self.account.as_ref(), change)?;
        }
        self.look(at)?;
        Ok(StepResult::Ticked(ticked))
    }

    /// Compares everything visible at `at`, and a little later.
    pub(crate) fn look(&self, at: Time) -> Checked {
        let due = self.account.as_ref().and_then(next_due);
        same("next_due", &due, &self.model.next_due())?;
        self.view(at)?;
        let Some(account) = &self.account else { return Ok(()) };
        let changed = account.changed_at;
        let right_after = validate(account, changed).map_err(|violation| violation.to_string());
        right_after?;
        invariants::state(account)?;
        if self.thorough
            && let Some(due) = due
        {
            // The model walks through refills one by one, so do not look ahead to the end of time.
            if account.allowances.is_empty() || due < changed.plus_ms(NEAR_MS) {
                self.view(due)?;
            }
            let early = tick(account, Time(due.0.saturating_sub(1)), &self.limits);
            if due > changed && due.0 > i64::MIN {
                same("a tick before anything is due", &early, &None)?;
            }
            let right_in_time = tick(account, due, &self.limits).is_some();
            same("a tick when something is due", &right_in_time, &(due <= Time::LAST))?;
        }
        Ok(())
    }

    fn view(&self, at: Time) -> Checked {
        let now = Time(self.model.now(at));
        let seen = self.account.as_ref().map(|account| view(account, at, &self.limits));
        let shot = seen.as_ref().map(|account| Snapshot::of_account(account, now));
        same("view", &shot, &self.model.snapshot(at))?;
        let Some(seen) = seen.as_deref() else { return Ok(()) };
        if !self.thorough {
            return Ok(());
        }
        let mut in_place = self.account.clone();
        view_in_place(&mut in_place, at, &self.limits);
        same("view_in_place", &in_place.as_ref(), &Some(seen))?;
        validate(seen, now).map_err(|violation| format!("view: {violation}"))?;
        for bucket in &seen.buckets {
            for item in [None, Some(1.into())] {
                let of = (bucket.unit, item);
                let (ledger, model) = (check(seen, of, 3, at), self.model.check(at, of, 3));
                same("CHECK", &Some(ledger), &model)?;
            }
        }
        Ok(())
    }
}

/// Reports whether an answer may be forgotten in the Change that gave it.
pub(crate) fn may_be_forgotten(answer: &Answer, limits: &Limits) -> bool {
    let anything = limits.transaction_ms == 0;
    match answer {
        // Late use may be remembered by the tombstone or by itself.
        Answer::Session { version: 0, .. } => anything || limits.tombstone_ms == 0,
        Answer::Session { .. } => false,
        _ => anything,
    }
}
