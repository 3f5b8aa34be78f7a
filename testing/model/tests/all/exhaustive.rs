//! Exhaustive tests of small scopes: every sequence over a small alphabet is run on ledger and model side by side,
//! depth first. A step that changed nothing is not continued: its continuations are covered without it.

use scurry_ledger::{
    BucketAttributes, LimitSubject, LimitTerms, Limits, Overrun, Period, SessionOptions, Status,
    Time,
};
use scurry_model::{
    ChainOp, ChainResult, CommandOrTick, Event, Op, Pair, PairedAccounts, Request, StepResult, name,
};
use std::fmt::Debug;

/// One letter of an alphabet.
#[derive(Clone, Debug)]
enum Letter<Act> {
    Do(Act),
    /// Advances the clock, ms.
    Wait(i64),
}

/// Ledger and model side by side.
trait Both: Clone {
    type Act: Debug;

    /// Executes one step on both; returns true when it changed something, an error where they differ.
    fn act(&mut self, at: i64, act: &Self::Act) -> Result<bool, String>;
}

impl Both for Pair {
    type Act = CommandOrTick;

    fn act(&mut self, at: i64, act: &CommandOrTick) -> Result<bool, String> {
        let came = self.step(&Event { at, what: act.clone() })?;
        Ok(matches!(came, StepResult::Commit(_) | StepResult::Ticked(true)))
    }
}

/// Step on several accounts.
#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "nearly every turn is one command")]
enum Turn {
    Alone(&'static str, CommandOrTick),
    Chain(ChainOp),
}

impl Both for PairedAccounts {
    type Act = Turn;

    fn act(&mut self, at: i64, act: &Turn) -> Result<bool, String> {
        match act {
            Turn::Alone(id, what) => {
                let came = self.step(id, &Event { at, what: what.clone() })?;
                Ok(matches!(came, StepResult::Commit(_) | StepResult::Ticked(true)))
            }
            Turn::Chain(chain) => {
                let came = self.chain(at, chain)?;
                Ok(matches!(came, ChainResult::Commit(_)))
            }
        }
    }
}

const START: i64 = 1_000;

struct Scope<Act> {
    letters: Vec<Letter<Act>>,
    trail: Vec<usize>,
    steps: usize,
}

/// Runs `first`, then every sequence of up to `depth` letters. Returns the number of steps.
fn all(limits: Limits, first: &[Op], letters: Vec<Letter<CommandOrTick>>, depth: usize) -> usize {
    let mut pair = Pair::new(limits);
    pair.thorough = false;
    for op in first {
        let event = Event { at: START, what: CommandOrTick::Do(op.clone()) };
        assert!(matches!(pair.step(&event), Ok(StepResult::Commit(_))), "{op:?}");
    }
    Scope::of(&pair, letters, depth)
}

impl<Act: Debug> Scope<Act> {
    /// Runs every sequence of up to `depth` letters. Returns the number of steps.
    fn of(start: &impl Both<Act = Act>, letters: Vec<Letter<Act>>, depth: usize) -> usize {
        let mut scope = Scope { letters, trail: vec![], steps: 0 };
        scope.explore(start, START, depth);
        scope.steps
    }

