//! Properties of rolling limits and rates, checked by books that are kept beside the ledger: a rolling limit never allows
//! more than its amount in a span, and denies nothing that would fit a thirtieth more; a rate never allows more than its
//! burst and what drains in the time; and what a denial tells as `allowed_at` is true to the millisecond. SCURRY_SEEDS
//! sets the number of seeds.

use scurry_ledger::{
    Account, Answer, Cause, Code, Decision, LimitSubject, LimitTerms, Limits, SessionOptions, Time,
    WindowTerms, decide,
};
use scurry_model::{CommandOrTick, Event, Op, Pair, Random, Request, StepResult, name};

const START: i64 = 1_700_000_000_000;
const STEPS: usize = 80;

fn seeds() -> u64 {
    std::env::var("SCURRY_SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(400)
}

/// A seeded run on one account.
struct Run {
    seed: u64,
    random: Random,
    pair: Pair,
    now: i64,
    count: usize,
}

/// Use at a moment, or with a negative amount what a refund took back then.
struct Used {
    at: i64,
    amount: i64,
    /// Transaction id of a debit.
    txn: Option<String>,
    /// What was refunded of it.
    refunded: i64,
}

impl Run {
    fn new(seed: u64) -> Run {
        let now = START + i64::try_from(seed % 997).expect("small");
        let pair = Pair::new(Limits::default());
        let mut run = Run { seed, random: Random::new(seed), pair, now, count: 0 };
        run.done(Op::create(&[("a", "u", 1_000_000)]));
        run
    }

    fn done(&mut self, op: Op) -> Answer {
        let told = format!("seed {}: {op:?} at {}", self.seed, self.now);
        match self.pair.step(&Event { at: self.now, what: CommandOrTick::Do(op) }) {
            Ok(StepResult::Commit(answer)) => answer,
            other => panic!("{told}: {other:?}"),
        }
    }

    fn txn(&mut self) -> String {
        self.count += 1;
        format!("t{}", self.count)
    }

    fn limit(&mut self, id: &str, item: Option<u32>, amount: i64, window: WindowTerms) {
        let counted = LimitSubject::Units { unit: name("u"), item: item.map(Into::into) };
        let terms = LimitTerms::Set { counted, amount, window };
        let txn = self.txn();
        self.done(Op::Limit { txn, limit: name(id), terms });
    }

    fn account(&self) -> &Account {
        self.pair.account.as_ref().expect("an account")
    }

    /// Lets some time pass, mostly a part of a span.
    fn wait(&mut self, span_ms: i64) {
        self.now += match self.random.below(8) {
            0..2 => 0,
            2 => self.random.between(0, 3),
            3..7 => self.random.between(0, span_ms / 6),
            _ => self.random.between(0, 2 * span_ms),
        };
    }

    fn span(&mut self) -> i64 {
        self.random.pick(&[1_000, 1_001, 3_007, 60_000, 59_999])
    }

    /// Debits, opens a session, ends one by use within its hold, or refunds a debit; notes use and refunds. Returns the
    /// amount that was asked for, with what the sessions held, if it was denied.
    fn step(&mut self, book: &mut Vec<Used>) -> Option<i64> {
        let held: i64 = {
            let open = &self.account().sessions;
            open.iter().flat_map(|session| &session.items).map(|item| item.outstanding()).sum()
        };
        let at = self.now;
        match self.random.below(8) {
            0..4 => {
                let (txn, asked) = (self.txn(), self.random.between(1, 12));
                let answer = self.done(Op::debit(&txn, "u", asked));
                if answer.code() == Code::Ok {
                    book.push(Used { at, amount: asked, txn: Some(txn), refunded: 0 });
                    return None;
                }
                Some(asked + held)
            }
            4 if self.account().sessions.len() < 2 => {
                let (id, asked) = (self.txn(), self.random.between(1, 12));
                let options = SessionOptions { tcc_ms: Some(86_400_000), ..Default::default() };
                self.done(Request { options, ..Request::new(&id, 0).ask(1, "u", asked) }.reserve());
                None
            }
            5 | 6 => {
                let open = self.account().sessions.first()?;
                let (id, hold) = (open.id.clone(), open.items[0].outstanding());
                let id = String::from_utf8(id.as_bytes().to_vec()).expect("text");
                let amount = self.random.between(0, hold);
                self.done(Request::new(&id, 1).used(1, "u", amount).terminate());
                book.push(Used { at, amount, txn: None, refunded: 0 });
                None
            }
            _ => {
                let of_debits = book.iter_mut().filter(|used| used.txn.is_some());
                let left: Vec<_> = of_debits.filter(|of| of.refunded < of.amount).collect();
                if left.is_empty() {
                    return None;
                }
                let last = i64::try_from(left.len() - 1).expect("small");
                let which = usize::try_from(self.random.between(0, last)).expect("small");
                let debit = left.into_iter().nth(which).expect("one of them");
                let amount = self.random.between(1, debit.amount - debit.refunded);
                debit.refunded += amount;
                let of = debit.txn.clone().expect("a debit");
                let txn = self.txn();
                self.done(Op::refund(&txn, &of, Some(amount)));
                book.push(Used { at, amount: -amount, txn: None, refunded: 0 });
                None
            }
        }
    }
}

#[test]
fn a_rolling_limit_never_allows_more_than_its_amount_in_a_span() {
    for seed in 0..seeds() {
        let mut run = Run::new(seed);
        let (span_ms, amount) = (run.span(), run.random.between(1, 30));
        run.limit("l", None, amount, WindowTerms::Rolling { span_ms });
        let mut book = Vec::new();
        for _ in 0..STEPS {
            run.wait(span_ms);
            let denied = run.step(&mut book);
            let within = |ms: i64| -> i64 {
                let recent = book.iter().filter(|used| used.amount > 0 && used.at > run.now - ms);
                recent.map(|used| used.amount - used.refunded).sum()
            };
            assert!(within(span_ms) <= amount, "seed {seed}: too much in a span");
            if let Some(asked) = denied {
                let part_ms = (span_ms + 29) / 30;
                assert!(within(span_ms + part_ms) + asked > amount, "seed {seed}: denied too much");
            }
        }
    }
}

#[test]
fn a_rate_never_allows_more_than_its_burst_and_what_drains() {
    for seed in 0..seeds() {
        let mut run = Run::new(seed);
        let (span_ms, amount) = (run.span(), run.random.between(0, 30));
        let burst = run.random.between(1, 30);
        run.limit("l", None, amount, WindowTerms::Rate { span_ms, burst: Some(burst) });
        let mut book = Vec::new();
        for _ in 0..STEPS {
            run.wait(span_ms);
            run.step(&mut book);
        }
        for first in 0..book.len() {
            let mut sum = 0;
            for used in &book[first..] {
                sum += used.amount;
                let most = burst * span_ms + amount * (used.at - book[first].at);
                assert!(sum * span_ms <= most, "seed {seed}: more than drains");
            }
        }
    }
}

/// Returns the answer that an operation would get at a moment, which nothing keeps.
fn would(run: &Run, op: &Op, at: i64) -> Answer {
    let account = run.pair.account.as_ref();
    match op.with(|command| decide(account, command, Time(at), &Limits::default())) {
        Decision::Commit(_, answer) => answer,
        other => panic!("seed {}: {other:?}", run.seed),
    }
}

#[test]
fn the_time_that_a_denial_tells_is_true_to_the_millisecond() {
    let mut told = [0; 2];
    for seed in 0..seeds() {
        let mut run = Run::new(seed);
        let span_ms = run.span();
        for (id, item) in [("l", None), ("m", Some(1))] {
            let (span_ms, amount) = (run.span(), run.random.between(1, 20));
            let window = match run.random.below(4) {
                0 => WindowTerms::period(scurry_ledger::Period::Minute),
                1 => WindowTerms::Rolling { span_ms },
                _ => WindowTerms::Rate { span_ms, burst: None },
            };
            run.limit(id, item, amount, window);
        }
        let mut book = Vec::new();
        for _ in 0..STEPS / 2 {
            run.wait(span_ms);
            run.step(&mut book);
            let (first, second) = (run.random.between(1, 9), run.random.between(1, 9));
            let op = match run.random.below(3) {
                0 => Op::debit("probe", "u", first),
                1 => Op::debit_items("probe", &[(1, "u", first), (2, "u", second)]),
                _ => Request::new("probe", 0).ask(1, "u", first + second).min(first).reserve(),
            };
            let answer = would(&run, &op, run.now);
            let Cause::Limit { .. } = answer.cause() else { continue };
            // A hold that ends by its own time would make room too.
            let ends = run.account().sessions.iter().map(|session| session.deadline.0).min();
            let ends = ends.unwrap_or(Time::LAST.0);
            match answer.allowed_at() {
                Some(Time(at)) if at < ends => {
                    told[0] += 1;
                    assert!(at > run.now, "seed {seed}: {op:?} at {at}");
                    let (before, then) = (would(&run, &op, at - 1), would(&run, &op, at));
                    let told = format!("seed {seed}: {op:?} at {} told {at}", run.now);
                    assert_eq!(before.code(), Code::CreditLimitReached, "{told}");
                    assert_eq!(before.allowed_at(), Some(Time(at)), "{told}");
                    assert_eq!(then.code(), Code::Ok, "{told}");
                }
                Some(_) => {}
                None => {
                    told[1] += 1;
                    let never = would(&run, &op, ends - 1);
                    assert_eq!(never.code(), Code::CreditLimitReached, "seed {seed}: {op:?}");
                }
            }
        }
    }
    assert!(told.iter().all(|&count| count > seeds()), "{told:?}");
}
