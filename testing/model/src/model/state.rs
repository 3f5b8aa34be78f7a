//! The model's memory of one account, and the amounts that follow from it.
//!
//! Nothing is stored that can be computed: `held` is the sum of the slices, `available` follows from the totals by
//! conservation (I1), and a comparison of times says which answers are forgotten. So the model cannot get these wrong,
//! and a ledger that does will differ from it.

use super::body::{Asked, asked};
use super::calendar::Zone;
use crate::name;
use scurry_ledger::{
    Answer, Cause, Code, DebtRule, ItemKey, ItemRequest, Limits, SessionTerms, Standing, Status,
};
use std::collections::BTreeMap;

/// One account.
#[derive(Clone, Debug)]
pub(crate) struct State {
    pub(crate) status: Status,
    pub(crate) version: u64,
    pub(crate) changed_at: i64,
    /// In the order in which they were last set.
    pub(crate) identities: Vec<(String, String)>,
    /// In the order in which they were given up.
    pub(crate) former: Vec<Former>,
    pub(crate) buckets: Vec<Bucket>,
    pub(crate) buckets_ever: u32,
    pub(crate) counters: BTreeMap<String, Counter>,
    /// In the order of their creation.
    pub(crate) limits: Vec<Limit>,
    pub(crate) uncollected: BTreeMap<String, i128>,
    pub(crate) sessions: BTreeMap<String, Session>,
    /// Every session that was ever closed; a filter on time selects the remembered ones.
    pub(crate) closed: Vec<Closed>,
    /// Every transaction ever; a filter on time selects the remembered ones.
    pub(crate) transactions: Vec<Transaction>,
}

/// An identity that the account gave up.
#[derive(Clone, Debug)]
pub(crate) struct Former {
    pub(crate) identity: (String, String),
    pub(crate) since: i64,
    pub(crate) forget: i64,
}

#[derive(Clone, Debug)]
pub(crate) struct Bucket {
    /// Number that distinguishes a bucket from a later one with the same id.
    pub(crate) serial: u32,
    pub(crate) id: String,
    pub(crate) unit: String,
    pub(crate) priority: i32,
    pub(crate) created: i64,
    pub(crate) from: i64,
    pub(crate) to: Option<i64>,
    pub(crate) floor: i128,
    pub(crate) mark: Option<i128>,
    pub(crate) credited: i128,
    pub(crate) refunded: i128,
    pub(crate) consumed: i128,
    pub(crate) expired: i128,
    pub(crate) voided: i128,
    pub(crate) overdrawn: i128,
    /// Number of refills so far.
    pub(crate) refills: usize,
    /// Debts that the refills met, by the number of the refill, less what came back since from before them. 0 is left
    /// out.
    pub(crate) noted: BTreeMap<usize, i128>,
    pub(crate) allowance: Option<Allowance>,
    /// Keys of the items that it is for; none: for all.
    pub(crate) keys: Vec<String>,
}

/// Recurring credit of a bucket.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Allowance {
    pub(crate) zone: Zone,
    pub(crate) amount: i128,
    /// Time after which the start of a period brings a refill.
    pub(crate) since: i64,
    pub(crate) rollover: i128,
    pub(crate) debt: DebtRule,
    /// Debt of earlier periods that the refills do not pay.
    pub(crate) owed: i128,
}

#[derive(Clone, Debug)]
pub(crate) struct Counter {
    pub(crate) unit: String,
    pub(crate) zone: Zone,
    pub(crate) written_at: i64,
    pub(crate) value: i128,
}

#[derive(Clone, Debug)]
pub(crate) struct Limit {
    pub(crate) id: String,
    /// Unit and item key that count; None for open sessions.
    pub(crate) counted: Option<(String, Option<String>)>,
    pub(crate) amount: i128,
    pub(crate) window: Window,
    /// Time in the period to which `used`, `overrun` and `told` belong; after a change of the zone it may be to come.
    pub(crate) written_at: i64,
    pub(crate) used: i128,
    pub(crate) overrun: i128,
    /// Highest threshold reported, percent of the amount.
    pub(crate) told: i128,
    /// Indexes of the counted debits among all transactions, each with the number of the part of a rolling span.
    pub(crate) debits: Vec<(usize, i64)>,
}

