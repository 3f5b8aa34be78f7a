//! The state of one account: what `apply` changes and `validate` checks.

use crate::{
    Answers, Counted, Cycle, Id, ItemKey, Limit, Name, Period, Time, TombstoneKind, Tombstones,
    Transactions,
};
use alloc::boxed::Box;
use alloc::vec::Vec;
use smallvec::SmallVec;

impl Time {
    /// The time of a command or a read: the host's clock, within its range and never before the
    /// account's last Change.
    pub fn on(self, account: Option<&Account>) -> Time {
        let clock = self.clamp(Time(0), Time::LAST);
        account.map_or(clock, |account| clock.max(account.changed_at))
    }
}

/// Whether an account may reserve and debit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Status {
    /// Charging may go on.
    Active = 0,
    /// Charging may not go on for now.
    Suspended = 1,
    /// Charging may not go on, for good.
    Closed = 2,
}

impl Status {
    /// The word on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Status::Active => "active",
            Status::Suspended => "suspended",
            Status::Closed => "closed",
        }
    }
}

/// Rules for use beyond what could be debited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Overrun {
    /// Overrun falls on the last valid bucket in burn order, below its floor.
    Overdraw = 0,
    /// Overrun is recorded as uncollected.
    Clamp = 1,
}

impl Overrun {
    /// The word on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Overrun::Overdraw => "overdraw",
            Overrun::Clamp => "clamp",
        }
    }
}

/// The serial number of a bucket within its account; never used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct BucketNo(pub u16);

/// One prepaid (or postpaid) account: the unit of state, of atomicity and of replication.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// Whether it may reserve and debit.
    pub status: Status,
    /// Commits so far.
    pub version: u64,
    /// Time of the last Commit. `now` never runs before it.
    pub changed_at: Time,
    /// Attributes such as an MSISDN, by which a host may find the account.
    pub identities: Vec<Identity>,
    /// In the order of their creation.
    pub buckets: Vec<Bucket>,
    /// The serial number of the next bucket.
    pub next_bucket: u16,
    /// In the order of their creation.
    pub counters: Vec<Counter>,
    /// Of the buckets that are refilled, in the order in which that was said.
    pub allowances: Vec<Allowance>,
    /// In the order of their creation.
    pub limits: Vec<Limit>,
    /// Monotone totals per unit of use that could not be debited.
    pub uncollected: Vec<UnitAmount>,
    /// Open sessions in the order of their opening.
    pub sessions: Vec<Session>,
    /// Closed sessions that are still remembered.
    pub tombstones: Tombstones,
    /// Transaction ids that are still remembered.
    pub transactions: Transactions,
    /// Sums of what the host keeps apart and has not brought in; none for an account that is here as a
    /// whole.
    pub elsewhere: Option<Box<Elsewhere>>,
}

/// The part of a busy account that its host keeps apart: open sessions, tombstones and transactions
/// that the command at hand does not name. What the command names, and every session that is due, has
/// been brought into [`Account::sessions`] and beside; of the rest the rules need only these sums.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Elsewhere {
    /// Open sessions: how many.
    pub sessions: usize,
    /// The first deadline of them.
    pub first_deadline: Option<Time>,
    /// Tombstones.
    pub tombstones: RecordsElsewhere,
    /// Transactions.
    pub transactions: RecordsElsewhere,
}

/// Sums of remembered records that are kept apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordsElsewhere {
    /// How many.
    pub len: usize,
    /// When the first is forgotten.
    pub first: Option<Time>,
    /// How many of them are due to be forgotten at the time of the command.
    pub due: usize,
    /// When the first of the others is forgotten.
    pub first_not_due: Option<Time>,
}

impl RecordsElsewhere {
    /// Leaves out records that are brought in: their forget times, and the time of the command.
    pub fn leave_out(&mut self, forget_times: impl Iterator<Item = Time>, now: Time) {
        for forget_at in forget_times {
            self.len -= 1;
            self.due -= usize::from(forget_at <= now);
        }
    }

