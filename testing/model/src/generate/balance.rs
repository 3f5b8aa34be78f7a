//! The commands with a transaction id of the adversarial runs.

use super::{BUCKETS, Generator};
use crate::{Op, Pair, Random, key, name};
use scurry_ledger::{
    Bucket, BucketAttributes, Cycle, DebitedItem, DebtRule, ItemAmount, ItemKey, LimitSubject,
    LimitTerms, Name, NamedZone, Period, PeriodClock, Time, WindowTerms, Zone,
};

const TXNS: &[&str] = &["t0", "t1", "t2", "t3", "t4", "t5", "t6", "t7", "t8", "t9"];
const LIMITS: &[&str] = &["all", "day", "hour", "item", "open"];
const COUNTERS: &[&str] = &["day", "month", "plain"];

impl Generator {
    pub(super) fn txn(&mut self) -> String {
        let debits = self.history.iter().filter_map(|op| match op {
            Op::Debit { txn, .. } | Op::DebitItems { txn, .. } => Some(txn.clone()),
            _ => None,
        });
        let debits: Vec<String> = debits.collect();
        if self.random.one_in(12) && !debits.is_empty() {
            return debits[self.random.below(debits.len())].clone();
        }
        match self.random.below(80) {
            0 => String::new(),
            1 => "t\u{7f}".to_string(),
            // Few, so that they are used again: the longest that is stored inline, and longer ones.
            2..5 => "t".repeat(self.random.pick(&[62, 63, 255])),
            5 => "t".repeat(256),
            6..14 => format!("{}{}", self.random.pick(TXNS), self.random.pick(TXNS)),
            _ => self.random.pick(TXNS).to_string(),
        }
    }

    /// Picks a bucket name, mostly of an existing bucket.
    fn bucket_name(&mut self, pair: &Pair) -> Name {
        let known: Vec<Name> =
            pair.account.iter().flat_map(|a| &a.buckets).map(|bucket| bucket.id).collect();
        if known.is_empty() || self.random.one_in(8) {
            return name(self.random.pick(BUCKETS));
        }
        self.random.pick(&known)
    }

    /// Draws the keys of the items that a bucket is for; in most cases it is for all.
    pub(super) fn keys(&mut self) -> Vec<ItemKey> {
        if !self.random.one_in(3) {
            return vec![];
        }
        let mut keys: Vec<ItemKey> = (0..self.random.below(4)).map(|_| self.item().key).collect();
        if !self.random.one_in(20) {
            keys.sort_unstable();
            keys.dedup();
        }
        keys
    }

    /// Draws the attributes of a new bucket for CREATE and TOPUP.
    pub(super) fn attributes(&mut self) -> BucketAttributes {
        let mut with = BucketAttributes::default();
        if self.random.one_in(2) {
            with.priority = Some(self.random.pick(&[-1, 0, 0, 1, i32::MAX, i32::MIN]));
        }
        if self.random.one_in(10) {
            with.valid_from = Some(self.about_now());
        }
        if self.close || self.random.one_in(3) {
            with.valid_to = Some(Some(self.later()));
        }
        if self.close || self.random.one_in(3) {
            with.floor = Some(self.floor());
        }
        with.mark = self.mark().filter(Option::is_some);
        if self.random.one_in(4) {
            self.allowance(&mut with);
        }
        if let (Some(period), true) = (with.period, self.random.one_in(8)) {
            // The validity begins at the start of a period.
            let minutes = with.clock.offset_minutes.unwrap_or(0).clamp(-840, 840);
            let fixed = Cycle::fixed(period, i16::try_from(minutes).unwrap_or(0));
            let zone = with.clock.zone.map_or(fixed.zone, Zone::Named);
            with.valid_from = Cycle { zone, ..fixed }.end(Time(self.clock));
        }
        if self.random.one_in(150) {
            with.valid_from = Some(Time(self.random.pick(&[Time::LAST.0, i64::MAX - 1])));
        }
        with
    }