/// How long a use counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Window {
    Periods(Zone),
    Rolling {
        span: i64,
        /// Use in each part of the span, by its number from 1970.
        parts: BTreeMap<i64, i128>,
    },
    Rate {
        span: i64,
        burst: Option<i128>,
        /// Level of what is used, in units of which one use has as many as the span has ms.
        level: i128,
    },
}

#[derive(Clone, Debug)]
pub(crate) struct Session {
    pub(crate) version: u64,
    pub(crate) validity: i64,
    pub(crate) tcc: i64,
    pub(crate) deadline: i64,
    pub(crate) opened: i64,
    pub(crate) terms: SessionTerms,
    pub(crate) blob: Vec<u8>,
    pub(crate) items: Vec<ItemState>,
    /// Every answer ever given: request, body, answer.
    pub(crate) answers: Vec<(Asked, String, Answer)>,
    /// Number up to which gaps are given up.
    pub(crate) given_up: Option<u32>,
}

#[derive(Clone, Debug)]
pub(crate) struct ItemState {
    pub(crate) key: String,
    pub(crate) unit: String,
    /// Serial number of the bucket, and the amount.
    pub(crate) slices: Vec<(u32, i128)>,
    /// How often the bucket of each slice had been refilled when the units were held.
    pub(crate) refills: BTreeMap<u32, usize>,
    pub(crate) granted: i128,
    pub(crate) used: i128,
    pub(crate) from_hold: i128,
    pub(crate) direct: i128,
    pub(crate) released: i128,
    pub(crate) uncollected: i128,
    pub(crate) last_grant: Option<u32>,
    pub(crate) standing: Standing,
}

/// Closed session.
#[derive(Clone, Debug)]
pub(crate) struct Closed {
    pub(crate) id: String,
    pub(crate) forget: i64,
    pub(crate) end: End,
    /// Highest request that may have been answered.
    pub(crate) highest: Option<Asked>,
    /// Answers to late use: request, body, answer.
    pub(crate) late: Vec<(Asked, String, Answer)>,
}

/// How a session ended.
#[derive(Clone, Debug)]
pub(crate) enum End {
    /// Tcc ran out, at this time.
    Expired(i64),
    /// RELEASE, with this answer.
    Released(Answer),
    /// A request with this body and answer.
    Request(Asked, String, Answer),
    /// Unknown: the session was not remembered when late use was reported.
    Unknown,
    /// It was a transfer with this body, which the payee refused.
    Returned(String, Code),
}

/// Part of a successful debit; parts are in the order in which the buckets were first debited, item by item.
#[derive(Clone, Debug)]
pub(crate) struct DebitPart {
    pub(crate) key: Option<ItemKey>,
    pub(crate) unit: String,
    pub(crate) serial: u32,
    /// Amount that can still be refunded.
    pub(crate) left: i128,
    /// How often the bucket had been refilled when it was debited.
    pub(crate) refills: usize,
}

#[derive(Clone, Debug)]
pub(crate) struct Transaction {
    pub(crate) id: String,
    pub(crate) body: String,
    pub(crate) answer: Answer,
    pub(crate) forget: i64,
    /// Parts of a successful debit; None for anything else.
    pub(crate) parts: Option<Vec<DebitPart>>,
    /// True when the debit had items.
    pub(crate) has_items: bool,
}

impl Session {
    /// Returns the highest request that was answered.
    pub(crate) fn highest(&self) -> Option<Asked> {
        self.answers.iter().map(|answer| answer.0).max()
    }

