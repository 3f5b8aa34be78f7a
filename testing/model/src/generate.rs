//! Adversarial runs from one seed: few ids, duplicates, changed bodies, numbers out of order, times exactly at the
//! deadlines, a clock that goes backwards, and bounds so small that they are reached.

mod balance;
mod chain;
mod session;
mod transfer;

use crate::{CommandOrTick, Event, Op, Pair, Random, Request, name};
use scurry_ledger::{
    Cycle, Item, ItemRequest, Limit, LimitSubject, LimitTerms, Limits, Name, NewBucket, Overrun,
    Period, Status, Time,
};

const UNITS: &[&str] = &["oct", "sec"];
const BUCKETS: &[&str] = &["a", "aa", "B", "b"];
const KINDS: &[&str] = &["msisdn", "imsi", "nai"];

/// Generator of the events of one seed.
#[derive(Clone, Debug)]
pub struct Generator {
    random: Random,
    /// Commands so far, for duplicates.
    history: Vec<Op>,
    clock: i64,
    /// True to use amounts near the ends of i64.
    huge: bool,
    /// True to give the account a limit soon.
    limited: bool,
    /// True to put deadlines and ends of validity close together, with both passing between two commands.
    close: bool,
    /// Number of keys, if the sessions have many items.
    many: Option<usize>,
    /// Current deadlines and ends of validity of the account.
    ends: Vec<i64>,
}

impl Generator {
    /// Returns the bounds and the generator of this seed.
    pub fn new(seed: u64) -> (Limits, Generator) {
        let mut random = Random::new(seed);
        let many = (seed % 12 == 7).then(|| random.pick(&[20, 80, 300]));
        let limits = Limits {
            identities_max: 2,
            buckets_max: random.pick(&[1, 2, 3, 4, 4, 4]),
            counters_max: 1 + random.below(3),
            limits_max: random.pick(&[1, 2, 3, 4]),
            sessions_max: 1 + random.below(3),
            session_ids_max: random.pick(&[1, 2, 3, 4, 8, 8]),
            items_max: many.map_or(random.pick(&[1, 2, 3, 4, 4, 8]), |_| 64),
            session_items_max: match many {
                Some(keys) => keys.min(256),
                None => random.pick(&[1, 2, 3, 4, 8, 256]),
            },
            answers_max: 1 + random.below(8),
            transactions_max: 2 + random.below(12),
            blob_len_max: 3,
            denials_max: (seed % 4) as usize,
            tombstone_ms: random.pick(&[0, 1, 40, 40, 240]),
            transaction_ms: match random.pick(&[1, 30, 100, 1_000]) {
                _ if seed % 16 == 5 => 0,
                some => some,
            },
            validity_ms_default: random.pick(&[10, 60, 100, 300]),
            tcc_ms_max: random.pick(&[60, 200, 1_000, 1_000]),
            overrun_default: random.pick(&[Overrun::Overdraw, Overrun::Clamp]),
        };
        let start = match random.below(40) {
            0 => 0,
            1..10 => 1_709_251_199_900, // 100 ms before a Friday, 1 March 2024
            10..14 => 1_708_905_599_900, // 100 ms before a Monday
            14..18 => 1_709_247_599_900, // 100 ms before 1 March 2024 where clocks are an hour ahead
            _ => 1_000,
        };
        let (huge, limited) = (random.one_in(5), random.one_in(2));
        let (history, ends) = (vec![], vec![]);
        let clock = start;
        (limits, Generator { random, history, clock, huge, limited, close: false, many, ends })
    }

    /// Creates one like [`Generator::new`], with deadlines a little before, at and a little after the ends of buckets
    /// that have floors and debts, and with pauses in which several of them pass.
    pub fn close(seed: u64) -> (Limits, Generator) {
        let (mut limits, mut generator) = Generator::new(seed);
        generator.close = true;
        limits.sessions_max = limits.sessions_max.max(2);
        limits.session_ids_max = limits.session_ids_max.max(4);
        (limits, generator)
    }

    /// Sets the clock, for a host that others also advance.
    pub fn set_clock(&mut self, at: i64) {
        self.clock = at;
    }

    /// Returns the current time of the clock.
    pub fn clock(&self) -> i64 {
        self.clock
    }

    /// Returns the next event, based on the current state of the pair.
    pub fn next(&mut self, pair: &Pair) -> Event {
        if self.close {
            self.ends = ends(pair);
        }
        let at = self.time(pair);
        let what = if self.random.one_in(14) {
            CommandOrTick::Tick
        } else {
            CommandOrTick::Do(self.op(pair))
        };
        if let CommandOrTick::Do(op) = &what {
            self.history.push(op.clone());
        }
        Event { at, what }
    }