    fn allowance(&mut self, with: &mut BucketAttributes) {
        let periods = [Period::Hour, Period::Hour, Period::Day, Period::Week, Period::Month];
        with.period = Some(self.random.pick(&periods));
        if self.random.one_in(8) {
            with.period = self.random.pick(&[None, Some(Period::None)]);
        }
        let is_none = matches!(with.period, None | Some(Period::None));
        if self.random.one_in(if is_none { 4 } else { 3 }) {
            with.clock.offset_minutes = Some(self.random.pick(&[0, 60, -60, 345, -840, 840]));
        }
        if self.random.one_in(60) {
            with.clock.offset_minutes = Some(self.random.pick(&[841, -841, i64::MIN]));
        }
        if self.random.one_in(if is_none { 30 } else { 10 }) {
            self.calendar(&mut with.period, &mut with.clock);
        }
        if self.random.one_in(if is_none { 12 } else { 2 }) {
            let amount = if self.random.one_in(6) { self.amount() } else { self.credit().max(1) };
            with.refill = Some(amount);
        }
        if self.random.one_in(if is_none { 30 } else { 3 }) {
            with.rollover = Some(self.random.pick(&[0, 1, 5, 20, 100, -1, i64::MAX]));
        }
        if self.random.one_in(if is_none { 30 } else { 2 }) {
            with.debt = Some(self.random.pick(&DebtRule::ALL));
        }
    }

    /// Draws a zone of the database, a begin, or a period of another length.
    fn calendar(&mut self, period: &mut Option<Period>, clock: &mut PeriodClock) {
        let zones = ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata"];
        if self.random.one_in(2) {
            clock.zone = NamedZone::new(self.random.pick(&zones).as_bytes());
            clock.offset_minutes = clock.offset_minutes.filter(|_| self.random.one_in(20));
        }
        if self.random.one_in(2) {
            clock.begin = Some(self.random.pick(&[1, 2, 7, 15, 23, 31, Cycle::FIRST_USE]));
        }
        if period.is_some() && self.random.one_in(2) {
            // The model makes each refill alone, so that allowances have no minutes.
            let lengths = [Period::Quarter, Period::Year, Period::Hours(5), Period::Days(30)];
            *period = Some(self.random.pick(&lengths));
        }
    }

    fn about_now(&mut self) -> Time {
        Time(self.clock.saturating_add(self.random.between(-20, 10)))
    }

    fn later(&mut self) -> Time {
        if let Some(end) = self.beside_an_end() {
            return Time(end);
        }
        let after = self.random.pick(&[1, 10, 20, 20, 60, 60, 200, 400, i64::MAX]);
        let after = if self.random.one_in(30) { self.random.between(-1, 0) } else { after };
        Time(self.clock.saturating_add(after))
    }

    fn floor(&mut self) -> i64 {
        if self.huge && self.random.one_in(3) {
            return self.random.pick(&[i64::MIN, i64::MIN + 1, -i64::MAX / 2]);
        }
        if self.random.one_in(40) { 1 } else { self.random.pick(&[-10, -10, -5, -3, -1, 0, 0]) }
    }

    /// Draws now and then a mark near what buckets have, or its removal. The numbers are apart from the stream, so that
    /// marks change nothing else in the run of a seed.
    fn mark(&self) -> Option<Option<i64>> {
        let mut random = Random::new(!self.random.clone().next_u64());
        if !random.one_in(3) {
            return None;
        }
        if self.huge && random.one_in(3) {
            return Some(Some(random.pick(&[i64::MIN, i64::MAX, 0])));
        }
        let mark = random.pick(&[-5, 0, 1, 3, 5, 10, 20, 50]);
        Some((!random.one_in(5)).then_some(mark))
    }