    fn forget(&mut self) {
        self.len -= self.due;
        (self.first, self.due) = (self.first_not_due, 0);
    }
}

impl Elsewhere {
    /// Forgets what is due.
    pub(crate) fn forget(&mut self) {
        self.tombstones.forget();
        self.transactions.forget();
    }

    /// When something of it comes due first.
    #[inline]
    pub fn next_due(&self) -> Option<Time> {
        let due = [self.first_deadline, self.tombstones.first, self.transactions.first];
        due.into_iter().flatten().min()
    }
}

/// An amount of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnitAmount {
    /// Unit.
    pub unit: Name,
    /// Minor units.
    pub amount: i64,
}

/// An attribute of an account (Subscription-Id, RFC 8506 section 8.46).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// For example `msisdn`.
    pub kind: Name,
    /// Never empty.
    pub value: Id,
}

/// A balance in one unit. All amounts are in its minor units.
///
/// I1: available + held = credited + refunded - consumed - expired - voided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bucket {
    /// Serial number that slices refer to.
    pub no: BucketNo,
    /// Name of the bucket within the account.
    pub id: Name,
    /// Unit of the bucket, for life (I4).
    pub unit: Name,
    /// Lower burns first.
    pub priority: i32,
    /// Time of creation: a part of the burn order.
    pub created: Time,
    /// First moment of validity.
    pub valid_from: Time,
    /// First moment after its validity; none for no end.
    pub valid_to: Option<Time>,
    /// Minus the credit limit, <= 0. I3: available >= floor - overdrawn.
    pub floor: i64,
    /// May be granted or debited. I10: not positive when expired (after a Commit).
    pub available: i64,
    /// Set aside for grants. I2: the sum of the open slices on it, >= 0.
    pub held: i64,
    /// Total of first credits, top-ups and positive adjustments.
    pub credited: i64,
    /// Total given back by refunds.
    pub refunded: i64,
    /// Total debited.
    pub consumed: i64,
    /// Total that the end of validity took.
    pub expired: i64,
    /// Total of negative adjustments.
    pub voided: i64,
    /// Total debited below the floor by overrun; a part of `consumed`.
    pub overdrawn: i64,
}

impl Bucket {
    /// A bucket without a name, for codecs to fill in.
    pub fn empty() -> Bucket {
        Bucket {
            no: BucketNo(0),
            id: Name::EMPTY,
            unit: Name::EMPTY,
            priority: 0,
            created: Time(0),
            valid_from: Time(0),
            valid_to: None,
            floor: 0,
            available: 0,
            held: 0,
            credited: 0,
            refunded: 0,
            consumed: 0,
            expired: 0,
            voided: 0,
            overdrawn: 0,
        }
    }

    /// True when nothing can be granted, debited or credited any more.
    pub fn is_expired(&self, now: Time) -> bool {
        self.valid_to.is_some_and(|end| end <= now)
    }

    /// True from the start of its validity to before its end.
    pub fn is_valid(&self, now: Time) -> bool {
        self.valid_from <= now && !self.is_expired(now)
    }
}

/// A recurring credit of one bucket: at the start of each period what is left expires, and the bucket
/// is refilled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allowance {
    /// The bucket.
    pub bucket: BucketNo,
    /// When a period begins; never [`Period::None`].
    pub cycle: Cycle,
    /// Credit of each period, minor units, at least 1. I18.
    pub amount: i64,
    /// Start of the last period that was refilled, or in which the terms were set. I19.
    pub period_start: Time,
}

impl Allowance {
    /// How many refills are due by `until`: a period that begins while the bucket is not valid brings none.
    pub fn refills(&self, bucket: &Bucket, until: Time) -> i64 {
        self.cycle.begun(self.refilled_until(bucket), Allowance::last_moment(bucket, until))
    }

    /// The credit that all refills of all time, as far as the bucket is valid, will still bring.
    pub fn still_to_come(&self, bucket: &Bucket) -> i128 {
        i128::from(self.refills(bucket, Time::LAST)) * i128::from(self.amount)
    }

