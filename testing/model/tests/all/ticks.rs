//! Nothing depends on when a timer runs or an account is read (I17): the same commands, with ticks at any times, get
//! the same answers and leave the same balances, totals, sessions and remembered answers. Only the account's version,
//! which counts Commits, and the time of its last change differ. The test needs no oracle, so it also checks a rule
//! that ledger and model may both have misread. SCURRY_SEEDS sets the number of seeds, SCURRY_SEED the first.

use scurry_engine::{APART_LEN, Config, HashKey, Outcome, Shard};
use scurry_ledger::{Account, Answer, Decision, Limits, Time, apply, decide, tick, view};
use scurry_model::{
    CommandOrTick, Generator, Model, ModelResult, Op, Pair, Random, Snapshot, StepResult,
};

const STEPS: usize = 40;
/// Time after everything that can be due, ms: all deadlines and ends of validity below the end of time.
const AFTERWARDS_MS: i64 = 100_000;
/// How long of a pause is walked through millisecond by millisecond.
const PUNCTUAL_MS: i64 = 500;
const ID: &[u8] = b"account";

/// Implementation that keeps the account.
trait Keeper {
    fn execute(&mut self, at: i64, op: &Op) -> StepResult;
    /// Does the work of a timer at clock time `at`.
    fn tick(&mut self, at: i64);
    fn look(&mut self, at: i64) -> Option<Snapshot>;
}

/// Implementation with only the functions of the ledger.
struct Bare {
    limits: Limits,
    account: Option<Account>,
}

impl Keeper for Bare {
    fn execute(&mut self, at: i64, op: &Op) -> StepResult {
        let account = self.account.as_ref();
        match op.with(|command| decide(account, command, Time(at), &self.limits)) {
            Decision::Replay(answer) => StepResult::Replay(answer),
            Decision::Reject(rejection) => StepResult::Reject(rejection.code),
            Decision::Commit(change, answer) => {
                apply(&mut self.account, &change);
                StepResult::Commit(answer)
            }
        }
    }

    fn tick(&mut self, at: i64) {
        let account = self.account.as_ref();
        if let Some(change) = account.and_then(|account| tick(account, Time(at), &self.limits)) {
            apply(&mut self.account, &change);
        }
    }

    fn look(&mut self, at: i64) -> Option<Snapshot> {
        let account = self.account.as_ref()?;
        Some(Snapshot::of_account(&view(account, Time(at), &self.limits), Time(at)))
    }
}

impl Keeper for Model {
    fn execute(&mut self, at: i64, op: &Op) -> StepResult {
        match op.with(|command| Model::execute(self, Time(at), command)) {
            ModelResult::Replay(answer) => StepResult::Replay(answer),
            ModelResult::Reject(code) => StepResult::Reject(code),
            ModelResult::Commit(answer) => StepResult::Commit(answer),
        }
    }

    fn tick(&mut self, at: i64) {
        Model::tick(self, Time(at));
    }

    fn look(&mut self, at: i64) -> Option<Snapshot> {
        self.snapshot(Time(at))
    }
}

impl Keeper for Shard {
    fn execute(&mut self, at: i64, op: &Op) -> StepResult {
        let key = self.key(ID);
        match op.with(|command| Shard::execute(self, Time(at), key, command)) {
            Outcome::Answer { answer, replayed: true } => StepResult::Replay(answer),
            Outcome::Answer { answer, replayed: false } => StepResult::Commit(answer),
            Outcome::Reject(rejection) => StepResult::Reject(rejection.code),
            other => panic!("{other:?}"),
        }
    }

    fn tick(&mut self, at: i64) {
        while Shard::tick(self, Time(at)) > 0 {}
    }

    fn look(&mut self, at: i64) -> Option<Snapshot> {
        let key = self.key(ID);
        let account = self.account(Time(at), key).ok()?;
        Some(Snapshot::of_account(account, Time(at)))
    }
}

/// Timers and reads between two commands.
#[derive(Clone, Copy, Debug)]
enum Between {
    Nothing,
    /// A tick in every millisecond.
    Punctual,
    /// One tick, with the next command.
    Late,
    /// Ticks and reads at random times.
    Anything(u64),
}

/// Results of each step, without the counts of Commits.
type Seen = Vec<(Option<StepResult>, Option<Snapshot>)>;