    fn time(&mut self, pair: &Pair) -> i64 {
        if self.close && self.random.one_in(5) {
            // Advance past everything that is due soon.
            let all = self.ends.iter().copied().filter(|&end| end < self.clock + 200).max();
            self.clock = self.clock.max(all.unwrap_or(0)) + self.random.between(0, 5);
            return self.clock;
        }
        if let Some(start) = self.some_period(pair) {
            self.clock = self.clock.max(start);
            return self.clock;
        }
        let around = self.random.pick(&[-1, 0, 0, 0, 1]);
        let next = match self.random.below(20) {
            0..11 => self.clock,
            11..16 => self.clock.saturating_add(self.random.between(1, 10)),
            16 => pair.model.next_due().map_or(self.clock, |due| due.0).saturating_add(around),
            17 => self.some_deadline(pair).saturating_add(around),
            18 => self.clock.saturating_add(self.random.pick(&[1, 20, 60, 400])),
            _ => return self.clock.saturating_sub(self.random.between(1, 50)),
        };
        // A bucket's validity may end at the end of time.
        if (self.clock..self.clock + 5_000).contains(&next) {
            self.clock = next;
        }
        self.clock
    }

    /// Returns now and then the start of a period of an allowance, or a time close to it, up to forty starts ahead.
    fn some_period(&mut self, pair: &Pair) -> Option<i64> {
        if let (Some(start), true) = (self.limit_period(pair), self.random.one_in(2)) {
            return Some(start);
        }
        let allowances: Vec<Cycle> =
            pair.account.iter().flat_map(|account| &account.allowances).map(|a| a.cycle).collect();
        if allowances.is_empty() || !self.random.one_in(10) {
            return None;
        }
        let mut start = Time(self.clock);
        for _ in 0..self.random.pick(&[1, 1, 1, 2, 3, 40]) {
            start = allowances.iter().filter_map(|cycle| cycle.end(start)).min()?;
        }
        Some(start.0 + self.random.pick(&[-1, 0, 0, 1, 30]))
    }

    /// Returns the start of the next period of a limit that holds more than its amount, if an open session lives until
    /// then.
    fn limit_period(&self, pair: &Pair) -> Option<i64> {
        let account = pair.account.as_ref()?;
        let last = account.sessions.iter().map(|session| session.deadline).max()?;
        let above = account.limits.iter().filter(|limit| limit.held > limit.amount);
        let cycles = above.filter_map(|limit| limit.window.cycle());
        let starts = cycles.filter_map(|cycle| cycle.end(Time(self.clock)));
        starts.min().filter(|&start| start < last).map(|start| start.0)
    }

    /// Returns now and then an UPDATE that reports no use of what a limit counts, if more than its amount is still held in
    /// a new period.
    fn use_of_nothing(&mut self, pair: &Pair) -> Option<Op> {
        let (account, now) = (pair.account.as_ref()?, Time(self.clock));
        let is_new = |limit: &&Limit| {
            let is_over = |cycle: Cycle| cycle.start(now) > limit.period_start;
            limit.held > limit.amount && limit.window.cycle().is_some_and(is_over)
        };
        let limit = account.limits.iter().find(is_new)?;
        let counts = |item: &&Item| match limit.counted {
            LimitSubject::Units { unit, item: key } => {
                unit == item.unit && key.is_none_or(|key| key == item.key)
            }
            LimitSubject::Sessions => false,
        };
        let mut open = account.sessions.iter().filter(|session| session.deadline > now);
        let found = open.find_map(|open| open.items.iter().find(counts).map(|item| (open, item)));
        let (session, item) = found.filter(|_| self.random.one_in(2))?;
        let number = session.answers.last_request().unwrap_or(0).wrapping_add(1);
        let mut request = Request::new(&String::from_utf8_lossy(session.id.as_bytes()), number);
        let (key, unit, used) = (item.key, item.unit, Some(0));
        request.items.push(ItemRequest { key, unit, used, requested: None, min: None });
        Some(Op::Update(request))
    }

    fn some_deadline(&mut self, pair: &Pair) -> i64 {
        let Some(account) = &pair.account else { return self.clock };
        let mut times: Vec<Time> = account.sessions.iter().map(|s| s.deadline).collect();
        times.extend(account.buckets.iter().filter_map(|bucket| bucket.valid_to));
        times.extend(account.buckets.iter().map(|bucket| bucket.valid_from));
        times.push(Time(self.clock));
        self.random.pick(&times).0
    }

