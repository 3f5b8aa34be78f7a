//! An account of one client, beside the naive model of it.

use super::{Asked, Doubt, Subject, shown, words_of};
use crate::wire::{Words, words};
use anyhow::{Result, bail, ensure};
use scurry_conformance::Value;
use scurry_ledger::{
    Answer, BucketAttributes, CodeKind, ItemAnswer, Limits, NewBucket, Status, Time,
};
use scurry_model::{Model, ModelResult, Op, Random, Request, Snapshot, name};
use std::collections::VecDeque;

/// The time of the model. Nothing that is compared depends on it.
const NOW: Time = Time(1_000);
/// An account with so many transactions is wound up and deleted.
const TRANSACTIONS_MAX: usize = 150;
/// The same of sessions that were closed.
const TOMBSTONES_MAX: usize = 100;
/// Requests that may be sent once more.
const RECENT_MAX: usize = 30;

/// The account.
pub(crate) struct Account {
    id: String,
    /// After everything that was acknowledged.
    known: Model,
    /// After everything that was sent.
    sent: Model,
    /// Requests without a reply, and what the model says to them.
    open: VecDeque<(Op, ModelResult)>,
    /// Requests that have a reply.
    recent: VecDeque<Op>,
    /// Requests that the crash left in doubt.
    doubtful: Vec<Op>,
    /// Makes ids that were never used.
    serial: u64,
    replays: u64,
}

impl Account {
    pub(crate) fn new(id: String) -> Account {
        let model = Model::new(limits());
        Account {
            id,
            known: model.clone(),
            sent: model,
            open: VecDeque::new(),
            recent: VecDeque::new(),
            doubtful: Vec::new(),
            serial: 0,
            replays: 0,
        }
    }

    fn send(&mut self, op: Op) -> Words {
        let words = words_of(&self.id, &op);
        let expected = op.with(|command| self.sent.execute(NOW, command));
        self.open.push_back((op, expected));
        words
    }

    fn fresh(&mut self, of: char) -> String {
        self.serial += 1;
        format!("{of}{}", self.serial)
    }

    /// The sessions that may be open: after what was acknowledged, and any part of the rest.
    fn sessions(&self) -> Vec<String> {
        let mut ids: Vec<String> = Vec::new();
        for model in self.states() {
            let shot = model.snapshot(NOW);
            ids.extend(shot.into_iter().flat_map(|shot| shot.sessions.into_keys()));
        }
        ids.sort();
        ids.dedup();
        ids
    }

    /// The states that a crash may leave.
    fn states(&self) -> Vec<Model> {
        let mut states = vec![self.known.clone()];
        for (op, _) in &self.open {
            let mut next = states[states.len() - 1].clone();
            op.with(|command| next.execute(NOW, command));
            states.push(next);
        }
        states
    }

    fn op(&mut self, random: &mut Random) -> Op {
        let Some(shot) = self.sent.snapshot(NOW) else { return create() };
        if shot.transactions >= TRANSACTIONS_MAX || shot.tombstones >= TOMBSTONES_MAX {
            return self.wind_up(&shot);
        }
        match shot.status {
            Status::Closed => return Op::Delete { force: true },
            Status::Suspended if random.one_in(3) => return Op::status(Status::Active),
            _ => {}
        }
        let bucket = random.pick(&["main", "gift", "data"]);
        let unit = if bucket == "data" { "octet" } else { "cent" };
        match random.below(100) {
            0..8 => Op::topup(&self.fresh('t'), bucket, random.between(1, 400)),
            8..12 => Op::adjust(&self.fresh('a'), bucket, random.pick(&[-30, -7, 9])),
            12..15 => {
                let priority = Some(random.pick(&[-1, 0, 1]));
                let with = BucketAttributes { priority, ..BucketAttributes::default() };
                Op::bucket(&self.fresh('b'), bucket, with)
            }
            15..25 => Op::debit(&self.fresh('d'), unit, random.between(1, 90)),
            25..30 => self.refund(random),
            30..34 => Op::counter(&self.fresh('c'), "calls", random.pick(&[1, 1, -1]), None),
            34..46 => self.recent(random),
            46..60 => self.reserve(random),
            60..84 => self.update(random, &shot),
            84..97 => self.terminate(random, &shot),
            97 => match shot.sessions.keys().next() {
                Some(session) => Op::release(session),
                None => self.reserve(random),
            },
            _ => Op::status(Status::Suspended),
        }
    }