    fn explore(&mut self, both: &impl Both<Act = Act>, clock: i64, depth: usize) {
        for index in 0..self.letters.len() {
            let act = match &self.letters[index] {
                Letter::Wait(ms) => {
                    // Two waits in a row equal another letter.
                    let again = self.trail.last() == Some(&index);
                    if depth > 1 && !again {
                        self.trail.push(index);
                        self.explore(both, clock + ms, depth - 1);
                        self.trail.pop();
                    }
                    continue;
                }
                Letter::Do(act) => act,
            };
            let mut next = both.clone();
            let came = next.act(clock, act);
            self.trail.push(index);
            self.steps += 1;
            match came {
                Ok(true) if depth > 1 => self.explore(&next, clock, depth - 1),
                Ok(_) => {}
                Err(why) => {
                    let trail: Vec<_> = self.trail.iter().map(|&i| &self.letters[i]).collect();
                    panic!("{trail:#?}\n{why}");
                }
            }
            self.trail.pop();
        }
    }
}

fn limits() -> Limits {
    Limits {
        sessions_max: 2,
        session_ids_max: 3,
        items_max: 2,
        answers_max: 2,
        transactions_max: 6,
        tombstone_ms: 4,
        transaction_ms: 6,
        validity_ms_default: 1,
        tcc_ms_max: 10,
        ..Limits::default()
    }
}

fn ending(to: i64) -> BucketAttributes {
    BucketAttributes { valid_to: Some(Some(Time(START + to))), ..BucketAttributes::default() }
}

fn with_floor(floor: i64) -> BucketAttributes {
    BucketAttributes { floor: Some(floor), ..BucketAttributes::default() }
}

fn topup_new(txn: &str, bucket: &str, amount: i64, with: BucketAttributes) -> Op {
    let (txn, bucket, unit) = (txn.to_string(), name(bucket), Some(name("u")));
    Op::TopUp { txn, bucket, amount, unit, with, keys: vec![] }
}

/// Returns an account with two buckets of one unit: 2 that end at +3, with a mark of 1, and 1 with a floor of -1 and a
/// mark of 0.
fn two_buckets() -> Vec<Op> {
    let a = BucketAttributes { mark: Some(Some(1)), ..ending(3) };
    let b = BucketAttributes { mark: Some(Some(0)), ..with_floor(-1) };
    vec![Op::create(&[]), topup_new("x", "a", 2, a), topup_new("y", "b", 1, b)]
}

fn ops(ops: Vec<Op>) -> Vec<Letter<CommandOrTick>> {
    ops.into_iter().map(CommandOrTick::Do).map(Letter::Do).collect()
}

#[test]
fn every_short_life_of_one_session() {
    let new = |number| Request::new("s", number);
    let mut letters = ops(vec![
        new(0).ask(1, "u", 2).reserve(),
        Request {
            options: SessionOptions { overrun: Some(Overrun::Clamp), ..SessionOptions::default() },
            ..new(1).ask(1, "u", 4)
        }
        .reserve(),
        new(1).both(1, "u", 1, 2).update(),
        new(2).both(1, "u", 2, 1).used(2, "u", 1).update(),
        new(3).used(1, "u", 4).update(),
        Request {
            options: SessionOptions { close_on_denial: true, ..SessionOptions::default() },
            ..new(2).both(1, "u", 0, 2).min(2)
        }
        .update(),
        new(3).used(1, "u", 1).terminate(),
        Op::release("s"),
    ]);
    letters.extend([Letter::Do(CommandOrTick::Tick), Letter::Wait(1), Letter::Wait(2)]);
    let steps = all(limits(), &two_buckets(), letters, 9);
    assert!(steps > 100_000, "only {steps} steps");
}

#[test]
fn every_short_tale_of_late_use() {
    let new = |number| Request::new("s", number);
    let mut letters = ops(vec![
        new(0).ask(1, "u", 2).reserve(),
        new(1).both(1, "u", 1, 2).late().update(),
        new(2).used(1, "u", 1).late().update(),
        new(2).used(1, "u", 1).update(),
        Request {
            options: SessionOptions { overrun: Some(Overrun::Clamp), ..SessionOptions::default() },
            ..new(3).used(1, "u", 4)
        }
        .late()
        .terminate(),
        Request::new("t", 1).used(1, "u", 1).late().update(),
        Op::release("s"),
    ]);
    letters.extend([Letter::Do(CommandOrTick::Tick), Letter::Wait(2), Letter::Wait(4)]);
    let steps = all(limits(), &two_buckets(), letters, 8);
    assert!(steps > 100_000, "only {steps} steps");
}

#[test]
fn every_short_meeting_of_two_sessions() {
    let (s, t) = (|number| Request::new("s", number), |number| Request::new("t", number));
    let mut letters = ops(vec![
        s(0).ask(1, "u", 1).ask(2, "u", 2).reserve(),
        t(0).ask(1, "u", 2).reserve(),
        s(2).both(2, "u", 1, 1).update(),
        s(1).both(2, "u", 2, 2).update(),
        t(1).both(1, "u", 0, 1).update(),
        Request {
            options: SessionOptions { if_version: Some(2), ..SessionOptions::default() },
            ..t(2).both(1, "u", 3, 0)
        }
        .update(),
        s(3).terminate(),
        Op::status(Status::Suspended),
    ]);
    letters.extend([Letter::Wait(2)]);
    let steps = all(limits(), &two_buckets(), letters, 9);
    assert!(steps > 100_000, "only {steps} steps");
}

#[test]
fn every_short_sequence_of_balance_commands() {
    let mut letters = ops(vec![
        Op::debit("d", "u", 3),
        Op::debit("e", "u", 1),
        Op::refund("r", "d", None),
        Op::refund("q", "d", Some(1)),
        Op::topup("t", "a", 2),
        topup_new("u", "a", 1, ending(5)),
        Op::adjust("v", "b", -1),
        Op::bucket("w", "b", with_floor(0)),
        Op::counter("c", "n", 1, Some(Period::Hour)),
    ]);
    letters.extend([Letter::Do(CommandOrTick::Tick), Letter::Wait(3)]);
    let steps = all(limits(), &two_buckets(), letters, 7);
    assert!(steps > 100_000, "only {steps} steps");
}

#[test]
fn every_short_life_of_a_limit() {
    let new = |session, number| Request::new(session, number);
    let with = |txn: &str, limit, terms| Op::Limit { txn: txn.to_string(), limit, terms };
    let of_item = LimitTerms::Set {
        counted: LimitSubject::Units { unit: name("u"), item: Some(1.into()) },
        amount: 1,
        window: scurry_ledger::WindowTerms::UNSAID,
    };
    let mut letters = ops(vec![
        Op::limit("a", "l", "u", 2, Some(Period::Hour)),
        Op::limit("b", "l", "u", 1, None),
        with("c", name("i"), of_item),
        Op::session_limit("e", "n", 1),
        with("f", name("l"), LimitTerms::Remove),
        new("s", 0).ask(1, "u", 2).reserve(),
        new("s", 1).both(1, "u", 1, 2).update(),
        new("s", 2).used(1, "u", 4).terminate(),
        new("t", 0).ask(2, "u", 1).reserve(),
        Op::debit("d", "u", 1),
        Op::refund("r", "d", None),
    ]);
    letters.extend([Letter::Wait(3_600_000)]);
    let limits = Limits {
        limits_max: 2,
        transactions_max: 16,
        transaction_ms: 5_000_000,
        validity_ms_default: 2_500_000,
        tcc_ms_max: 5_000_000,
        ..limits()
    };
    let steps = all(limits, &[Op::create(&[("a", "u", 5)])], letters, 6);
    assert!(steps > 100_000, "only {steps} steps");
}

#[test]
fn every_short_tale_of_two_accounts_and_their_chains() {
    let new = |session, number| Request::new(session, number);
    let chain = |a: Op, b: Op| Turn::Chain(vec![("a".into(), a), ("b".into(), b)]);
    let back = |b: Op, a: Op| Turn::Chain(vec![("b".into(), b), ("a".into(), a)]);
    let turns = [
        chain(Op::debit("d", "u", 2), Op::topup("d", "m", 2)),
        back(Op::debit("e", "u", 3), Op::topup("e", "m", 3)),
        back(Op::debit("f", "u", 1), Op::refund("r", "d", None)),
        chain(new("s", 0).ask(1, "u", 2).reserve(), new("s", 0).ask(1, "u", 2).reserve()),
        back(
            new("s", 1).both(1, "u", 1, 2).update(),
            Request {
                options: SessionOptions { close_on_denial: true, ..SessionOptions::default() },
                ..new("s", 1).both(1, "u", 2, 1)
            }
            .update(),
        ),
        chain(new("s", 2).used(1, "u", 1).terminate(), new("s", 2).used(1, "u", 3).terminate()),
        chain(
            Request {
                options: SessionOptions { keep_open: true, ..SessionOptions::default() },
                ..new("t", 0).ask(1, "u", 2).min(2)
            }
            .reserve(),
            Op::debit("g", "u", 1),
        ),
        Turn::Alone("a", CommandOrTick::Do(Op::debit("d", "u", 2))),
        Turn::Alone("b", CommandOrTick::Do(new("s", 0).ask(1, "u", 2).reserve())),
        Turn::Alone("b", CommandOrTick::Do(Op::limit("l", "l", "u", 2, None))),
        Turn::Alone("b", CommandOrTick::Tick),
    ];
    let mut letters: Vec<_> = turns.into_iter().map(Letter::Do).collect();
    letters.push(Letter::Wait(2));
    let mut books = PairedAccounts::new(limits(), &["a", "b"]);
    for (id, pair) in &mut books.pairs {
        pair.thorough = false;
        let what = CommandOrTick::Do(Op::create(&[("m", "u", 3)]));
        assert!(matches!(pair.step(&Event { at: START, what }), Ok(StepResult::Commit(_))), "{id}");
    }
    let steps = Scope::of(&books, letters, 6);
    assert!(steps > 100_000, "only {steps} steps");
}

#[test]
fn every_short_end_of_an_account() {
    let new = |number| Request::new("s", number);
    let mut letters = ops(vec![
        Op::create(&[("a", "u", 1)]),
        Op::status(Status::Suspended),
        Op::status(Status::Closed),
        Op::status(Status::Active),
        Op::delete(false),
        Op::delete(true),
        Op::Delete { force: true, if_txn: Some("v".to_string()) },
        new(0).ask(1, "u", 1).reserve(),
        new(1).both(1, "u", 1, 1).update(),
        Op::debit("d", "u", 1),
        Op::topup("t", "a", 1),
        Op::adjust("v", "a", -1),
    ]);
    letters.extend([Letter::Do(CommandOrTick::Tick), Letter::Wait(6)]);
    let steps = all(limits(), &[], letters, 7);
    assert!(steps > 100_000, "only {steps} steps");
}

/// Different bodies must have different digests, whatever fields are adjacent.
#[test]
fn every_pair_of_bodies_is_told_apart() {
    let mut bodies = vec![];
    for validity_ms in [None, Some(1), Some(2)] {
        for tcc_ms in [None, Some(1), Some(2)] {
            for overrun in [None, Some(Overrun::Overdraw), Some(Overrun::Clamp)] {
                for blob in [None, Some(vec![]), Some(vec![1])] {
                    for on_denial in 0..3 {
                        let (close_on_denial, keep_open) = (on_denial == 1, on_denial == 2);
                        let items = Request::new("s", 1).ask(1, "u", 1);
                        let body = Request {
                            blob: blob.clone(),
                            options: SessionOptions {
                                validity_ms,
                                tcc_ms,
                                overrun,
                                close_on_denial,
                                keep_open,
                                ..items.options
                            },
                            ..items
                        };
                        bodies.push(body.clone().reserve());
                        bodies.push(body.ask(2, "u", 1).min(1).reserve());
                    }
                }
            }
        }
    }
    let mut pair = Pair::new(limits());
    pair.thorough = false;
    let at = |op: &Op| Event { at: START, what: CommandOrTick::Do(op.clone()) };
    pair.step(&at(&Op::create(&[]))).expect("CREATE agrees");
    for (index, body) in bodies.iter().enumerate() {
        let mut denied = pair.clone();
        assert!(matches!(denied.step(&at(body)), Ok(StepResult::Commit(_))), "{body:?}");
        for (other, again) in bodies.iter().enumerate() {
            let came = denied.step(&at(again));
            let replayed = came.as_ref().map(|came| matches!(came, StepResult::Replay(_)));
            assert_eq!(replayed, Ok(index == other), "{body:?} then {again:?}: {came:?}");
        }
    }
}