    /// Returns a time close to a deadline or to the end of a bucket.
    fn beside_an_end(&mut self) -> Option<i64> {
        if !self.close || self.ends.is_empty() || self.random.one_in(3) {
            return None;
        }
        let end = self.random.pick(&self.ends);
        let end = end.saturating_add(self.random.between(-4, 4));
        Some(end).filter(|&end| end > self.clock)
    }

    fn op(&mut self, pair: &Pair) -> Op {
        let status = pair.account.as_ref().map(|account| account.status);
        // A client repeats the DELETE whose answer it lost.
        if status.is_none()
            && self.random.one_in(3)
            && let Some(done @ Op::Delete { .. }) = self.history.last()
        {
            return done.clone();
        }
        if status.is_none() && !self.random.one_in(20) {
            return self.create(pair);
        }
        if let Some(update) = self.use_of_nothing(pair) {
            return update;
        }
        if status == Some(Status::Suspended) && self.random.one_in(4) {
            return Op::status(Status::Active);
        }
        if status == Some(Status::Closed) && self.random.one_in(3) {
            return self.clear(pair);
        }
        if status == Some(Status::Closed) && self.random.one_in(12) {
            return self.reopen();
        }
        let unlimited = pair.account.as_ref().is_some_and(|account| account.limits.is_empty());
        if unlimited && self.limited && self.random.one_in(3) {
            return self.limit();
        }
        if self.random.one_in(5)
            && let Some(lower) = self.lower(pair)
        {
            return lower;
        }
        if self.random.one_in(25)
            && let Some(moved) = self.move_identity(pair)
        {
            return moved;
        }
        if self.random.one_in(9) {
            return self.transfer(pair);
        }
        let idle = pair.account.iter().all(|account| account.sessions.is_empty());
        match self.random.below(100) {
            24..60 if idle && !self.random.one_in(4) => self.reserve(pair),
            0..10 if !self.history.is_empty() => self.duplicate(),
            0..24 => self.reserve(pair),
            24..54 => self.update(pair),
            54..58 => self.terminate(pair),
            58..60 => Op::Release {
                session: self.random.pick(session::IDS).to_string(),
                txn: if self.random.one_in(2) { Some(self.txn()) } else { None },
                cancel: self.random.one_in(2),
            },
            60..68 => self.topup(pair),
            68..73 => self.adjust(pair),
            73..78 => self.bucket(pair),
            78..84 => self.debit(pair),
            84..90 => self.refund(pair),
            90..93 => self.counter(),
            93..95 => self.limit(),
            95..97 => self.status(),
            97 => self.create(pair),
            _ => self.delete(pair),
        }
    }

    /// Repeats an earlier command, now and then with a part of its body changed.
    fn duplicate(&mut self) -> Op {
        // Mostly a recent one, so that it is still remembered.
        let back = if self.random.one_in(3) { self.history.len() } else { 6 };
        let back = 1 + self.random.below(back.min(self.history.len()));
        let index = self.history.len() - back;
        let mut op = self.history[index].clone();
        if self.random.one_in(3) {
            let other = self.random.between(1, 9);
            match &mut op {
                Op::TopUp { amount, .. }
                | Op::Adjust { amount, .. }
                | Op::Debit { amount, .. }
                | Op::Transfer { amount, .. }
                | Op::Receive { amount, .. }
                | Op::Counter { amount, .. } => *amount = other,
                Op::Refund { carry, .. } if self.random.one_in(2) => *carry = !*carry,
                Op::Refund { amount, .. } => *amount = Some(other),
                Op::DebitItems { items, .. } | Op::RefundItems { items, .. } => {
                    items.iter_mut().take(1).for_each(|item| item.amount = other);
                }
                Op::Bucket { with, .. } if self.random.one_in(3) => {
                    with.period = Some(Period::None);
                    with.clock.offset_minutes = Some(60);
                }
                Op::Bucket { with, .. } => with.priority = Some(i32::MAX),
                Op::Limit { terms: LimitTerms::Set { amount, .. }, .. } => *amount = other,
                Op::Reserve(request) | Op::Update(request) | Op::Terminate(request) => {
                    self.change_body(request);
                }
                Op::Create { identities, .. } | Op::Status { identities, .. } => {
                    identities.truncate(1);
                }
                Op::Conclude { refusal, .. } => *refusal = None,
                Op::Release { cancel, .. } => *cancel = !*cancel,
                Op::Delete { .. }
                | Op::Settle { .. }
                | Op::Forget { .. }
                | Op::Limit { terms: LimitTerms::Remove, .. } => {}
            }
        }
        op
    }