    /// What is next on the way to an account that can be deleted.
    fn wind_up(&mut self, shot: &Snapshot) -> Op {
        if let Some(session) = shot.sessions.keys().next() {
            return Op::release(session);
        }
        let uneven = shot.buckets.iter().find(|(_, bucket)| bucket.available != 0);
        if let Some((id, bucket)) = uneven {
            let amount = i64::try_from(-bucket.available).unwrap_or(1);
            return Op::adjust(&self.fresh('w'), id, amount);
        }
        match shot.status {
            Status::Closed => Op::Delete { force: true },
            _ => Op::status(Status::Closed),
        }
    }

    fn refund(&mut self, random: &mut Random) -> Op {
        let mut debits: Vec<String> = vec!["d0".to_owned()];
        for op in &self.recent {
            if let Op::Debit { txn, .. } = op {
                debits.push(txn.clone());
            }
        }
        let debit = debits.swap_remove(random.below(debits.len()));
        let amount = random.one_in(2).then(|| random.between(1, 20));
        Op::refund(&self.fresh('r'), &debit, amount)
    }

    /// An earlier request once more: at times one that has no reply yet.
    fn recent(&mut self, random: &mut Random) -> Op {
        let ops = self.recent.iter().chain(self.open.iter().map(|(op, _)| op));
        let mut ops: Vec<&Op> = ops.filter(|op| op.has_id()).collect();
        if ops.is_empty() {
            return self.reserve(random);
        }
        ops.swap_remove(random.below(ops.len())).clone()
    }

    fn reserve(&mut self, random: &mut Random) -> Op {
        let request = Request::new(&self.fresh('s'), 0).ask(1, "cent", random.between(1, 300));
        let data = random.one_in(2);
        let mut request = if data { request.ask(7, "octet", 5_000) } else { request };
        if random.one_in(4) {
            request.blob = Some(self.fresh('x').into_bytes());
        }
        request.reserve()
    }

    /// A session that is open, and the number of its next request: mostly the next, at times one
    /// that was used or comes early.
    fn session(random: &mut Random, shot: &Snapshot) -> Option<(String, u32)> {
        let at = random.below(shot.sessions.len());
        let (id, session) = shot.sessions.iter().nth(at)?;
        let next = session.last_request.map_or(0, |last| last + 1);
        let step = random.pick(&[0, 0, 0, 0, 0, 1, 2]);
        Some((id.clone(), next + step))
    }

    fn update(&mut self, random: &mut Random, shot: &Snapshot) -> Op {
        let Some((id, number)) = Account::session(random, shot) else {
            return self.reserve(random);
        };
        let (used, requested) = (random.between(0, 150), random.between(1, 300));
        let request = Request::new(&id, number).both(1, "cent", used, requested);
        let data = random.one_in(3);
        let request = if data { request.both(7, "octet", used, 900) } else { request };
        request.update()
    }

    fn terminate(&mut self, random: &mut Random, shot: &Snapshot) -> Op {
        let Some((id, number)) = Account::session(random, shot) else {
            return self.reserve(random);
        };
        Request::new(&id, number).used(1, "cent", random.between(0, 120)).terminate()
    }

    fn remember(&mut self, op: Op) {
        self.recent.push_back(op);
        if self.recent.len() > RECENT_MAX {
            self.recent.pop_front();
        }
    }
}

impl Subject for Account {
    fn key(&self) -> &str {
        &self.id
    }

    fn next(&mut self, random: &mut Random) -> Words {
        let op = self.op(random);
        self.send(op)
    }

    fn replied(&mut self, reply: &Value) -> Result<()> {
        let Some((op, expected)) = self.open.pop_front() else { bail!("nothing was asked") };
        compare(&op, &expected, reply)?;
        self.replays += u64::from(matches!(expected, ModelResult::Replay(_)));
        op.with(|command| self.known.execute(NOW, command));
        self.remember(op);
        Ok(())
    }