    /// When the bucket is refilled next, as seen at `now`, when nothing is due; none where its validity
    /// or the clock ends before.
    pub fn next_refill(&self, bucket: &Bucket, now: Time) -> Option<Time> {
        let next = self.cycle.end(now.max(self.refilled_until(bucket)))?;
        Some(next).filter(|&next| !bucket.is_expired(next))
    }

    /// A moment behind which each period that begins brings a refill.
    fn refilled_until(&self, bucket: &Bucket) -> Time {
        self.period_start.max(bucket.valid_from.plus_ms(-1))
    }

    /// The last moment until `until` at which the bucket is valid.
    pub(crate) fn last_moment(bucket: &Bucket, until: Time) -> Time {
        bucket.valid_to.map_or(until, |end| until.min(end.plus_ms(-1)))
    }
}

/// A counter that falls back to 0 when a period of UTC begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counter {
    /// Name of the counter within the account.
    pub id: Name,
    /// Unit that the counter counts.
    pub unit: Name,
    /// When it falls back.
    pub period: Period,
    /// Start of the period that `value` belongs to.
    pub period_start: Time,
    /// The value in that period; read it with [`Counter::value_at`].
    pub value: i64,
}

impl Counter {
    /// The value as read at `now`: 0 when a new period has begun.
    pub fn value_at(&self, now: Time) -> i64 {
        if self.period.start(now) > self.period_start { 0 } else { self.value }
    }
}

/// One open charging session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    /// Unique in the account among open sessions and tombstones.
    pub id: Id,
    /// 1 when opened, one more with each UPDATE.
    pub version: u64,
    /// Validity of its grants, ms.
    pub validity_ms: i64,
    /// Supervision time, ms.
    pub tcc_ms: i64,
    /// When Tcc runs out. I9.
    pub deadline: Time,
    /// Rule for use beyond what could be debited.
    pub overrun: Overrun,
    /// Rating groups in the order in which they were first listed.
    pub items: SmallVec<[Item; 1]>,
    /// The window of stored answers.
    pub answers: Answers,
    /// Opaque bytes of the caller.
    pub blob: Vec<u8>,
}

impl Session {
    /// A session without id, for codecs to fill in.
    pub fn empty() -> Session {
        Session {
            id: Id::EMPTY,
            version: 0,
            validity_ms: 0,
            tcc_ms: 0,
            deadline: Time(0),
            overrun: Overrun::Overdraw,
            items: SmallVec::new(),
            answers: Answers::default(),
            blob: Vec::new(),
        }
    }
}

/// One rating group of a session (MSCC). Amounts are totals over the session's life.
///
/// I5: granted = from_hold + released + outstanding. I6: used = from_hold + direct + uncollected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// Name of the item in its session, with its unit.
    pub key: ItemKey,
    /// Unit of all its amounts.
    pub unit: Name,
    /// The hold, in burn order at the time of the grant.
    pub slices: SmallVec<[Slice; 2]>,
    /// Handed out.
    pub granted: i64,
    /// Reported.
    pub used: i64,
    /// Used, and settled from slices.
    pub from_hold: i64,
    /// Used, and debited from available.
    pub direct: i64,
    /// Handed out, and gone back.
    pub released: i64,
    /// Used, and not debited.
    pub uncollected: i64,
    /// The request number of the last request that granted.
    pub last_grant: Option<u32>,
}

impl Item {
    /// An item without a unit, for codecs to fill in.
    pub fn empty() -> Item {
        Item::new(ItemKey::Number(0), Name::EMPTY)
    }

    /// An item that was granted nothing.
    pub(crate) fn new(key: ItemKey, unit: Name) -> Item {
        Item {
            key,
            unit,
            slices: SmallVec::new(),
            granted: 0,
            used: 0,
            from_hold: 0,
            direct: 0,
            released: 0,
            uncollected: 0,
            last_grant: None,
        }
    }

    /// The hold: the sum of the slices. Each slice is a part of a bucket's `held`, so the sum of
    /// all that an item can hold was checked when it was granted (`granted` bounds it).
    pub fn outstanding(&self) -> i64 {
        self.slices.iter().map(|slice| slice.amount).sum()
    }
}