    pub(super) fn topup(&mut self, pair: &Pair) -> Op {
        let (txn, bucket) = (self.txn(), self.bucket_name(pair));
        let amount = if self.random.one_in(10) { self.amount() } else { self.credit().max(1) };
        let known = pair.account.as_ref().and_then(|account| account.bucket(bucket));
        let unit = match self.random.below(8) {
            0 => Some(self.unit()),
            1..3 => None,
            _ => known.map_or(Some(self.unit()), |bucket| Some(bucket.unit)),
        };
        let later = Some(Some(self.later()));
        let with = match self.random.below(6) {
            0..3 if known.is_none() => self.attributes(),
            0 if self.random.one_in(4) => self.attributes(),
            0..2 => BucketAttributes {
                valid_to: self.random.pick(&[Some(None), later, None]),
                ..BucketAttributes::default()
            },
            _ => BucketAttributes::default(),
        };
        let of_new = known.is_none() || self.random.one_in(20);
        let keys = if of_new { self.keys() } else { vec![] };
        Op::TopUp { txn, bucket, amount, unit, with, keys }
    }

    pub(super) fn adjust(&mut self, pair: &Pair) -> Op {
        let amount = self.amount();
        let amount = if self.random.one_in(2) { amount.wrapping_neg() } else { amount };
        Op::Adjust { txn: self.txn(), bucket: self.bucket_name(pair), amount }
    }

    /// Empties a closed account, and then deletes it.
    pub(super) fn clear(&mut self, pair: &Pair) -> Op {
        let full = |bucket: &&Bucket| bucket.available != 0;
        let bucket = pair.account.iter().flat_map(|a| &a.buckets).find(full);
        match bucket {
            Some(bucket) => {
                let amount = bucket.available.wrapping_neg();
                Op::Adjust { txn: self.txn(), bucket: bucket.id, amount }
            }
            None => self.delete(pair),
        }
    }

    /// Deletes the account; half of the time the one that remembers a transaction, mostly one that it does remember.
    pub(super) fn delete(&mut self, pair: &Pair) -> Op {
        let known = pair.account.iter().flat_map(|account| account.transactions.iter());
        let known = known.last().filter(|_| !self.random.one_in(4));
        let if_txn = known.map_or_else(|| self.txn(), |known| format!("{:?}", known.id));
        let if_txn = self.random.one_in(2).then_some(if_txn);
        // It goes with FORCE only.
        let force = self.random.one_in(2) || if_txn.is_some() && !self.random.one_in(8);
        Op::Delete { force, if_txn }
    }

    pub(super) fn bucket(&mut self, pair: &Pair) -> Op {
        let mut with = self.attributes();
        if self.random.one_in(6) {
            with.valid_to = Some(None);
        }
        if self.mark() == Some(None) {
            with.mark = Some(None);
        }
        let remove = self.random.one_in(4);
        if remove && !self.random.one_in(10) {
            with = BucketAttributes::default();
        }
        let keys = (!remove && self.random.one_in(3)).then(|| self.keys());
        Op::Bucket { txn: self.txn(), bucket: self.bucket_name(pair), with, keys, remove }
    }

    pub(super) fn debit(&mut self, pair: &Pair) -> Op {
        if self.random.one_in(3) {
            let count = self.random.pick(&[0, 1, 1, 2, 2, 2, 3, 3, 5]);
            let mut items: Vec<ItemAmount> = (0..count).map(|_| self.item_amount()).collect();
            if self.random.one_in(4) {
                items = two_thresholds(pair).unwrap_or(items);
            } else if self.huge && self.random.one_in(2) {
                items = overflow_and_denial(pair).unwrap_or(items);
            }
            return Op::DebitItems { txn: self.txn(), items };
        }
        let (unit, mut amount) = (self.unit(), self.amount());
        if self.random.one_in(3) {
            // Everything above 0, and a little below 0.
            let of_unit = pair.account.iter().flat_map(|account| &account.buckets);
            let of_unit = of_unit.filter(|bucket| bucket.unit == unit);
            let all = of_unit.fold(0, |all: i64, b| all.saturating_add(b.available.max(0)));
            amount = all.saturating_add(self.random.between(1, 3));
        }
        Op::Debit { txn: self.txn(), unit, amount }
    }

