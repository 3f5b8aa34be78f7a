//! Chains on three accounts, which also get single commands: ledger, model and shard agree at every step. SCURRY_SEEDS
//! sets the number of seeds, SCURRY_SEED the first.

use scurry_engine::{APART_LEN, ChainOutcome, Config, HashKey, Outcome, Shard};
use scurry_ledger::{AccountContribution, Answer, Code, Limits, Time, Totals, next_due};
use scurry_model::{
    ChainOp, ChainResult, CommandOrTick, Event, Generator, Op, PairedAccounts, Random, StepResult,
    with_links,
};
use std::collections::BTreeSet;

const STEPS: usize = 90;
const ACCOUNTS: [&str; 3] = ["anna", "bert", "carl"];
/// Id that never has an account.
const NOBODY: &str = "nobody";

fn from_env(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

/// Books, a shard that should hold the same, and the commands so far.
struct Run {
    books: PairedAccounts,
    shard: Shard,
    limits: Limits,
    generators: [Generator; 3],
    random: Random,
    /// Chains so far, for duplicates.
    chains: Vec<ChainOp>,
    seen: BTreeSet<String>,
}

impl Run {
    fn new(seed: u64) -> Run {
        let new = if seed % 4 == 3 { Generator::close } else { Generator::new };
        let (limits, first) = new(seed);
        let mut generators = [first, new(seed + 1).1, new(seed + 2).1];
        // A chain brings its accounts to one time: with clocks years apart, the model would refill hour by hour.
        let start = generators[0].clock();
        generators.iter_mut().for_each(|generator| generator.set_clock(start));
        // Some seeds keep every account in parts, others only accounts that grow beyond a bound.
        let apart_len = [APART_LEN, 0, 60, 400][seed as usize % 4];
        let hash_key = HashKey::known(seed);
        let config = Config { limits: limits.clone(), hash_key, apart_len, ..Config::default() };
        Run {
            books: PairedAccounts::new(limits.clone(), &ACCOUNTS),
            shard: Shard::new(config),
            limits,
            generators,
            random: Random::new(seed),
            chains: vec![],
            seen: BTreeSet::new(),
        }
    }

    fn step(&mut self) -> Result<(), String> {
        match self.random.below(10) {
            0..5 => self.chain(),
            5..9 => self.alone(),
            _ => self.tick(),
        }
    }

    /// Executes a command on one account.
    fn alone(&mut self) -> Result<(), String> {
        let index = self.random.below(3);
        let id = ACCOUNTS[index];
        let event = self.generators[index].next(&self.books.pairs[id]);
        let CommandOrTick::Do(op) = &event.what else { return self.tick() };
        let came = self.books.step(id, &event)?;
        let key = self.shard.key(id.as_bytes());
        let outcome = op.with(|command| self.shard.execute(Time(event.at), key, command));
        let same = match (&came, &outcome) {
            (StepResult::Replay(is), Outcome::Answer { answer, replayed: true })
            | (StepResult::Commit(is), Outcome::Answer { answer, replayed: false }) => is == answer,
            (StepResult::Reject(code), Outcome::Reject(rejection)) => *code == rejection.code,
            _ => false,
        };
        if same { self.look(event.at) } else { Err(format!("{op:?}: {came:?}, shard {outcome:?}")) }
    }

    /// Runs the timers of all accounts.
    fn tick(&mut self) -> Result<(), String> {
        let ahead = self.random.pick(&[0, 1, 30, 200]);
        let at = self.books.latest(0) + ahead;
        for id in ACCOUNTS {
            let due = |books: &PairedAccounts| books.pairs[id].account.as_ref().and_then(next_due);
            while let Some(due) = due(&self.books).filter(|due| due.0 <= at) {
                self.books.step(id, &Event { at: due.0, what: CommandOrTick::Tick })?;
            }
        }
        while self.shard.tick(Time(at)) > 0 {}
        self.look(at)
    }

    fn chain(&mut self) -> Result<(), String> {
        let (at, chain) = self.draw();
        self.chains.push(chain.clone());
        let came = self.books.chain(at, &chain).map_err(|why| format!("{chain:?}: {why}"))?;
        let mut answers = Vec::new();
        let outcome =
            with_links(&chain, |links| self.shard.execute_chain(Time(at), links, &mut answers));
        let outcome = outcome.expect("the commands are borrowed");
        let same = match (&came, &outcome) {
            (ChainResult::Replay(is), ChainOutcome::Answers { replayed: true })
            | (ChainResult::Commit(is), ChainOutcome::Answers { replayed: false }) => {
                *is == answers
            }
            (ChainResult::Reject(link, code), ChainOutcome::Reject(refused)) => {
                *link == refused.link && *code == refused.rejection.code
            }
            _ => false,
        };
        if !same {
            return Err(format!("{chain:?}: {came:?}, shard {outcome:?} {answers:?}"));
        }
        self.note(&chain, &came);
        self.look(at)
    }

    /// Draws a chain: new, or an earlier one, whole, in part, in another order or with something new in it.
    fn draw(&mut self) -> (i64, ChainOp) {
        let index = self.random.below(3);
        let mut chain: ChainOp = vec![];
        let mut at = 0;
        if !self.chains.is_empty() && self.random.one_in(4) {
            let back = 1 + self.random.below(self.chains.len().min(5));
            chain = self.chains[self.chains.len() - back].clone();
            match self.random.below(6) {
                0 => {
                    chain.pop();
                }
                1 => chain.reverse(),
                2 => chain.remove(0).1 = Op::debit("never", "oct", 1),
                _ => {}
            }
            at = self.generators[index].link(&self.books.pairs[ACCOUNTS[index]]).0;
        }
        let more = if chain.is_empty() { self.random.pick(&[1, 2, 2, 2, 3, 3, 3]) } else { 0 };
        for number in 0..more + usize::from(self.random.one_in(12)) {
            // Sometimes use one account twice.
            let again = self.random.one_in(30);
            let index = (index + if again { 0 } else { number }) % 3;
            let (time, op) = self.generators[index].link(&self.books.pairs[ACCOUNTS[index]]);
            at = time;
            chain.push((ACCOUNTS[index].to_string(), op));
        }
        if self.random.one_in(40) {
            chain.push((NOBODY.to_string(), Op::debit("t", "oct", 1)));
        }
        if self.random.one_in(200) {
            chain = (0..17).map(|_| (NOBODY.to_string(), Op::debit("t", "oct", 1))).collect();
        }
        (at, chain)
    }

    fn note(&mut self, chain: &ChainOp, came: &ChainResult) {
        let several = if chain.len() > 1 { "several" } else { "one" };
        let mut note = |what: &str| self.seen.insert(format!("{several} {what}"));
        match came {
            ChainResult::Reject(_, code) => {
                note(code.name());
            }
            ChainResult::Replay(answers) => {
                let denied = answers.iter().any(|answer| answer.code() != Code::Ok);
                note(if denied { "denial again" } else { "success again" });
            }
            ChainResult::Commit(answers) => {
                note(if answers.iter().any(|answer| answer.code() != Code::Ok) {
                    "denial"
                } else {
                    "success"
                });
                for ((_, op), answer) in chain.iter().zip(answers) {
                    let command: String = format!("{op:?}").split(['(', ' ']).take(1).collect();
                    note(&format!("{command} {}", answer.code().name()));
                    if let (Answer::Session { items, .. }, Code::ChainDenied) =
                        (answer, answer.code())
                        && items.iter().any(|item| item.uncollected > 0)
                    {
                        note("uncollected");
                    }
                }
            }
        }
    }

    /// Reads every account, and the totals.
    fn look(&mut self, at: i64) -> Result<(), String> {
        let mut totals = Totals::default();
        for id in ACCOUNTS {
            let account = self.books.pairs[id].account.as_ref();
            totals.replace(&AccountContribution::default(), account);
            let seen = account.map(|a| scurry_ledger::view(a, Time(at), &self.limits));
            let read = self.shard.account(Time(at), self.shard.key(id.as_bytes())).ok();
            if seen.as_deref() != read {
                return Err(format!("{id}: ledger {seen:?}, shard {read:?}"));
            }
        }
        let is = self.shard.totals();
        let held = |totals: &Totals| totals.units.iter().map(|unit| unit.held).sum::<i128>();
        let same = (is.accounts, is.sessions, held(is))
            == (totals.accounts, totals.sessions, held(&totals));
        let conserve = is.units.iter().all(scurry_ledger::UnitTotals::conserves);
        if same && conserve { Ok(()) } else { Err(format!("totals {totals:?}, shard {is:?}")) }
    }
}

/// Outcomes that chains of several commands must reach; without them the runs prove nothing.
const OUTCOMES: &str = "\
success|denial|success again|denial again|uncollected|INVALID|UNKNOWN_ACCOUNT|UNKNOWN_SESSION|\
SESSION_EXISTS|REQUEST_MISMATCH|OUT_OF_WINDOW|VERSION_CONFLICT|UNKNOWN_BUCKET|UNKNOWN_TRANSACTION|BUSY|\
OVERFLOW|Reserve CHAIN_DENIED|Update CHAIN_DENIED|Terminate CHAIN_DENIED|Debit CHAIN_DENIED|\
TopUp CHAIN_DENIED|Refund CHAIN_DENIED|Reserve SERVICE_DENIED|Update CREDIT_LIMIT_REACHED|Refund OK";

#[test]
fn ledger_model_and_shard_agree_on_chains() {
    let (first, count) = (from_env("SCURRY_SEED", 0), from_env("SCURRY_SEEDS", 600));
    let mut seen = BTreeSet::new();
    for seed in first..first + count {
        let mut run = Run::new(seed);
        for step in 0..STEPS {
            if let Err(why) = run.step() {
                panic!("seed {seed}, step {step}: {why}");
            }
        }
        seen.append(&mut run.seen);
    }
    if count < 600 {
        return;
    }
    for what in OUTCOMES.split('|') {
        assert!(seen.contains(&format!("several {what}")), "no chain came to {what}: {seen:?}");
    }
}