/// An item's share in one bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slice {
    /// The bucket.
    pub bucket: BucketNo,
    /// Minor units, at least 1.
    pub amount: i64,
}

impl Account {
    /// An account without anything, as CREATE begins it.
    pub fn empty(status: Status) -> Account {
        Account {
            status,
            version: 0,
            changed_at: Time(0),
            identities: Vec::new(),
            buckets: Vec::new(),
            next_bucket: 0,
            counters: Vec::new(),
            allowances: Vec::new(),
            limits: Vec::new(),
            uncollected: Vec::new(),
            sessions: Vec::new(),
            tombstones: Tombstones::default(),
            transactions: Transactions::default(),
            elsewhere: None,
        }
    }

    /// How many sessions are open.
    pub fn sessions_open(&self) -> usize {
        self.sessions.len() + self.elsewhere.as_ref().map_or(0, |elsewhere| elsewhere.sessions)
    }

    /// The first deadline of the sessions that are kept apart.
    pub(crate) fn first_deadline_elsewhere(&self) -> Option<Time> {
        self.elsewhere.as_ref().and_then(|elsewhere| elsewhere.first_deadline)
    }

    /// How many closed sessions are remembered.
    pub fn tombstones_kept(&self) -> usize {
        self.tombstones.len()
            + self.elsewhere.as_ref().map_or(0, |elsewhere| elsewhere.tombstones.len)
    }

    /// How many transactions are remembered.
    pub fn transactions_kept(&self) -> usize {
        self.transactions.len()
            + self.elsewhere.as_ref().map_or(0, |elsewhere| elsewhere.transactions.len)
    }

    /// When the first tombstone is forgotten.
    pub fn first_tombstone(&self) -> Option<Time> {
        let elsewhere = self.elsewhere.as_ref().and_then(|elsewhere| elsewhere.tombstones.first);
        [self.tombstones.next_forget(), elsewhere].into_iter().flatten().min()
    }

    /// When the first transaction is forgotten.
    pub fn first_transaction(&self) -> Option<Time> {
        let elsewhere = self.elsewhere.as_ref().and_then(|elsewhere| elsewhere.transactions.first);
        [self.transactions.next_forget(), elsewhere].into_iter().flatten().min()
    }

    /// The bucket with this name.
    pub fn bucket(&self, id: Name) -> Option<&Bucket> {
        self.buckets.iter().find(|bucket| bucket.id == id)
    }

    /// The bucket with this serial number.
    pub fn bucket_no(&self, no: BucketNo) -> Option<&Bucket> {
        self.buckets.iter().find(|bucket| bucket.no == no)
    }

    /// The allowance of this bucket.
    pub fn allowance(&self, bucket: BucketNo) -> Option<&Allowance> {
        self.allowances.iter().find(|allowance| allowance.bucket == bucket)
    }

    /// The open session with this id.
    pub fn session(&self, id: &[u8]) -> Option<&Session> {
        self.sessions.iter().find(|session| session.id.as_bytes() == id)
    }

    /// True for a session that is remembered as one that was open.
    pub fn has_ended(&self, session: &[u8]) -> bool {
        let tombstone = self.tombstones.find(session);
        tombstone.is_some_and(|tombstone| tombstone.kind != TombstoneKind::Unknown)
    }

    /// The limit with this name.
    pub fn limit(&self, id: Name) -> Option<&Limit> {
        self.limits.iter().find(|limit| limit.id == id)
    }

    /// The part that is held of a limit of this account: of sessions, those that are open.
    pub fn held_in(&self, limit: &Limit) -> i64 {
        match limit.counted {
            Counted::Sessions => i64::try_from(self.sessions_open()).unwrap_or(i64::MAX),
            Counted::Units { .. } => limit.held,
        }
    }

    /// The rest of a limit of this account at `now`.
    pub fn left_in(&self, limit: &Limit, now: Time) -> i64 {
        limit.at(now).left(self.held_in(limit))
    }
}
