//! The engine as a host of the ledger: three accounts in one shard, each compared with a pair of ledger and model.
//! Outcomes, everything that can be read, totals and timers agree at every step.

use scurry_engine::{APART_LEN, Config, HashKey, Outcome, Shard};
use scurry_ledger::{AccountContribution, Change, Limits, SessionOptions, Time, Totals, next_due};
use scurry_model::{CommandOrTick, Event, Generator, Op, Pair, Random, Request, StepResult};
use std::collections::BTreeMap;

const SEEDS: u64 = 250;
const STEPS: usize = 90;
const ACCOUNTS: [&[u8]; 3] = [b"anna", b"bert", b"carl"];

/// Shard, and its expected content.
struct Hosted {
    shard: Shard,
    pairs: [Pair; 3],
}

impl Hosted {
    fn new(limits: &Limits, seed: u64) -> Hosted {
        // Some seeds keep every account in parts, others only accounts that grow beyond a bound.
        let apart_len = [APART_LEN, 0, 60, 400][seed as usize % 4];
        let hash_key = HashKey::known(seed);
        let config = Config { limits: limits.clone(), hash_key, apart_len, ..Config::default() };
        let pair = || Pair::new(limits.clone());
        Hosted { shard: Shard::new(config), pairs: [pair(), pair(), pair()] }
    }

    fn run(&mut self, index: usize, at: i64, op: &Op) -> Result<(), String> {
        let came = self.pairs[index].step(&Event { at, what: CommandOrTick::Do(op.clone()) })?;
        let outcome = op
            .with(|command| self.shard.execute(Time(at), self.shard.key(ACCOUNTS[index]), command));
        let same = match (&came, &outcome) {
            (StepResult::Replay(expected), Outcome::Answer { answer, replayed: true }) => {
                expected == answer
            }
            (StepResult::Commit(expected), Outcome::Answer { answer, replayed: false }) => {
                expected == answer
            }
            (StepResult::Reject(expected), Outcome::Reject(rejection)) => {
                *expected == rejection.code
            }
            _ => false,
        };
        if same { Ok(()) } else { Err(format!("ledger {came:?}, shard {outcome:?}")) }
    }

    /// Runs some steps of the shard's timers: each release is the first of all that are due, in the order (deadline,
    /// id), whatever commands arrived since the order was begun.
    fn tick_torn(&mut self, at: i64, steps: usize) -> Result<(), String> {
        let at = self.latest(at);
        let mut released = vec![];
        let note = |id: &[u8], change: &Change| released.push((change.at, id.to_vec()));
        self.shard.tick_some(Time(at), steps, note);
        for release in released {
            let due = self.pairs.iter().zip(ACCOUNTS).filter_map(|(pair, id)| {
                let due = pair.account.as_ref().and_then(next_due)?;
                Some((due, id.to_vec())).filter(|_| due.0 <= at)
            });
            let first = due.min();
            if first.as_ref() != Some(&release) {
                return Err(format!("I9: {first:?} is due first, released was {release:?}"));
            }
            let index = ACCOUNTS.iter().position(|id| *id == release.1).unwrap_or(0);
            self.pairs[index].step(&Event { at: release.0.0, what: CommandOrTick::Tick })?;
        }
        Ok(())
    }

    /// Returns the time, but no earlier than the last Change of any account.
    fn latest(&self, at: i64) -> i64 {
        let changed = self.pairs.iter().filter_map(|pair| pair.account.as_ref());
        changed.map(|account| account.changed_at.0).fold(at, i64::max)
    }

    /// Runs every timer of the shard, and of the pairs at the same time.
    fn tick(&mut self, at: i64) -> Result<(), String> {
        let at = self.latest(at);
        // A shard commits each thing that is due at its own time.
        let mut expected = vec![];
        for (pair, id) in self.pairs.iter_mut().zip(ACCOUNTS) {
            let due = |pair: &Pair| pair.account.as_ref().and_then(next_due);
            while let Some(due) = due(pair).filter(|due| due.0 <= at) {
                pair.step(&Event { at: due.0, what: CommandOrTick::Tick })?;
                expected.push((due, id.to_vec()));
            }
        }
        expected.sort();
        let mut order = vec![];
        let mut note = |id: &[u8], change: &Change| order.push((change.at, id.to_vec()));
        // Each call but the last releases something, so more calls would mean an endless loop.
        let calls =
            (0..=expected.len()).take_while(|_| self.shard.tick_with(Time(at), &mut note) > 0);
        let _ = calls.count();
        if order != expected {
            return Err(format!("I9: due in the order {expected:?}, released in {order:?}"));
        }
        for id in ACCOUNTS {
            let due = self.shard.account(Time(at), self.shard.key(id)).ok().and_then(next_due);
            if due.is_some_and(|due| due <= Time(at)) {
                return Err(format!("I9: something is due after a tick at {at}: {due:?}"));
            }
        }
        if self.shard.next_due().is_some_and(|due| due.0 + 16 <= at) {
            return Err("a timer is left behind".into());
        }
        Ok(())
    }