    fn looks(&self) -> Vec<Words> {
        let id = &self.id;
        let mut looks = vec![words(&format!("SCUR.GET {id}")), words(&format!("SCUR.AUDIT {id}"))];
        let sessions = self.sessions();
        looks.extend(sessions.iter().map(|one| words(&format!("SCUR.SESSION {id} {one}"))));
        looks
    }

    fn found(&mut self, replies: &[Value], _: Asked) -> Result<Doubt> {
        let shown = shown::of_server(replies, &self.sessions())?;
        let states = self.states();
        let texts: Vec<String> =
            states.iter().map(|state| shown::of_model(state.snapshot(NOW).as_ref())).collect();
        let Some(applied) = texts.iter().position(|text| *text == shown) else {
            bail!(
                "it shows\n{shown}\nand was acknowledged as\n{}\nwith {} requests in doubt, after \
                 the last of which it would be\n{}",
                texts[0],
                self.open.len(),
                texts[texts.len() - 1]
            );
        };
        let doubt = Doubt { requests: self.open.len(), applied };
        self.doubtful = self.open.drain(..).map(|(op, _)| op).collect();
        self.known = states[applied].clone();
        self.sent = self.known.clone();
        Ok(doubt)
    }

    fn again(&mut self, random: &mut Random) -> Vec<Words> {
        let mut ops = std::mem::take(&mut self.doubtful);
        let recent: Vec<&Op> = self.recent.iter().filter(|op| op.has_id()).collect();
        for _ in 0..recent.len().min(4) {
            ops.push(recent[random.below(recent.len())].clone());
        }
        ops.into_iter().map(|op| self.send(op)).collect()
    }

    fn replays(&self) -> u64 {
        self.replays
    }
}

/// The bounds that the server is started with.
fn limits() -> Limits {
    Limits {
        tombstone_ms: 86_400_000,
        transaction_ms: 86_400_000,
        validity_ms_default: 43_200_000,
        ..Limits::default()
    }
}

fn create() -> Op {
    let new = |bucket, unit, amount, floor| NewBucket {
        bucket: name(bucket),
        unit: name(unit),
        amount,
        attributes: BucketAttributes { floor, ..BucketAttributes::default() },
    };
    let buckets = vec![
        new("main", "cent", 900, Some(-100)),
        new("gift", "cent", 200, None),
        new("data", "octet", 100_000, None),
    ];
    Op::Create { status: Status::Active, identities: vec![], buckets }
}

/// The reply must be what the model says.
fn compare(op: &Op, expected: &ModelResult, reply: &Value) -> Result<()> {
    let right = match expected {
        ModelResult::Reject(code) => {
            debug_assert_eq!(code.kind(), CodeKind::Reject);
            let head = format!("{} {} ", code.name(), *code as u8);
            matches!(reply, Value::Error(text) if text.starts_with(&head))
        }
        ModelResult::Commit(answer) => *reply == value_of(op, answer, 0),
        ModelResult::Replay(answer) => *reply == value_of(op, answer, 1),
    };
    ensure!(right, "{op:?} is answered {reply}, and the model says {expected:?}");
    Ok(())
}

fn value_of(op: &Op, answer: &Answer, replayed: i128) -> Value {
    let word = |text: &str| Value::Word(text.as_bytes().to_vec());
    let int = |number: u64| Value::Int(number.into());
    Value::Array(match answer {
        Answer::Account { code, version } => vec![word(code.name()), int(*version)],
        Answer::Amount { code, version, amount } => vec![
            word(code.name()),
            Value::Int(replayed),
            int(*version),
            Value::Int((*amount).into()),
        ],
        Answer::Session { code, version, items } => {
            let asked = op.request().map_or(&[][..], |request| &request.items);
            let item = |(asked, given): (&scurry_ledger::ItemRequest, &ItemAnswer)| {
                Value::Array(vec![
                    int(asked.key.into()),
                    word(given.code.name()),
                    Value::Int(given.granted.into()),
                    Value::Int(given.last.into()),
                    Value::Int(given.uncollected.into()),
                ])
            };
            let items = asked.iter().zip(items).map(item).collect();
            vec![word(code.name()), Value::Int(replayed), int(*version), Value::Array(items)]
        }
    })
}