fn course(keeper: &mut dyn Keeper, events: &[(i64, Op)], between: Between) -> Seen {
    let mut random = Random::new(match between {
        Between::Anything(seed) => seed,
        _ => 0,
    });
    let mut last = events.first().map_or(0, |event| event.0);
    let mut seen = vec![];
    for (at, op) in events {
        pass(keeper, last, *at, between, &mut random);
        last = *at;
        let came = keeper.execute(*at, op);
        seen.push((Some(without_version(came)), keeper.look(*at).map(without_commits)));
    }
    pass(keeper, last, last + AFTERWARDS_MS, between, &mut random);
    seen.push((None, keeper.look(last + AFTERWARDS_MS).map(without_commits)));
    seen
}

/// Ticks between a command at `from` and one at `to`.
fn pass(keeper: &mut dyn Keeper, from: i64, to: i64, between: Between, random: &mut Random) {
    match between {
        Between::Nothing => {}
        Between::Punctual => {
            (from..=to.min(from + PUNCTUAL_MS)).for_each(|at| keeper.tick(at));
            keeper.tick(to);
        }
        Between::Late => keeper.tick(to),
        Between::Anything(_) => {
            let mut times: Vec<i64> =
                (0..random.below(4)).map(|_| random.between(from, to.min(from + 80))).collect();
            times.sort_unstable();
            for at in times {
                if random.one_in(3) { drop(keeper.look(at)) } else { keeper.tick(at) }
            }
        }
    }
}

fn without_version(came: StepResult) -> StepResult {
    let of = |answer| match answer {
        Answer::Account { code, .. } => Answer::Account { code, version: 0 },
        Answer::Amount { code, amount, cause, .. } => {
            Answer::Amount { code, version: 0, amount, cause }
        }
        session @ Answer::Session { .. } => session,
    };
    match came {
        StepResult::Replay(answer) => StepResult::Replay(of(answer)),
        StepResult::Commit(answer) => StepResult::Commit(of(answer)),
        other => other,
    }
}

fn without_commits(snapshot: Snapshot) -> Snapshot {
    Snapshot { version: 0, changed_at: 0, ..snapshot }
}

/// Returns the bounds and the commands of a seed, with a clock that does not go backwards.
fn history(seed: u64) -> (Limits, Vec<(i64, Op)>) {
    let (limits, mut generator) = Generator::close(seed);
    let mut pair = Pair::new(limits.clone());
    let (mut bare, mut clock) = (Bare { limits: limits.clone(), account: None }, 0);
    let mut events = vec![];
    for _ in 0..STEPS {
        let event = generator.next(&pair);
        clock = event.at.max(clock);
        let CommandOrTick::Do(op) = event.what else { continue };
        bare.execute(clock, &op);
        pair.account.clone_from(&bare.account);
        Keeper::execute(&mut pair.model, clock, &op);
        events.push((clock, op));
    }
    (limits, events)
}

/// Describes the first difference between two runs of the same commands.
fn difference(events: &[(i64, Op)], plain: &Seen, other: &Seen) -> Option<String> {
    let at = plain.iter().zip(other).position(|(plain, other)| plain != other)?;
    let told: Vec<String> =
        events.iter().take(at + 1).map(|event| format!("  {event:?}")).collect();
    Some(format!("{}\nwithout: {:?}\nwith:    {:?}", told.join("\n"), plain[at], other[at]))
}

fn check(seed: u64) -> Result<(), String> {
    let (limits, events) = history(seed);
    let bare = || Bare { limits: limits.clone(), account: None };
    let shard = || {
        Shard::new(Config {
            limits: limits.clone(),
            hash_key: HashKey::known(seed),
            apart_len: [APART_LEN, 0, 200][seed as usize % 3],
            ..Config::default()
        })
    };
    let plain = course(&mut bare(), &events, Between::Nothing);
    let ways = [Between::Nothing, Between::Punctual, Between::Late];
    for between in ways.into_iter().chain((0..3).map(Between::Anything)) {
        let told: [(&str, Seen); 3] = [
            ("ledger", course(&mut bare(), &events, between)),
            ("model", course(&mut Model::new(limits.clone()), &events, between)),
            ("shard", course(&mut shard(), &events, between)),
        ];
        for (keeper, seen) in &told {
            if let Some(difference) = difference(&events, &plain, seen) {
                return Err(format!("seed {seed}, {keeper}, ticks {between:?}:\n{difference}"));
            }
        }
    }
    Ok(())
}

fn from_env(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

#[test]
fn nothing_depends_on_when_a_timer_runs() {
    let first = from_env("SCURRY_SEED", 0);
    let seeds = from_env("SCURRY_SEEDS", 250);
    let failures: Vec<String> =
        (first..first + seeds).filter_map(|seed| check(seed).err()).collect();
    assert!(
        failures.is_empty(),
        "{} of {seeds} seeds, the first:\n{}",
        failures.len(),
        failures[0]
    );
}