    /// Returns the answers that are still stored: those of the highest requests.
    pub(crate) fn window(&self, limits: &Limits) -> Vec<&(Asked, String, Answer)> {
        let mut all: Vec<_> = self.answers.iter().collect();
        all.sort_by_key(|answer| std::cmp::Reverse(answer.0));
        all.truncate(limits.answers_max);
        all
    }

    /// Returns the ranges below the stored answers that lie between two answered numbers.
    pub(crate) fn gaps(&self, limits: &Limits) -> Vec<(u32, u32)> {
        let lowest = self.window(limits).last().map_or(0, |answer| answer.0.0);
        let mut numbers: Vec<u32> = self.answers.iter().map(|answer| answer.0.0).collect();
        numbers.sort_unstable();
        let pairs = numbers.windows(2).map(|pair| (pair[0], pair[1]));
        let below = pairs.filter(|pair| pair.1 <= lowest && pair.1 - pair.0 > 1);
        let ranges = below.map(|pair| (pair.0 + 1, pair.1 - 1));
        ranges.filter(|range| self.given_up.is_none_or(|given_up| range.1 > given_up)).collect()
    }

    /// Stores an answer; when there are more than eight gaps the lowest is given up.
    pub(crate) fn store(&mut self, limits: &Limits, number: u32, body: String, answer: Answer) {
        self.answers.push((asked(number, &body), body, answer));
        while let gaps = self.gaps(limits)
            && gaps.len() > 8
        {
            self.given_up = Some(gaps[0].1);
        }
    }

    pub(crate) fn item(&self, of: &ItemRequest) -> Option<&ItemState> {
        self.items.iter().find(|item| item.is(of))
    }

    /// Returns the item of a request, and adds it when the session does not have it.
    pub(crate) fn item_or_new(&mut self, of: &ItemRequest) -> &mut ItemState {
        let place = self.items.iter().position(|item| item.is(of)).unwrap_or_else(|| {
            self.items.push(ItemState {
                key: of.key.to_string(),
                unit: of.unit.as_str().to_string(),
                slices: vec![],
                refills: BTreeMap::new(),
                granted: 0,
                used: 0,
                from_hold: 0,
                direct: 0,
                released: 0,
                uncollected: 0,
                last_grant: None,
                standing: Standing::Granted,
            });
            self.items.len() - 1
        });
        &mut self.items[place]
    }
}

impl ItemState {
    /// Reports whether key and unit are exactly the same as in the request.
    pub(crate) fn is(&self, of: &ItemRequest) -> bool {
        self.key == of.key.to_string() && self.unit == of.unit.as_str()
    }
}

impl Bucket {
    /// Returns the least debts that were noted since ended periods, each once, in ascending order, without 0.
    pub(super) fn least_debts(&self) -> Vec<i128> {
        let mut least = vec![];
        for number in (0..self.refills).rev() {
            let Some(&debt) = self.noted.get(&number) else { break };
            if least.last().is_none_or(|last| debt < *last) {
                least.push(debt);
            }
        }
        least.reverse();
        least
    }

    /// Receives units that come back (section 2), which were taken after so many refills. What does not go to
    /// `available` expires.
    pub(crate) fn take_back(&mut self, amount: i128, refills: usize, now: i64, carry: bool) {
        let of_present = refills == self.refills;
        let since = (refills..self.refills).map(|number| self.noted.get(&number).copied());
        let least = since.map(|debt| debt.unwrap_or(0)).min().unwrap_or(0);
        let good = least.min(amount);
        for (_, debt) in self.noted.range_mut(refills..) {
            *debt -= good;
        }
        self.noted.retain(|_, debt| *debt > 0);
        self.pay_owed(good);
        let stays = if of_present || carry { amount } else { good };
        self.expired += if self.is_expired(now) { amount } else { amount - stays };
    }

    /// Returns what the refills of earlier periods did not pay.
    pub(crate) fn owed(&self) -> i128 {
        self.allowance.map_or(0, |allowance| allowance.owed)
    }