    /// Reads every key, and the totals, which show only committed changes.
    fn look(&mut self, at: i64, limits: &Limits) -> Result<(), String> {
        let mut totals = Totals::default();
        for (pair, id) in self.pairs.iter().zip(ACCOUNTS) {
            totals.replace(&AccountContribution::default(), pair.account.as_ref());
            let seen = pair.account.as_ref().map(|a| scurry_ledger::view(a, Time(at), limits));
            let read = self.shard.account(Time(at), self.shard.key(id)).ok();
            if seen.as_deref() != read {
                return Err(format!("ledger {seen:?}, shard {read:?}"));
            }
        }
        let (expected, found) = (rows(&totals), rows(self.shard.totals()));
        if expected == found { Ok(()) } else { Err(format!("totals {expected:?}, {found:?}")) }
    }
}

#[test]
fn a_session_that_begins_anew_where_it_ended_is_the_last_in_parts_too() {
    let limits = Limits { tombstone_ms: 0, ..Limits::default() };
    let mut hosted = Hosted::new(&limits, 1);
    let reserve = |session: &str, tcc_ms| {
        let request = Request::new(session, 0).ask(1, "u", 1);
        Request { options: SessionOptions { tcc_ms: Some(tcc_ms), ..request.options }, ..request }
            .reserve()
    };
    let ops = [Op::create(&[("a", "u", 10)]), reserve("s", 100), reserve("t", 900)];
    for op in ops {
        hosted.run(0, 1_000, &op).expect("the same");
    }
    hosted.run(0, 1_100, &reserve("s", 900)).expect("the same");
    hosted.look(1_100, &limits).expect("the same");
}

/// Returns the sums that are not 0, independent of the order in which units were first seen.
fn rows(totals: &Totals) -> (u64, u64, BTreeMap<String, Vec<i128>>) {
    let mut rows = BTreeMap::new();
    for t in &totals.units {
        assert!(t.conserves(), "{t:?}");
        let sums = vec![
            t.available,
            t.held,
            t.credited,
            t.refunded,
            t.consumed,
            t.expired,
            t.voided,
            t.overdrawn,
            t.uncollected,
        ];
        if sums.iter().any(|&sum| sum != 0) {
            rows.insert(t.unit.as_str().to_owned(), sums);
        }
    }
    (totals.accounts, totals.sessions, rows)
}

#[test]
fn a_shard_hosts_accounts_as_the_ledger_alone_would() {
    let mut expiries = 0;
    for seed in 0..SEEDS {
        let new = if seed % 4 == 3 { Generator::close } else { Generator::new };
        let (limits, first) = new(seed);
        let mut generators = [first, new(seed + 1).1, new(seed + 2).1];
        let mut hosted = Hosted::new(&limits, seed);
        let mut random = Random::new(seed);
        for step in 0..STEPS {
            let index = step % ACCOUNTS.len();
            let event = generators[index].next(&hosted.pairs[index]);
            let done = match &event.what {
                CommandOrTick::Do(op) => hosted.run(index, event.at, op),
                CommandOrTick::Tick if random.one_in(2) => hosted.tick(event.at),
                CommandOrTick::Tick => hosted.tick_torn(event.at, random.below(5)),
            };
            let done = done.and_then(|()| hosted.look(event.at, &limits));
            assert!(done.is_ok(), "seed {seed}, step {step}, {event:?}: {}", done.unwrap_err());
        }
        expiries += hosted.shard.stats().expiries;
    }
    assert!(expiries > SEEDS, "timers had enough to do: {expiries}");
}
