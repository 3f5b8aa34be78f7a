//! Random requests to one account, with occasional repetitions.

use scurry_ledger::{BucketAttributes, LimitSubject, LimitTerms, NewBucket, Status};
use scurry_model::{ModelResult, Op, Random, Request, Snapshot, key, name};
use std::collections::VecDeque;

/// Number of transactions from which an account is emptied and deleted.
const TRANSACTIONS_MAX: usize = 150;
/// Number of closed sessions from which an account is emptied and deleted.
const TOMBSTONES_MAX: usize = 100;
/// Requests kept for repetition.
const RECENT_MAX: usize = 30;
/// Keys of the item that counts data: a number, and a text.
const DATA_KEYS: [&str; 2] = ["7", "10.4711"];

/// Requests without a reply, and the model's results.
pub type Pending = VecDeque<(Op, ModelResult)>;

/// Source of requests to one account.
#[derive(Debug, Default)]
pub struct Requests {
    /// Number for new ids.
    serial: u64,
    /// Requests that have a reply.
    recent: VecDeque<Op>,
    /// True if every request must have an id, so that it can be repeated.
    ids_only: bool,
}

impl Requests {
    /// Makes requests to an account that is created, deleted and created again.
    pub fn new() -> Requests {
        Requests::default()
    }

    /// Makes requests to an account that stays: every request except the CREATE has an id, by which a duplicate is
    /// recognized.
    pub fn with_ids() -> Requests {
        Requests { ids_only: true, ..Requests::default() }
    }

    /// Draws the next request. `shot` is the account in the model after the pending requests.
    pub fn next(&mut self, shot: Option<&Snapshot>, pending: &Pending, random: &mut Random) -> Op {
        let Some(shot) = shot else { return create() };
        if self.must_wind_up(shot) {
            return self.wind_up(shot);
        }
        if shot.status == Status::Suspended && random.one_in(3) {
            return Op::status(Status::Active);
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
            30..33 => self.limit(random),
            33..35 => Op::counter(&self.fresh('c'), "calls", random.pick(&[1, 1, -1]), None),
            35..46 => self.once_more(pending, random),
            46..60 => self.reserve(random),
            60..84 => self.update(random, shot),
            84..97 => self.terminate(random, shot),
            97 => match shot.sessions.keys().next() {
                Some(session) => Op::release(session),
                None => self.reserve(random),
            },
            _ if self.ids_only => self.once_more(pending, random),
            _ => Op::status(Status::Suspended),
        }
    }

    /// Reports whether the account remembers so much that it is to be emptied and deleted.
    pub(super) fn must_wind_up(&self, shot: &Snapshot) -> bool {
        let is_full = shot.transactions >= TRANSACTIONS_MAX || shot.tombstones >= TOMBSTONES_MAX;
        is_full && !self.ids_only || shot.status == Status::Closed
    }

    /// Draws a command of a chain.
    pub(super) fn link(&mut self, shot: Option<&Snapshot>, random: &mut Random) -> Op {
        match (shot, random.below(20)) {
            (None, _) | (_, 0..5) => self.reserve(random),
            (Some(shot), 5..11) => self.update(random, shot),
            (Some(shot), 11..14) => self.terminate(random, shot),
            (_, 14..17) => Op::debit(&self.fresh('d'), "cent", random.between(1, 300)),
            (_, 17) => self.refund(random),
            _ => Op::topup(&self.fresh('t'), "gift", random.between(1, 200)),
        }
    }

    /// Sets a limit, sometimes low enough to deny requests, or removes one. Without a period, because the model's clock
    /// is not the server's.
    fn limit(&mut self, random: &mut Random) -> Op {
        let set = |counted, amount| LimitTerms::Set {
            counted,
            amount,
            window: scurry_ledger::WindowTerms::UNSAID,
        };
        let of = |unit, item| LimitSubject::Units { unit: name(unit), item };
        let (limit, terms) = match random.below(5) {
            0 => ("spend", set(of("cent", None), random.between(0, 2_000))),
            1 => ("data", set(of("octet", None), random.between(0, 30_000))),
            2 => ("rated", set(of("octet", Some(key(DATA_KEYS[1]))), random.between(0, 9_000))),
            3 => ("open", set(LimitSubject::Sessions, random.between(0, 20))),
            _ => (random.pick(&["spend", "data", "rated", "open"]), LimitTerms::Remove),
        };
        Op::Limit { txn: self.fresh('l'), limit: name(limit), terms }
    }

    /// Returns the next step towards deleting the account.
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
            Status::Closed => Op::delete(true),
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

    /// Repeats an earlier request, sometimes one that has no reply yet.
    fn once_more(&mut self, pending: &Pending, random: &mut Random) -> Op {
        let ops = self.recent.iter().chain(pending.iter().map(|(op, _)| op));
        let mut ops: Vec<&Op> = ops.filter(|op| op.has_id()).collect();
        if ops.is_empty() {
            return self.reserve(random);
        }
        ops.swap_remove(random.below(ops.len())).clone()
    }

    fn reserve(&mut self, random: &mut Random) -> Op {
        let request = Request::new(&self.fresh('s'), 0).ask(1, "cent", random.between(1, 300));
        let data = random.one_in(2).then(|| key(random.pick(&DATA_KEYS)));
        let mut request = match data {
            Some(key) => request.ask(key, "octet", 5_000),
            None => request,
        };
        if random.one_in(4) {
            request.blob = Some(self.fresh('x').into_bytes());
        }
        request.reserve()
    }

    /// Draws an open session and a request number: mostly the next one, sometimes one that was used or is too high.
    fn session(random: &mut Random, shot: &Snapshot) -> Option<(String, u32)> {
        let at = random.below(shot.sessions.len());
        let (id, session) = shot.sessions.iter().nth(at)?;
        let next = session.last_request.map_or(0, |last| last + 1);
        let step = random.pick(&[0, 0, 0, 0, 0, 1, 2]);
        Some((id.clone(), next + step))
    }

    fn update(&mut self, random: &mut Random, shot: &Snapshot) -> Op {
        let Some((id, number)) = Requests::session(random, shot) else {
            return self.reserve(random);
        };
        let (used, requested) = (random.between(0, 150), random.between(1, 300));
        let request = Request::new(&id, number).both(1, "cent", used, requested);
        let data = random.one_in(3).then(|| key(random.pick(&DATA_KEYS)));
        let request = match data {
            Some(key) => request.both(key, "octet", used, 900),
            None => request,
        };
        request.update()
    }

    fn terminate(&mut self, random: &mut Random, shot: &Snapshot) -> Op {
        let Some((id, number)) = Requests::session(random, shot) else {
            return self.reserve(random);
        };
        Request::new(&id, number).used(1, "cent", random.between(0, 120)).terminate()
    }

    /// Notes a request that has a reply.
    pub fn remember(&mut self, op: Op) {
        self.recent.push_back(op);
        if self.recent.len() > RECENT_MAX {
            self.recent.pop_front();
        }
    }

    /// Draws some requests that have a reply, to be repeated.
    pub fn some(&self, count: usize, random: &mut Random) -> Vec<Op> {
        let recent: Vec<&Op> = self.recent.iter().filter(|op| op.has_id()).collect();
        let count = recent.len().min(count);
        (0..count).map(|_| recent[random.below(recent.len())].clone()).collect()
    }

    /// Returns a new id.
    fn fresh(&mut self, of: char) -> String {
        self.serial += 1;
        format!("{of}{}", self.serial)
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
    Op::Create { txn: None, status: Status::Active, identities: vec![], buckets, keys: vec![] }
}