    fn create(&mut self, pair: &Pair) -> Op {
        if self.close && self.ends.is_empty() {
            self.ends.push(self.clock.saturating_add(self.random.between(5, 60)));
        }
        let mut buckets = vec![];
        let most = pair.limits.buckets_max + usize::from(self.random.one_in(20));
        for id in BUCKETS.iter().take(most.min(1 + self.random.below(4))) {
            let unit = self.unit();
            let amount = if self.random.one_in(50) { self.amount() } else { self.credit() };
            let attributes = self.attributes();
            buckets.push(NewBucket { bucket: name(id), unit, amount, attributes });
        }
        let mut keys = vec![];
        for index in 0..buckets.len() {
            keys.extend(self.keys().into_iter().map(|key| (index, key)));
        }
        if self.random.one_in(40) {
            buckets.extend(buckets.first().copied());
        }
        let status = match self.random.below(40) {
            0 => Status::Closed,
            1..5 => Status::Suspended,
            _ => Status::Active,
        };
        let txn = if self.random.one_in(3) { Some(self.txn()) } else { None };
        Op::Create { txn, status, identities: self.identities(), buckets, keys }
    }

    fn status(&mut self) -> Op {
        let all = [Status::Active, Status::Active, Status::Active, Status::Suspended];
        let status = if self.random.one_in(12) { Status::Closed } else { self.random.pick(&all) };
        let txn = if self.random.one_in(3) { Some(self.txn()) } else { None };
        Op::Status { txn, status, identities: self.identities() }
    }

    /// Takes an identity from the account, gives it another value, or gives a former one back.
    fn move_identity(&mut self, pair: &Pair) -> Option<Op> {
        let account = pair.account.as_ref()?;
        let former = account.former_identities.iter().map(|former| &former.identity);
        let known: Vec<_> = account.identities.iter().chain(former).collect();
        if known.is_empty() {
            return None;
        }
        let identity = self.random.pick(&known);
        let back = identity.value.as_bytes();
        let value = self.random.pick(&[&b""[..], b"3", b"5", b"6", back]).to_vec();
        let identities = vec![(identity.kind, value)];
        Some(Op::Status { txn: None, status: account.status, identities })
    }

    /// Reopens a closed account with more identities than allowed, which must be rejected.
    fn reopen(&mut self) -> Op {
        let identities = KINDS.iter().map(|kind| (name(kind), b"1".to_vec())).collect();
        Op::Status { txn: None, status: Status::Active, identities }
    }

    fn identities(&mut self) -> Vec<(Name, Vec<u8>)> {
        let values: &[&[u8]] = match self.random.below(10) {
            0 => &[b"with space", b"1"],
            1..4 => &[b"1", b""],
            4 => &[b"1", &[b'i'; 255], &[b'i'; 256]],
            _ => &[b"1", b"2", b"4915112345678"],
        };
        let count = if self.random.one_in(2) { 0 } else { self.random.below(3) };
        (0..count)
            .map(|_| (name(self.random.pick(KINDS)), self.random.pick(values).to_vec()))
            .collect()
    }

    fn unit(&mut self) -> Name {
        name(self.random.pick(UNITS))
    }

    /// Draws a credit that makes both denials and grants likely.
    fn credit(&mut self) -> i64 {
        if self.huge && self.random.one_in(2) {
            return self.random.pick(&[i64::MAX, i64::MAX - 1, i64::MAX / 2]);
        }
        self.random.between(0, 60)
    }

    /// Draws any amount: mostly small, sometimes invalid.
    fn amount(&mut self) -> i64 {
        if self.huge && self.random.one_in(3) {
            let ends = [i64::MAX, i64::MAX - 1, i64::MAX / 2, i64::MIN, i64::MIN + 1];
            return self.random.pick(&ends);
        }
        match self.random.below(120) {
            0 => -1,
            1 => 0,
            _ => self.random.between(1, 12),
        }
    }
}

fn ends(pair: &Pair) -> Vec<i64> {
    let Some(account) = &pair.account else { return vec![] };
    let deadlines = account.sessions.iter().map(|session| session.deadline);
    deadlines
        .chain(account.buckets.iter().filter_map(|bucket| bucket.valid_to))
        .map(|t| t.0)
        .collect()
}
