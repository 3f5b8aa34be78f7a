//! Seeded runs against the model: every step compares the decision and everything visible, and checks the invariants.
//! SCURRY_SEEDS sets the number of seeds, SCURRY_SEED the first.

mod ambiguous_cases;

use ambiguous_cases::{AmbiguousCases, Step};
use scurry_ledger::{Answer, Time};
use scurry_model::{CommandOrTick, Event, Generator, Pair, StepResult, guarded, report};
use std::collections::{BTreeMap, BTreeSet};

const STEPS: usize = 60;

fn from_env(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

/// Runs a seed and returns the results of its steps, or a report when one fails. Counts the situations that the run
/// reached.
fn seed(
    seed: u64,
    sighted: &mut BTreeMap<&'static str, usize>,
) -> Result<Vec<(Event, StepResult)>, String> {
    let close = seed % 4 == 3;
    let (limits, mut generator) = if close { Generator::close(seed) } else { Generator::new(seed) };
    if seed % 20 == 7 {
        // The clock reaches its end during the run, or soon afterwards.
        let before: i64 = if seed % 40 == 7 { 300 } else { 3_600_100 };
        generator.set_clock(Time::LAST.0 - before);
    }
    let mut pair = Pair::new(limits.clone());
    let mut steps = vec![];
    let mut sights = AmbiguousCases::default();
    for _ in 0..STEPS {
        let event = generator.next(&pair);
        let before = pair.account.clone();
        match guarded(&mut pair, &event) {
            Ok(came) => {
                if let CommandOrTick::Do(op) = &event.what {
                    let (before, at) = (before.as_ref(), Time(event.at));
                    let step = Step { before, limits: &limits, at, op, came: &came };
                    for name in sights.of(&step) {
                        *sighted.entry(name).or_default() += 1;
                    }
                }
                steps.push((event, came));
            }
            Err(_) => {
                let mut events: Vec<Event> = steps.into_iter().map(|step| step.0).collect();
                events.push(event);
                return Err(report(seed, &limits, &events));
            }
        }
    }
    Ok(steps)
}

/// Describes the command and outcome of a step.
fn outcome((event, came): &(Event, StepResult)) -> String {
    let command: String = match &event.what {
        CommandOrTick::Tick => "Tick".to_string(),
        CommandOrTick::Do(op) => format!("{op:?}").split(['(', ' ']).take(1).collect(),
    };
    let code = match came {
        StepResult::Ticked(true) => "due",
        StepResult::Ticked(false) => "nothing",
        StepResult::Replay(_) => "replay",
        StepResult::Reject(code)
        | StepResult::Commit(
            Answer::Account { code, .. }
            | Answer::Amount { code, .. }
            | Answer::Session { code, .. },
        ) => code.name(),
    };
    format!("{command} {code}")
}

/// Outcomes that a rule of docs/ledger.md names; if the runs do not reach them, they prove nothing.
const OUTCOMES: &str = "\
Adjust: OK replay INVALID UNKNOWN_BUCKET BUCKET_EXPIRED REQUEST_MISMATCH BUSY OVERFLOW CREDIT_LIMIT_REACHED
Bucket: OK replay INVALID UNKNOWN_BUCKET NOT_EMPTY NOT_APPLICABLE REQUEST_MISMATCH BUSY OVERFLOW CREDIT_LIMIT_REACHED
Counter: OK replay INVALID REQUEST_MISMATCH BUSY OVERFLOW
Create: OK replay INVALID ACCOUNT_EXISTS REQUEST_MISMATCH OVERFLOW
Debit: OK replay INVALID REQUEST_MISMATCH BUSY OVERFLOW SERVICE_DENIED CREDIT_LIMIT_REACHED
DebitItems: OK replay INVALID REQUEST_MISMATCH BUSY SERVICE_DENIED CREDIT_LIMIT_REACHED
Delete: OK replay INVALID UNKNOWN_TRANSACTION NOT_EMPTY
Limit: OK replay INVALID UNKNOWN_LIMIT REQUEST_MISMATCH BUSY
RefundItems: OK INVALID UNKNOWN_TRANSACTION NOT_APPLICABLE REQUEST_MISMATCH
Refund: OK replay INVALID UNKNOWN_TRANSACTION NOT_APPLICABLE REQUEST_MISMATCH BUSY
Release: OK replay UNKNOWN_SESSION
Reserve: OK replay INVALID SESSION_EXISTS REQUEST_MISMATCH BUSY OVERFLOW SERVICE_DENIED CREDIT_LIMIT_REACHED
Status: OK replay INVALID REQUEST_MISMATCH NOT_APPLICABLE BUSY
Terminate: OK replay INVALID UNKNOWN_SESSION REQUEST_MISMATCH OUT_OF_WINDOW VERSION_CONFLICT OVERFLOW
Tick: due nothing
TopUp: OK replay INVALID UNKNOWN_BUCKET BUCKET_EXPIRED REQUEST_MISMATCH BUSY OVERFLOW SERVICE_DENIED
Update: OK replay INVALID UNKNOWN_SESSION REQUEST_MISMATCH OUT_OF_WINDOW VERSION_CONFLICT OVERFLOW SERVICE_DENIED CREDIT_LIMIT_REACHED";

#[test]
fn ledger_and_model_agree_on_every_step() {
    let first = from_env("SCURRY_SEED", 0);
    let count = from_env("SCURRY_SEEDS", 2_000);
    let mut seen: BTreeSet<String> = BTreeSet::new();
    let mut sighted = BTreeMap::new();
    for number in first..first + count {
        match seed(number, &mut sighted) {
            Ok(steps) => seen.extend(steps.iter().map(outcome)),
            Err(report) => panic!("{report}"),
        }
    }
    if count < 2_000 {
        return;
    }
    for line in OUTCOMES.lines() {
        let (command, codes) = line.split_once(": ").unwrap_or((line, ""));
        for code in codes.split(' ') {
            let wanted = format!("{command} {code}");
            assert!(seen.contains(&wanted), "no run came to {wanted}");
        }
    }
    println!("{sighted:?}");
    for name in ambiguous_cases::ALL {
        assert!(sighted.contains_key(name), "no run came to this: {name}");
    }
}