    fn item_amount(&mut self) -> ItemAmount {
        let named = self.random.pick(&["0", "1", "1", "2", "a", "07"]);
        let amount = self.amount();
        let any = self.random.one_in(if self.huge { 2 } else { 12 });
        let amount = if any { amount } else { amount.clamp(1, 6) };
        let unit = if self.random.one_in(12) { name("none") } else { self.unit() };
        ItemAmount { key: key(named), unit, amount }
    }

    pub(super) fn refund(&mut self, pair: &Pair) -> Op {
        let is_debit = |txn: &&str| {
            let account = pair.account.as_ref();
            let known = account.and_then(|account| account.transactions.find(txn.as_bytes()));
            known.is_some_and(|known| !known.parts.is_empty())
        };
        let debits: Vec<String> =
            TXNS.iter().copied().filter(is_debit).map(str::to_string).collect();
        let debit = if debits.is_empty() || self.random.one_in(8) {
            self.txn()
        } else {
            debits[self.random.below(debits.len())].clone()
        };
        let known = pair.account.as_ref().and_then(|a| a.transactions.find(debit.as_bytes()));
        let known = known.map_or(vec![], |known| known.items);
        if !self.random.one_in(4) && (!known.is_empty() || self.random.one_in(12)) {
            let mut items: Vec<ItemAmount> = vec![];
            for DebitedItem { key, unit } in known {
                if self.random.one_in(2) {
                    items.push(ItemAmount { key, unit, amount: self.random.between(1, 6) });
                }
            }
            if items.is_empty() || self.random.one_in(6) {
                items.push(self.item_amount());
            }
            let carry = self.random.one_in(4);
            return Op::RefundItems { txn: self.txn(), debit, items, carry };
        }
        let amount = if self.random.one_in(2) { None } else { Some(self.amount()) };
        let carry = self.random.one_in(4);
        Op::Refund { txn: self.txn(), debit, amount, carry }
    }

    pub(super) fn counter(&mut self) -> Op {
        let counter = self.random.pick(COUNTERS);
        let usual = match counter {
            "day" => Period::Day,
            "month" => Period::Month,
            _ => Period::None,
        };
        let period = match self.random.below(6) {
            0 => None,
            1 => Some(self.random.pick(&[Period::Hour, Period::Week])),
            _ => Some(usual),
        };
        let (mut period, mut clock) = (period, PeriodClock::NONE);
        if self.random.one_in(20) {
            self.calendar(&mut period, &mut clock);
        }
        if counter == "month" && period == Some(Period::Month) {
            clock.zone = NamedZone::new(b"America/New_York");
        }
        if self.random.one_in(12) {
            clock = PeriodClock { begin: Some(Cycle::FIRST_USE), ..PeriodClock::NONE };
        }
        let unit = if self.random.one_in(5) { Some(self.unit()) } else { None };
        let (txn, amount) = (self.txn(), self.amount());
        Op::Counter { txn, counter: name(counter), amount, unit, period, clock }
    }

    /// Lowers a limit below what its items hold at present.
    pub(super) fn lower(&mut self, pair: &Pair) -> Option<Op> {
        let mut limits = pair.account.iter().flat_map(|account| &account.limits);
        let limit = limits.find(|limit| limit.held > 0 && limit.held <= limit.amount)?;
        let (counted, amount) = (limit.counted, limit.held / 2);
        let terms = LimitTerms::Set { counted, amount, window: WindowTerms::UNSAID };
        Some(Op::Limit { txn: self.txn(), limit: limit.id, terms })
    }