    /// Lowers what the refills of earlier periods did not pay.
    pub(crate) fn pay_owed(&mut self, amount: i128) {
        if let Some(allowance) = &mut self.allowance {
            allowance.owed = (allowance.owed - amount).max(0);
        }
    }

    pub(crate) fn is_expired(&self, now: i64) -> bool {
        matches!(self.to, Some(to) if to <= now)
    }

    /// Reports whether an item, or use without one, may take units of it.
    pub(crate) fn is_for(&self, key: Option<&str>) -> bool {
        self.keys.is_empty() || key.is_some_and(|key| self.keys.iter().any(|of| of == key))
    }

    pub(crate) fn is_valid(&self, now: i64) -> bool {
        self.from <= now && !self.is_expired(now)
    }

    /// Returns when the bucket is refilled next.
    pub(crate) fn next_refill(&self) -> Option<i64> {
        let allowance = self.allowance?;
        let behind = allowance.since.max(self.from.saturating_sub(1));
        let start = allowance.zone.next_start(behind);
        let year_6429 = 140_737_488_355_327;
        Some(start).filter(|&start| self.is_valid(start) && start <= year_6429)
    }

    /// Returns the sum of all future refills, to the end of the clock.
    fn to_come(&self) -> i128 {
        let Some(allowance) = self.allowance else { return 0 };
        let year_6429 = 140_737_488_355_327;
        let last = self.to.map_or(year_6429, |to| year_6429.min(to.saturating_sub(1)));
        let behind = allowance.since.max(self.from.saturating_sub(1));
        if last <= behind {
            return 0;
        }
        let periods = allowance.zone.number(last) - allowance.zone.number(behind);
        i128::from(periods) * allowance.amount
    }
}

impl State {
    pub(crate) fn bucket(&mut self, serial: u32) -> Option<&mut Bucket> {
        self.buckets.iter_mut().find(|bucket| bucket.serial == serial)
    }

    pub(crate) fn bucket_named(&self, id: &str) -> Option<&Bucket> {
        self.buckets.iter().find(|bucket| bucket.id == id)
    }

    /// Begins a period of an allowance: the debt is noted, the rest expires, and the amount is credited.
    pub(super) fn refill(&mut self, serial: u32, moment: i64) {
        let mut available = self.available(serial);
        let Some(bucket) = self.bucket(serial) else { return };
        let Some(mut allowance) = bucket.allowance else { return };
        match allowance.debt {
            DebtRule::Net => {}
            DebtRule::Carry => allowance.owed = allowance.owed.max(-available),
            DebtRule::Forgive => {
                let room = i128::from(i64::MAX) - bucket.credited - bucket.refunded;
                let forgiven = (-available).min(room - bucket.to_come()).max(0);
                bucket.credited += forgiven;
                available += forgiven;
            }
        }
        let debt = allowance.owed.max(-available);
        let last = bucket.noted.last_key_value().map_or(0, |(_, debt)| *debt);
        if debt > 0 {
            bucket.noted.insert(bucket.refills, debt);
        } else {
            // From all periods so far the least debt is 0 now.
            bucket.noted.clear();
        }
        bucket.refills += 1;
        // Of more than eight different least debts the one of the oldest periods counts as 0.
        if debt > last
            && let least = bucket.least_debts()
            && least.len() > 8
        {
            let mut with_it = bucket.noted.iter().rev().filter(|(_, debt)| **debt == least[0]);
            let last = with_it.next().map_or(0, |(number, _)| *number);
            bucket.noted.retain(|number, _| *number > last);
        }
        // What the refills of earlier periods did not pay is no part of what is left.
        bucket.expired += (available + allowance.owed - allowance.rollover).max(0);
        bucket.credited += allowance.amount;
        bucket.allowance = Some(Allowance { since: moment, ..allowance });
    }

