//! Properties of sessions that a finance person would sign, checked by books that are kept beside the ledger: a refused
//! increase loses no hold, a session that captures what it held takes no more than it was granted, and what was
//! cancelled never holds. SCURRY_SEEDS sets the number of seeds.

use scurry_ledger::{Account, Answer, Code, ItemAnswer, Limits, Overrun, SessionOptions};
use scurry_model::{CommandOrTick, Event, Op, Pair, Random, Request, StepResult};
use std::collections::{BTreeMap, BTreeSet};

const START: i64 = 1_700_000_000_000;
const STEPS: usize = 80;
/// Units with which the account begins.
const CREDIT: i64 = 40;
/// The validity of all sessions, and how long their requests may stay away beyond it.
const TCC_MS: i64 = 10_000;

fn seeds() -> u64 {
    std::env::var("SCURRY_SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(400)
}

/// A seeded run on one account.
struct Run {
    seed: u64,
    random: Random,
    pair: Pair,
    now: i64,
    /// The number of the next request of all sessions, and of the next transaction.
    next: u32,
}

impl Run {
    fn new(seed: u64) -> Run {
        let pair = Pair::new(Limits::default());
        let mut run = Run { seed, random: Random::new(seed), pair, now: START, next: 0 };
        run.done(Op::create(&[("a", "u", CREDIT), ("b", "u", 0)]));
        run
    }

    /// Executes a command. Returns `None` when it was refused.
    fn step(&mut self, op: Op) -> Option<Answer> {
        let told = format!("seed {}: {op:?} at {}", self.seed, self.now);
        match self.pair.step(&Event { at: self.now, what: CommandOrTick::Do(op) }) {
            Ok(StepResult::Commit(answer)) => Some(answer),
            Ok(_) => None,
            Err(error) => panic!("{told}: {error:?}"),
        }
    }

    fn done(&mut self, op: Op) -> Answer {
        let told = format!("seed {}: {op:?} at {}", self.seed, self.now);
        self.step(op).unwrap_or_else(|| panic!("{told}: refused"))
    }

    fn number(&mut self) -> u32 {
        self.next += 1;
        self.next
    }

    fn account(&self) -> &Account {
        self.pair.account.as_ref().expect("an account")
    }

    /// Returns the units of the account: those it has available, and those that it holds.
    fn units(&self) -> i64 {
        self.account().buckets.iter().map(|bucket| bucket.available + bucket.held).sum()
    }

    /// Returns what a session holds; 0 if it is not open.
    fn held(&self, session: &str) -> i64 {
        let mut open = self.account().sessions.iter();
        let session = open.find(|open| open.id.as_bytes() == session.as_bytes());
        session.map_or(0, |open| open.items.iter().map(|item| item.outstanding()).sum())
    }

    /// Sometimes moves money or time, so that increases are denied and granted.
    fn disturb(&mut self) {
        let txn = format!("t{}", self.number());
        match self.random.below(8) {
            0 => {
                let amount = self.random.between(1, 20);
                self.done(Op::topup(&txn, "b", amount));
            }
            1 | 2 => {
                let amount = self.random.between(1, 20);
                self.done(Op::debit(&txn, "u", amount));
            }
            3 => {
                self.now += self.random.between(0, TCC_MS / 4);
                let tick = self.pair.step(&Event { at: self.now, what: CommandOrTick::Tick });
                tick.unwrap_or_else(|error| panic!("seed {}: {error:?}", self.seed));
            }
            _ => {}
        }
    }
}

fn options() -> SessionOptions {
    SessionOptions { validity_ms: Some(TCC_MS), tcc_ms: Some(TCC_MS), ..Default::default() }
}

fn items(answer: &Answer) -> &[ItemAnswer] {
    match answer {
        Answer::Session { items, .. } => items,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_refused_increase_never_loses_what_is_held() {
    let (mut kept, mut granted) = (0, 0);
    for seed in 0..seeds() {
        let mut run = Run::new(seed);
        let open =
            Request { options: options(), ..Request::new("s", run.number()).ask(1, "u", 10) };
        run.done(open.reserve());
        for _ in 0..STEPS {
            run.disturb();
            let held = run.held("s");
            if held == 0 {
                break;
            }
            let used = run.random.between(0, held);
            let asked = run.random.between(1, 30);
            let keep = SessionOptions { keep_hold: true, ..options() };
            let request = Request::new("s", run.number()).both(1, "u", used, asked).min(asked);
            let before = run.units();
            let answer = run.done(Request { options: keep, ..request }.update());
            assert_eq!(run.units(), before - used, "seed {seed}: the use alone is debited");
            if items(&answer)[0].code == Code::Ok {
                assert_eq!(run.held("s"), asked, "seed {seed}");
                granted += 1;
            } else {
                assert_eq!(run.held("s"), held - used, "seed {seed}: the rest stays held");
                kept += 1;
            }
        }
    }
    assert!(kept > seeds() && granted > seeds(), "both are tried: {kept}, {granted}");
}

#[test]
fn a_session_that_captures_what_it_held_takes_no_more_than_it_was_granted() {
    let mut captured_all = 0;
    for seed in 0..seeds() {
        let mut run = Run::new(seed);
        let held = SessionOptions { overrun: Some(Overrun::Held), ..options() };
        let first = Request::new("s", run.number()).ask(1, "u", 12);
        let answer = run.done(Request { options: held, ..first }.reserve());
        let (mut granted, mut taken) = (items(&answer)[0].granted, 0);
        for _ in 0..STEPS {
            run.disturb();
            if run.held("s") == 0 {
                break;
            }
            let (used, asked) = (run.random.between(0, 25), run.random.between(0, 10));
            let number = run.number();
            let request = Request::new("s", number).both(1, "u", used, asked);
            let ends = run.random.one_in(4);
            let last = Request::new("s", number).used(1, "u", used);
            let before = run.units();
            let answer = run.done(if ends { last.terminate() } else { request.update() });
            taken += before - run.units();
            assert!(taken <= granted, "seed {seed}: {taken} of {granted}");
            granted += items(&answer)[0].granted;
            captured_all += u64::from(taken == granted);
        }
    }
    assert!(captured_all > seeds() / 10, "some capture all that they held");
}

#[test]
fn a_session_that_was_cancelled_never_holds() {
    let mut late = 0;
    for seed in 0..seeds() {
        let mut run = Run::new(seed);
        // Sessions by the order in which their two requests arrive: a cancel may overtake its RESERVE.
        let mut cancelled = BTreeSet::new();
        let mut reserved = BTreeMap::new();
        for _ in 0..STEPS {
            run.disturb();
            let session = format!("s{}", run.random.below(20));
            if run.random.one_in(2) {
                let cancel = SessionOptions { cancel: true, ..Default::default() };
                let number = run.number();
                let terminate = Request { options: cancel, ..Request::new(&session, number) };
                let release = Op::Release { session: session.clone(), txn: None, cancel: true };
                let op = if run.random.one_in(2) { terminate.terminate() } else { release };
                // Of one that has ended already it is refused.
                if run.step(op).is_some() {
                    cancelled.insert(session.clone());
                }
                assert_eq!(run.held(&session), 0, "seed {seed}: {session} was ended or cancelled");
            } else if !reserved.contains_key(&session) {
                let number = run.number();
                let request = Request::new(&session, number).ask(1, "u", 2);
                let answer = run.step(Request { options: options(), ..request }.reserve());
                reserved.insert(session.clone(), answer.is_some());
                late += u64::from(cancelled.contains(&session));
            }
            for session in &cancelled {
                assert_eq!(run.held(session), 0, "seed {seed}: {session} holds");
            }
        }
    }
    assert!(late > seeds(), "RESERVE comes after its cancel: {late}");
}
