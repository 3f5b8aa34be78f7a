//! Transfers between accounts of two shards: once, whatever dies in between (docs/ledger.md section 17, I23). Each shard
//! has its own log, of which a crash keeps a prefix. SCURRY_SEEDS sets the number of seeds, SCURRY_SEED the first.

use scurry_codec::SnapshotEntry;
use scurry_engine::{Config, Courier, HashKey, Outcome, PayeeStep, Shard, StepResult};
use scurry_ledger::{
    Answer, BucketAttributes, Code, Command, Create, Name, NewBucket, Status, Time, Transfer,
};
use scurry_model::{Random, name};
use std::collections::VecDeque;

const ACCOUNTS: [&str; 5] = ["anna", "bert", "carl", "dora", "emil"];
/// The one that is closed now and then, so that it refuses.
const CLOSED: usize = 4;
const NOBODY: &str = "nobody";
const CREDIT: i64 = 100;

/// The images of a shard's accounts.
type State = Vec<(&'static str, Vec<u8>)>;

/// A shard with its log: the states that its commits have left.
struct Logged {
    shard: Shard,
    courier: Courier,
    log: Vec<State>,
    /// How many of them are on the device.
    durable: usize,
}

/// Mail between the shards. It is sent when the state that it shows is durable.
struct Mail {
    from: usize,
    to: usize,
    shows: usize,
    term: u64,
    step: PayeeStep,
    result: Option<StepResult>,
}

struct Run {
    shards: [Logged; 2],
    mail: VecDeque<Mail>,
    /// Grows with each crash: another process leads then.
    term: u64,
    now: Time,
    random: Random,
    transfers: Vec<(usize, String, i64, &'static str, Name)>,
    crashes: usize,
}

fn shard(seed: u64) -> Shard {
    // Some seeds keep every account in parts.
    let apart_len = [4_096, 0][seed as usize % 2];
    Shard::new(Config { hash_key: HashKey::known(seed), apart_len, ..Config::default() })
}

/// Returns the shard of an account.
fn of(account: &str) -> usize {
    ACCOUNTS.iter().position(|one| *one == account).map_or(1, |place| place % 2)
}

impl Logged {
    fn new(seed: u64) -> Logged {
        let log = vec![State::new()];
        Logged { shard: shard(seed), courier: Courier::default(), log, durable: 0 }
    }

    /// Notes the state after something was executed.
    fn commit(&mut self, now: Time) {
        let image = |account: &'static str| {
            let image = self.shard.image(now, self.shard.key(account.as_bytes())).ok()?;
            Some((account, image.to_vec()))
        };
        let state: State = ACCOUNTS.into_iter().filter_map(image).collect();
        if self.log.last() != Some(&state) {
            self.log.push(state);
        }
    }

    /// Dies, and begins again with what is on the device.
    fn crash(&mut self, seed: u64) {
        self.log.truncate(self.durable + 1);
        self.shard = shard(seed);
        self.courier = Courier::default();
        for (account, image) in &self.log[self.durable] {
            let entry = SnapshotEntry::Account { id: account.as_bytes(), image };
            self.shard.restore(&entry).expect("it was written by a shard");
        }
    }
}

impl Run {
    fn new(seed: u64) -> Run {
        let mut run = Run {
            shards: [Logged::new(seed), Logged::new(seed)],
            mail: VecDeque::new(),
            term: 1,
            now: Time(1_700_000_000_000),
            random: Random::new(seed),
            transfers: Vec::new(),
            crashes: 0,
        };
        let (bucket, unit) = (name("main"), name("cent"));
        let attributes = BucketAttributes::default();
        let buckets = [NewBucket { bucket, unit, amount: CREDIT, attributes }];
        for account in ACCOUNTS {
            run.execute(account, &Command::Create(Create::active(&buckets)));
        }
        for logged in &mut run.shards {
            logged.durable = logged.log.len() - 1;
        }
        run
    }

    fn execute(&mut self, account: &str, command: &Command<'_>) -> Outcome {
        let logged = &mut self.shards[of(account)];
        let key = logged.shard.key(account.as_bytes());
        let outcome = logged.shard.execute(self.now, key, command);
        logged.commit(self.now);
        outcome
    }

    fn step(&mut self) {
        match self.random.below(20) {
            0..4 => self.begin(),
            4..8 => {
                let from = self.random.below(2);
                self.send(from);
            }
            8..14 => self.deliver(),
            14..17 => {
                let logged = &mut self.shards[self.random.below(2)];
                logged.durable += self.random.below(logged.log.len() - logged.durable);
            }
            17 => self.wait(self.random_wait()),
            18 => self.close(),
            _ => self.crash(),
        }
    }

    fn random_wait(&self) -> i64 {
        // Long enough for the next try, or not.
        [1, 900, 1_100, 5_000][self.transfers.len() % 4]
    }

    fn begin(&mut self) {
        let number = self.transfers.len();
        let (payer, amount) = (self.random.below(ACCOUNTS.len()), self.random.between(1, 30));
        let other = (payer + 1 + self.random.below(ACCOUNTS.len() - 1)) % ACCOUNTS.len();
        let payee = if self.random.one_in(8) { NOBODY } else { ACCOUNTS[other] };
        // A bucket of another unit is refused as well.
        let bucket = if self.random.one_in(3) { "extra" } else { "main" };
        self.transfers.push((payer, format!("t{number}"), amount, payee, name(bucket)));
        self.repeat(number);
    }

    /// Sends a TRANSFER, or sends it again.
    fn repeat(&mut self, number: usize) -> Outcome {
        let (payer, id, amount, payee, bucket) = self.transfers[number].clone();
        let payer = ACCOUNTS[payer];
        let transfer = Transfer {
            payer: payer.as_bytes(),
            id: id.as_bytes(),
            unit: name("cent"),
            amount,
            payee: payee.as_bytes(),
            bucket,
        };
        self.execute(payer, &Command::Transfer(transfer))
    }

    /// Takes the next step of a transfer from a shard, for the other one or for itself.
    fn send(&mut self, from: usize) {
        let (now, term) = (self.now, self.term);
        let Logged { shard, courier, log, .. } = &mut self.shards[from];
        let Some(step) = courier.next_step(shard, now, term) else { return };
        let payee = std::str::from_utf8(step.payee()).expect("ASCII");
        let (to, shows) = (of(payee), log.len() - 1);
        self.mail.push_back(Mail { from, to, shows, term, step, result: None });
    }

    /// Delivers one piece of mail whose state is durable.
    fn deliver(&mut self) {
        let sender = |mail: &Mail| if mail.result.is_none() { mail.from } else { mail.to };
        // Mail of a process that has died arrives, too: it shows nothing of the new one.
        let is_due =
            |mail: &Mail| mail.term != self.term || mail.shows <= self.shards[sender(mail)].durable;
        let due: Vec<usize> = (0..self.mail.len()).filter(|&at| is_due(&self.mail[at])).collect();
        if due.is_empty() {
            return;
        }
        let at = due[self.random.below(due.len())];
        let Some(mut mail) = self.mail.remove(at) else { return };
        let (now, term) = (self.now, self.term);
        let is_present = mail.term == term;
        match mail.result {
            // The host refuses a step of another term, as the server's cores do.
            None => {
                let Logged { shard, .. } = &mut self.shards[mail.to];
                let result = match is_present {
                    true => mail.step.execute(shard, now),
                    false => StepResult::Unknown,
                };
                // Now and then a log has no room, on either side of the step.
                let is_told = !self.random.one_in(8);
                mail.result = Some(if is_told { result } else { StepResult::Unknown });
                self.shards[mail.to].commit(now);
                mail.shows = self.shards[mail.to].log.len() - 1;
                self.mail.push_back(mail);
            }
            Some(result) => {
                let Logged { shard, courier, .. } = &mut self.shards[mail.from];
                courier.finish(shard, now, (&mail.step, result), term);
                self.shards[mail.from].commit(now);
            }
        }
    }

    fn wait(&mut self, ms: i64) {
        self.now = self.now.plus_ms(ms);
        for logged in &mut self.shards {
            while logged.shard.tick(self.now) > 0 {}
            logged.commit(self.now);
        }
    }

    fn close(&mut self) {
        let status = Status::Closed;
        self.execute(ACCOUNTS[CLOSED], &Command::Status { txn: None, status, identities: &[] });
    }

    fn crash(&mut self) {
        self.crashes += 1;
        self.term += 1;
        if self.random.one_in(2) {
            self.mail.clear();
        }
        for logged in &mut self.shards {
            logged.crash(self.term);
        }
    }

    /// Lets everything end, and returns what became of each transfer: true if it has arrived.
    fn end(&mut self) -> Vec<bool> {
        let mut arrived = Vec::new();
        for number in 0..self.transfers.len() {
            let mut tries = 0;
            let has_arrived = loop {
                match self.repeat(number) {
                    Outcome::Answer {
                        answer: Answer::Session { code: Code::Ok, version: 0, .. },
                        ..
                    } => break true,
                    Outcome::Answer { answer: Answer::Session { code: Code::Ok, .. }, .. } => {}
                    Outcome::Answer { .. } | Outcome::Reject(_) => break false,
                    other => panic!("{other:?}"),
                }
                tries += 1;
                assert!(tries < 200, "{:?} does not end", self.transfers[number]);
                for turn in 0..12 {
                    self.send(turn % 2);
                    for logged in &mut self.shards {
                        logged.durable = logged.log.len() - 1;
                    }
                    self.deliver();
                }
                self.wait(100);
            };
            arrived.push(has_arrived);
        }
        arrived
    }

    fn check(&mut self, arrived: &[bool]) {
        let mut expected = [CREDIT; ACCOUNTS.len()];
        for (&(payer, _, amount, payee, _), _) in
            self.transfers.iter().zip(arrived).filter(|(_, arrived)| **arrived)
        {
            expected[payer] -= amount;
            let place = ACCOUNTS.iter().position(|one| *one == payee).expect("nobody gets nothing");
            expected[place] += amount;
        }
        for (account, expected) in ACCOUNTS.into_iter().zip(expected) {
            let now = self.now;
            let shard = &mut self.shards[of(account)].shard;
            let key = shard.key(account.as_bytes());
            let account = shard.account(now, key).expect("it is there");
            let available: i64 = account.buckets.iter().map(|bucket| bucket.available).sum();
            assert_eq!(available, expected, "{account:?}, {:?}", self.transfers);
            assert!(!account.has_transfers(), "{account:?}");
        }
        for logged in &self.shards {
            let units = &logged.shard.totals().units;
            assert!(units.iter().all(|unit| unit.conserves() && unit.in_transit == 0), "{units:?}");
        }
    }
}

#[test]
fn a_transfer_is_carried_out_once_whatever_dies() {
    let from_env = |name: &str, otherwise| {
        std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
    };
    let (first, seeds) = (from_env("SCURRY_SEED", 0), from_env("SCURRY_SEEDS", 150));
    let (mut arrivals, mut refusals, mut crashes) = (0, 0, 0);
    for seed in first..first + seeds {
        let mut run = Run::new(seed);
        for _ in 0..250 {
            run.step();
        }
        let arrived = run.end();
        run.check(&arrived);
        arrivals += arrived.iter().filter(|arrived| **arrived).count();
        refusals += arrived.iter().filter(|arrived| !**arrived).count();
        crashes += run.crashes;
    }
    // The runs reach what they are for.
    if seeds >= 100 {
        assert!(
            arrivals > 2_000 && refusals > 300 && crashes > 1_000,
            "{arrivals} {refusals} {crashes}"
        );
    }
}