    /// Sets a limit that is reached, with a period that passes soon; its name determines which use it counts.
    pub(super) fn limit(&mut self) -> Op {
        let limit = self.random.pick(LIMITS);
        let txn = self.txn();
        if self.random.one_in(12) {
            return Op::Limit { txn, limit: name(limit), terms: LimitTerms::Remove };
        }
        let usual = match limit {
            "open" => LimitSubject::Sessions,
            "item" => {
                let item = self.random.pick(&[0.into(), 0.into(), key("-")]);
                LimitSubject::Units { unit: name("oct"), item: Some(item) }
            }
            "hour" => LimitSubject::Units { unit: name("sec"), item: None },
            _ => LimitSubject::Units { unit: name("oct"), item: None },
        };
        let other = LimitSubject::Units { unit: self.unit(), item: Some(1.into()) };
        let counted = if self.random.one_in(25) { other } else { usual };
        let amount = match self.random.below(30) {
            0 => self.amount(),
            1..4 if self.huge => i64::MAX,
            _ if counted == LimitSubject::Sessions => self.random.between(0, 3),
            _ => self.random.between(0, 40),
        };
        let periods = [Period::Hour, Period::Day, Period::Week, Period::Month, Period::None];
        let (mut period, mut clock) = (None, PeriodClock::NONE);
        if counted != LimitSubject::Sessions || self.random.one_in(20) {
            let usual = if limit == "hour" { Period::Hour } else { Period::Day };
            period = match self.random.below(8) {
                0 => None,
                1..3 => Some(self.random.pick(&periods)),
                _ => Some(usual),
            };
            if self.random.one_in(3) {
                clock.offset_minutes = Some(self.random.pick(&[60, 60, 60, 0, -480, 840, 841]));
            }
            if self.random.one_in(15) {
                self.calendar(&mut period, &mut clock);
            }
            if self.random.one_in(8) {
                clock = PeriodClock { begin: Some(Cycle::FIRST_USE), ..PeriodClock::NONE };
            }
            if period == Some(Period::Week) && self.random.one_in(2) {
                period = Some(self.random.pick(&[Period::Minute, Period::Minutes(90)]));
            }
        }
        let is_window = counted != LimitSubject::Sessions && self.random.one_in(3);
        let window = match is_window {
            true => self.window(),
            false => WindowTerms::Period { period, clock },
        };
        let terms = LimitTerms::Set { counted, amount, window };
        Op::Limit { txn, limit: name(limit), terms }
    }

    /// Returns a rolling span or a rate, now and then one that is refused.
    fn window(&mut self) -> WindowTerms {
        let spans = [1_000, 1_000, 3_000, 3_007, 60_000, 60_000, 18_000_000, 999];
        let span_ms = self.random.pick(&spans);
        if self.random.one_in(2) {
            return WindowTerms::Rolling { span_ms };
        }
        let burst = match self.random.below(6) {
            0..3 => None,
            3 if self.huge => Some(i64::MAX),
            3 => Some(self.random.between(0, 2)),
            _ => Some(self.random.between(1, 60)),
        };
        WindowTerms::Rate { span_ms, burst }
    }
}

fn item(key: u32, unit: Name, amount: i64) -> ItemAmount {
    ItemAmount { key: key.into(), unit, amount }
}

/// Returns items of which the first brings a limit near its amount, and the second to it.
fn two_thresholds(pair: &Pair) -> Option<Vec<ItemAmount>> {
    let mut limits = pair.account.iter().flat_map(|account| &account.limits);
    let (unit, amount) = limits.find_map(|limit| match limit.counted {
        LimitSubject::Units { unit, item: None } if limit.amount > 4 => Some((unit, limit.amount)),
        _ => None,
    })?;
    let rest = 1 + amount / 10;
    Some(vec![item(0, unit, amount - rest), item(1, unit, rest)])
}

/// Returns items of which the first two exceed 64 bits, and the last is denied.
fn overflow_and_denial(pair: &Pair) -> Option<Vec<ItemAmount>> {
    let mut all: Vec<&Bucket> = pair.account.iter().flat_map(|account| &account.buckets).collect();
    all.sort_by_key(|bucket| std::cmp::Reverse(bucket.available));
    let [first, second, ..] = all.as_slice() else { return None };
    first.available.checked_add(second.available).is_none().then(|| {
        let of = |key, bucket: &Bucket| item(key, bucket.unit, bucket.available);
        vec![of(0, first), of(1, second), item(2, name("none"), 1)]
    })
}