    /// Returns the sum of all slices on a bucket.
    pub(crate) fn held(&self, serial: u32) -> i128 {
        let items = self.sessions.values().flat_map(|session| &session.items);
        items.flat_map(|item| &item.slices).filter(|slice| slice.0 == serial).map(|s| s.1).sum()
    }

    /// Returns the available amount, which follows from conservation.
    pub(crate) fn available(&self, serial: u32) -> i128 {
        let of = |bucket: &Bucket| {
            bucket.credited + bucket.refunded - bucket.consumed - bucket.expired - bucket.voided
        };
        self.buckets.iter().find(|b| b.serial == serial).map_or(0, of) - self.held(serial)
    }

    /// Returns the cause of a denial when a unit is short: a limit that leaves less than the balance, the balance, or
    /// the lack of any bucket of the unit.
    pub(crate) fn shortage(&self, unit: &str, key: Option<&str>, amount: i128, now: i64) -> Cause {
        if let Some((limit, left)) = self.tightest(unit, key, now)
            && left < self.grantable(unit, key, now)
        {
            let wanted = [(unit.to_string(), key.map(str::to_string), amount)];
            let allowed_at = self.allowed_at(&wanted, now);
            return Cause::Limit { id: name(&limit), allowed_at };
        }
        let usable = |bucket: &&Bucket| bucket.unit == unit && bucket.is_for(key);
        if self.buckets.iter().filter(usable).count() == 0 {
            Cause::NoBucket
        } else {
            Cause::Balance
        }
    }

    /// Returns the valid buckets of a unit that an item may use, in burn order.
    pub(crate) fn burn_order(&self, unit: &str, key: Option<&str>, now: i64) -> Vec<u32> {
        let usable = |b: &Bucket| b.is_valid(now) && b.is_for(key);
        let valid = |serial: &u32| self.buckets.iter().any(|b| b.serial == *serial && usable(b));
        self.all_as_burnt(unit).into_iter().filter(valid).collect()
    }

    /// Returns the buckets of a unit, valid or not, sorted as burn order does.
    pub(crate) fn all_as_burnt(&self, unit: &str) -> Vec<u32> {
        let mut list: Vec<_> = self
            .buckets
            .iter()
            .filter(|b| b.unit == unit)
            .map(|b| (b.priority, b.to.is_none(), b.to, b.created, b.id.as_bytes(), b.serial))
            .collect();
        list.sort();
        list.into_iter().map(|entry| entry.5).collect()
    }

    /// Returns the amounts of a unit that may be granted, bucket by bucket.
    pub(crate) fn rooms(&self, unit: &str, key: Option<&str>, now: i64) -> Vec<(u32, i128)> {
        let room = |serial| {
            let floor = self.buckets.iter().find(|b| b.serial == serial).map_or(0, |b| b.floor);
            (serial, (self.available(serial) - floor).max(0))
        };
        self.burn_order(unit, key, now).into_iter().map(room).collect()
    }

    /// Returns how far a bucket is below its floor.
    pub(crate) fn debt(&self, serial: u32) -> i128 {
        let floor = self.buckets.iter().find(|b| b.serial == serial).map_or(0, |b| b.floor);
        (floor - self.available(serial)).max(0)
    }

    /// Returns what may be granted of a unit as far as its buckets decide (section 8): the rooms of the valid ones, less
    /// what the unit owes.
    pub(crate) fn grantable(&self, unit: &str, key: Option<&str>, now: i64) -> i128 {
        let rooms: i128 = self.rooms(unit, key, now).iter().map(|room| room.1).sum();
        let of_unit = self.buckets.iter().filter(|bucket| bucket.unit == unit);
        let owed: i128 = of_unit.map(|bucket| self.debt(bucket.serial)).sum();
        (rooms - owed).clamp(0, i64::MAX.into())
    }

    /// Returns the valid bucket that pays overrun under OVERDRAW (section 7, step 4).
    pub(crate) fn pays_overrun(&self, unit: &str, key: Option<&str>, now: i64) -> Option<u32> {
        let order = self.burn_order(unit, key, now);
        let refilled = |serial: &u32| {
            self.buckets.iter().any(|b| b.serial == *serial && b.allowance.is_some())
        };
        order.iter().copied().find(refilled).or(order.last().copied())
    }

    /// Spreads a debit: first each bucket down to 0, then each down to its floor. Returns the debits in the order in
    /// which they are made, and the rest that did not fit.
    pub(crate) fn spread(
        &self,
        unit: &str,
        key: Option<&str>,
        amount: i128,
        now: i64,
    ) -> (Vec<(u32, i128)>, i128) {
        let rooms = self.rooms(unit, key, now);
        let above_zero = |serial| self.available(serial).max(0);
        let first = rooms.iter().map(|&(serial, _)| (serial, above_zero(serial)));
        let then = rooms.iter().map(|&(serial, room)| (serial, (room - above_zero(serial)).max(0)));
        take(first.chain(then), amount)
    }

    /// Reports whether the session has a tombstone.
    pub(crate) fn remembers(&self, session: &str, now: i64) -> bool {
        self.tombstones(now).any(|closed| closed.id == session)
    }

    /// Returns the closed sessions that are remembered.
    pub(crate) fn tombstones(&self, now: i64) -> impl Iterator<Item = &Closed> {
        self.closed.iter().filter(move |closed| closed.forget > now)
    }

    /// Reports whether a session is open or has a tombstone.
    pub(crate) fn knows_a_session(&self, now: i64) -> bool {
        !self.sessions.is_empty() || self.tombstones(now).next().is_some()
    }

    /// Remembers a transaction, unless it would be forgotten at once.
    pub(crate) fn remember(&mut self, now: i64, transaction: Transaction) {
        if transaction.forget > now {
            self.transactions.push(transaction);
        }
    }

    /// Returns the transactions that are remembered.
    pub(crate) fn remembered(&self, now: i64) -> impl Iterator<Item = &Transaction> {
        self.transactions.iter().filter(move |transaction| transaction.forget > now)
    }

    /// Checks that every sum fits in 64 bits. For a bucket these are all incoming amounts, and all amounts that went
    /// out or may yet go out.
    pub(crate) fn fits(&self) -> Result<(), Code> {
        let mut sums: Vec<i128> = self.uncollected.values().copied().collect();
        sums.extend(self.counters.values().map(|counter| counter.value));
        for b in &self.buckets {
            sums.push(b.credited + b.refunded + b.to_come());
            // Where refills do not pay a debt, what they bring may expire beside it.
            let carries = b.allowance.is_some_and(|allowance| allowance.debt == DebtRule::Carry);
            let to_expire = if carries { b.to_come() } else { 0 };
            sums.push(b.consumed + b.expired + b.voided + self.held(b.serial) + to_expire);
        }
        for limit in &self.limits {
            sums.push(self.limit_at(limit, self.changed_at).used + self.held_of(limit));
        }
        for item in self.sessions.values().flat_map(|session| &session.items) {
            sums.extend([item.granted, item.used, item.from_hold, item.direct]);
            sums.extend([item.released, item.uncollected]);
        }
        let all = sums.iter().all(|&sum| i64::try_from(sum).is_ok());
        if all { Ok(()) } else { Err(Code::Overflow) }
    }
}

/// Takes `amount` from places with room, in their order. Returns the amount taken from each place, and the rest.
pub(crate) fn take(
    places: impl IntoIterator<Item = (u32, i128)>,
    amount: i128,
) -> (Vec<(u32, i128)>, i128) {
    let mut rest = amount;
    let mut taken = vec![];
    for (serial, room) in places {
        let part = room.min(rest);
        if part > 0 {
            taken.push((serial, part));
            rest -= part;
        }
    }
    (taken, rest)
}
