//! The state of one account: what `apply` changes and `validate` checks.

use crate::{
    Answers, Cycle, DebtRule, Id, ItemKey, Limit, LimitPart, LimitSubject, Name, Overrun,
    SessionTerms, Standing, Time, TombstoneKind, Tombstones, Transactions,
};
use alloc::boxed::Box;
use alloc::vec::Vec;
use smallvec::SmallVec;

impl Time {
    /// Returns the time of a command or a read: the host's clock, clamped to its range and never before the account's
    /// last Change.
    pub fn on(self, account: Option<&Account>) -> Time {
        let clock = self.clamp(Time(0), Time::LAST);
        account.map_or(clock, |account| clock.max(account.changed_at))
    }
}

/// Whether an account may reserve and debit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Status {
    /// The account may reserve and debit.
    Active = 0,
    /// The account may not reserve or debit for now.
    Suspended = 1,
    /// The account may not reserve or debit, for good.
    Closed = 2,
}

impl Status {
    /// Returns the word on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Status::Active => "active",
            Status::Suspended => "suspended",
            Status::Closed => "closed",
        }
    }
}

/// The serial number of a bucket within its account; never used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct BucketNo(pub u16);

/// One prepaid (or postpaid) account: the unit of state, of atomicity and of replication.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// Whether the account may reserve and debit.
    pub status: Status,
    /// Number of Commits so far.
    pub version: u64,
    /// Time of the last Commit. `now` never runs before it.
    pub changed_at: Time,
    /// Attributes such as an MSISDN, by which a host may find the account.
    pub identities: Vec<Identity>,
    /// Buckets in the order of their creation.
    pub buckets: Vec<Bucket>,
    /// The serial number of the next bucket.
    pub next_bucket: u16,
    /// Counters in the order of their creation.
    pub counters: Vec<Counter>,
    /// Keys of the items that some buckets are for; those of one bucket together, in the order given. A bucket without a
    /// key is for all.
    pub bucket_keys: Vec<BucketKey>,
    /// Allowances of the buckets that are refilled, in the order in which they were first set.
    pub allowances: Vec<Allowance>,
    /// Debts that buckets carried from one period into the next; those of one bucket in the order of the periods.
    pub carried: Vec<CarriedDebt>,
    /// Limits in the order of their creation.
    pub limits: Vec<Limit>,
    /// Parts of rolling limits, those of a limit together and the oldest first, in the order of the limits. Kept apart, so
    /// that accounts without a rolling limit weigh nothing for them.
    pub limit_parts: Vec<LimitPart>,
    /// Totals per unit of use that could not be debited; they never shrink.
    pub uncollected: Vec<UnitAmount>,
    /// Sums per unit of what transfers hold (I23). A unit without one is not listed.
    pub in_transit: Vec<UnitAmount>,
    /// Identities that the account has given up and is still found by, in the order in which it gave them up. I24.
    pub former_identities: Vec<FormerIdentity>,
    /// Open sessions in the order of their opening.
    pub sessions: Vec<Session>,
    /// Closed sessions that are still remembered.
    pub tombstones: Tombstones,
    /// Transaction ids that are still remembered.
    pub transactions: Transactions,
    /// Sums of the sessions and records that the host keeps apart and has not loaded; `None` for an account that is
    /// loaded as a whole.
    pub unloaded: Option<Box<UnloadedPart>>,
}

/// Sums of the part of a busy account that its host keeps apart: open sessions, tombstones and transactions that the
/// current command does not name. The host has loaded the named ones, and every session that is due, into
/// [`Account::sessions`], [`Account::tombstones`] and [`Account::transactions`]; of the rest the rules need only these
/// sums.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UnloadedPart {
    /// Number of open sessions.
    pub sessions: usize,
    /// Earliest deadline of these sessions.
    pub first_deadline: Option<Time>,
    /// Sums of the tombstones.
    pub tombstones: UnloadedRecords,
    /// Sums of the transactions.
    pub transactions: UnloadedRecords,
}

/// Sums of remembered records that are kept apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UnloadedRecords {
    /// Number of records.
    pub len: usize,
    /// When the first record is forgotten.
    pub first: Option<Time>,
    /// Number of records that are due to be forgotten at the time of the command.
    pub due: usize,
    /// When the first record that is not yet due is forgotten.
    pub first_not_due: Option<Time>,
    /// When the last record is forgotten.
    pub last: Option<Time>,
    /// Whether a record is among them that no time forgets: the receipt of a transfer.
    pub has_receipt: bool,
}

impl UnloadedRecords {
    /// Removes loaded records from the sums. Takes their forget times and the time of the command.
    pub fn subtract_loaded(&mut self, forget_times: impl Iterator<Item = Time>, now: Time) {
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

impl UnloadedPart {
    /// Forgets the records that are due.
    pub(crate) fn forget(&mut self) {
        self.tombstones.forget();
        self.transactions.forget();
    }

    /// Returns when the first session or record comes due.
    #[inline]
    pub fn next_due(&self) -> Option<Time> {
        let due = [self.first_deadline, self.tombstones.first, self.transactions.first];
        due.into_iter().flatten().min()
    }
}

/// An amount in a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnitAmount {
    /// Unit of the amount.
    pub unit: Name,
    /// Amount in minor units.
    pub amount: i64,
}

/// An attribute of an account (Subscription-Id, RFC 8506 section 8.46).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Kind of the identity, for example `msisdn`.
    pub kind: Name,
    /// Value of the identity, never empty.
    pub value: Id,
}

impl Identity {
    /// Reports whether it has this kind and this value.
    pub fn is(&self, kind: Name, value: &[u8]) -> bool {
        self.kind == kind && self.value.as_bytes() == value
    }
}

/// An identity that the account has given up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormerIdentity {
    /// The identity. The account does not have it. I24.
    pub identity: Identity,
    /// When the account gave it up.
    pub given_up_at: Time,
    /// When it is forgotten, or kept for as long again as it has been kept.
    pub forget_at: Time,
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
    /// Unit of the bucket; it never changes (I4).
    pub unit: Name,
    /// Rank in burn order; the lower value burns first.
    pub priority: i32,
    /// Time of creation: a part of the burn order.
    pub created: Time,
    /// First moment of validity.
    pub valid_from: Time,
    /// First moment after its validity; `None` for no end.
    pub valid_to: Option<Time>,
    /// Minus the credit limit, <= 0. I3: available >= floor - overdrawn.
    pub floor: i64,
    /// Amount whose crossing by `available` is an event.
    pub mark: Option<i64>,
    /// Amount that may be granted or debited. I10: not positive when expired (after a Commit).
    pub available: i64,
    /// Amount set aside for grants. I2: the sum of the open slices on this bucket, >= 0.
    pub held: i64,
    /// Total of first credits, top-ups and positive adjustments.
    pub credited: i64,
    /// Total given back by refunds.
    pub refunded: i64,
    /// Total debited.
    pub consumed: i64,
    /// Total removed when the validity ended.
    pub expired: i64,
    /// Total of negative adjustments.
    pub voided: i64,
    /// Total debited below the floor by overrun; a part of `consumed`.
    pub overdrawn: i64,
    /// Number of the present period of the allowance: how often periods have begun. Slices of other numbers are of ended
    /// periods.
    pub period: u32,
    /// Version that the account got when that period began. Debits of lower versions are of ended periods.
    pub period_since: u64,
}

impl Bucket {
    /// Returns a bucket without a name, for codecs to fill in.
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
            mark: None,
            available: 0,
            held: 0,
            credited: 0,
            refunded: 0,
            consumed: 0,
            expired: 0,
            voided: 0,
            overdrawn: 0,
            period: 0,
            period_since: 0,
        }
    }

    /// Returns the sum of the outgoing and the held amounts, minor units.
    pub(crate) fn outflow(&self) -> i128 {
        [self.consumed, self.expired, self.voided, self.held].into_iter().map(i128::from).sum()
    }

    /// Reports whether less is available than the mark; never without a mark.
    pub fn is_below_mark(&self) -> bool {
        self.mark.is_some_and(|mark| self.available < mark)
    }

    /// Reports whether the validity has ended, so that nothing can be granted, debited or credited any more.
    pub fn is_expired(&self, now: Time) -> bool {
        self.valid_to.is_some_and(|end| end <= now)
    }

    /// Reports whether `now` is in the validity: from its start to just before its end.
    pub fn is_valid(&self, now: Time) -> bool {
        self.valid_from <= now && !self.is_expired(now)
    }
}

/// The key of items that a bucket is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BucketKey {
    /// Serial number of the bucket.
    pub bucket: BucketNo,
    /// Key of the items.
    pub key: ItemKey,
}

/// A recurring credit of one bucket: at the start of each period the rest expires and the bucket is refilled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allowance {
    /// Serial number of the bucket.
    pub bucket: BucketNo,
    /// Period and time zone of the refills; never [`Cycle::NONE`].
    pub cycle: Cycle,
    /// Credit of each period, minor units, at least 1. I18.
    pub amount: i64,
    /// Start of the last period that was refilled, or in which the terms were set. It may be after the last Change: a
    /// clock set back over midnight does not refill a day again. I19.
    pub period_start: Time,
    /// Most units of an ending period that stay available in the next one; at least 0. I18.
    pub rollover: i64,
    /// Effect of a refill on a debt.
    pub debt: DebtRule,
    /// Debt of earlier periods that refills do not pay; at least 0, and 0 unless the rule is [`DebtRule::Carry`]. I18.
    pub owed: i64,
}

impl Allowance {
    /// Reports whether it has more terms than a period and an amount: a rollover, or a debt rule that is not the usual one.
    pub fn has_terms(&self) -> bool {
        self.rollover != 0 || self.debt != DebtRule::Net
    }

    /// Returns how many refills are due by `until`. A period that begins while the bucket is not valid brings none.
    pub fn refills(&self, bucket: &Bucket, until: Time) -> i64 {
        let before = bucket.valid_from.plus_ms(-1);
        self.cycle.begun(self.period_start, before, Allowance::last_moment(bucket, until))
    }

    /// Returns the credit that all future refills will bring within the bucket's validity.
    pub fn still_to_come(&self, bucket: &Bucket) -> i128 {
        i128::from(self.refills(bucket, Time::LAST)) * i128::from(self.amount)
    }

    /// Returns when the bucket is refilled next, seen at `now` with nothing due; `None` if its validity or the clock
    /// ends before.
    pub fn next_refill(&self, bucket: &Bucket, now: Time) -> Option<Time> {
        let before = bucket.valid_from.plus_ms(-1);
        let next = self.cycle.end_after(self.period_start, now.max(before))?;
        Some(next).filter(|&next| !bucket.is_expired(next))
    }

    /// Returns the last moment, at most `until`, at which the bucket is valid.
    pub(crate) fn last_moment(bucket: &Bucket, until: Time) -> Time {
        bucket.valid_to.map_or(until, |end| until.min(end.plus_ms(-1)))
    }
}

/// The least debt of a bucket that was noted since some periods, for units that come back from them. Of one bucket the
/// later entry has the greater amount.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CarriedDebt {
    /// Serial number of the bucket.
    pub bucket: BucketNo,
    /// Number of the first of these periods; the last one is before that of the bucket's next entry.
    pub period: u32,
    /// Version that the account got when the first of these periods began.
    pub since: u64,
    /// Minor units, at least 1.
    pub amount: i64,
}

/// A counter that falls back to 0 when a period begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counter {
    /// Name of the counter within the account.
    pub id: Name,
    /// Unit that the counter counts.
    pub unit: Name,
    /// Period and time zone after which the counter resets to 0.
    pub cycle: Cycle,
    /// Start of the period that `value` belongs to.
    pub period_start: Time,
    /// Value in that period; read it with [`Counter::value_at`].
    pub value: i64,
}

impl Counter {
    /// Returns when the value next becomes 0; `None` if it never does or the clock ends before.
    pub fn resets_at(&self, now: Time) -> Option<Time> {
        self.cycle.end_after(self.period_start, now)
    }

    /// Returns the value at `now`: 0 if a new period has begun.
    pub fn value_at(&self, now: Time) -> i64 {
        if self.cycle.begun_after(self.period_start, now).is_some() { 0 } else { self.value }
    }
}

/// One open charging session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    /// Id, unique in the account among open sessions and tombstones.
    pub id: Id,
    /// Version: 1 when opened, 1 more with each UPDATE.
    pub version: u64,
    /// When it was opened.
    pub opened: Time,
    /// Validity of its grants, ms.
    pub validity_ms: i64,
    /// Supervision time (Tcc), ms.
    pub tcc_ms: i64,
    /// Moment at which Tcc runs out. I9.
    pub deadline: Time,
    /// Options that the RESERVE gave.
    pub terms: SessionTerms,
    /// Rating groups in the order in which they were first listed; those that are loaded, if the host keeps items apart.
    pub items: SmallVec<[Item; 1]>,
    /// Which items are loaded; `None` if all are.
    pub apart: Option<Box<ItemsApart>>,
    /// The window of stored answers.
    pub answers: Answers,
    /// Opaque bytes that the client stored.
    pub blob: Vec<u8>,
}

impl Session {
    /// Returns a session without an id, for codecs to fill in.
    pub fn empty() -> Session {
        Session {
            id: Id::EMPTY,
            version: 0,
            opened: Time(0),
            validity_ms: 0,
            tcc_ms: 0,
            deadline: Time(0),
            terms: SessionTerms { overrun: Overrun::Overdraw, transfer: false },
            items: SmallVec::new(),
            apart: None,
            answers: Answers::default(),
            blob: Vec::new(),
        }
    }

    /// Returns when its last request came: Tcc runs from then on. Of a transfer, when the host last tried a step.
    pub fn active(&self) -> Time {
        self.deadline.plus_ms(-self.tcc_ms)
    }

    /// Returns the number of items, loaded or not.
    #[inline]
    pub fn item_count(&self) -> usize {
        self.apart.as_ref().map_or(self.items.len(), |apart| apart.count)
    }

    /// Returns the position of the item at this index of the loaded ones.
    #[inline]
    pub(crate) fn position_of(&self, index: usize) -> u8 {
        let position = match &self.apart {
            None => u8::try_from(index).ok(),
            Some(apart) => apart.positions.get(index).copied(),
        };
        position.unwrap_or(u8::MAX)
    }

    /// Returns the index among the loaded items of the item at this position.
    #[inline(always)]
    fn index_of(&self, position: u8) -> usize {
        match &self.apart {
            None => usize::from(position),
            Some(apart) => apart.index_of(position),
        }
    }

    /// Returns the loaded item at this position.
    #[inline(always)]
    pub fn item(&self, position: u8) -> Option<&Item> {
        self.items.get(self.index_of(position))
    }

    /// Returns the loaded item at this position, to change it.
    #[inline(always)]
    pub(crate) fn item_mut(&mut self, position: u8) -> Option<&mut Item> {
        let index = self.index_of(position);
        self.items.get_mut(index)
    }

    /// Adds an item after all others.
    pub(crate) fn add_item(&mut self, item: Item) {
        if let Some(apart) = &mut self.apart {
            apart.positions.push(u8::try_from(apart.count).unwrap_or(u8::MAX));
            apart.count += 1;
        }
        self.items.push(item);
    }
}

/// Which items of a session are loaded, if its host keeps items apart: those that the command names, or all where a rule
/// looks at each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ItemsApart {
    /// Number of items of the session, loaded or not.
    pub count: usize,
    /// Positions in the session of the loaded items, in the order of [`Session::items`].
    pub positions: Vec<u8>,
}

impl ItemsApart {
    #[inline(never)]
    fn index_of(&self, position: u8) -> usize {
        let found = self.positions.iter().position(|&loaded| loaded == position);
        debug_assert!(found.is_some(), "the host has loaded each item that a fact names");
        found.unwrap_or(usize::MAX)
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
    /// Slices of the hold, in burn order at the time of the grant.
    pub slices: SmallVec<[Slice; 2]>,
    /// Total granted.
    pub granted: i64,
    /// Total reported as used.
    pub used: i64,
    /// Part of `used` that was settled from slices.
    pub from_hold: i64,
    /// Part of `used` that was debited from `available`.
    pub direct: i64,
    /// Part of `granted` that went back unused.
    pub released: i64,
    /// Part of `used` that was not debited.
    pub uncollected: i64,
    /// Number of the last request that granted units; `None` before the first.
    pub last_grant: Option<u32>,
    /// What its last request for units got.
    pub standing: Standing,
}

impl Item {
    /// Returns an item without a unit, for codecs to fill in.
    pub fn empty() -> Item {
        Item::new(ItemKey::Number(0), Name::EMPTY)
    }

    /// Returns an item that was granted nothing yet.
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
            standing: Standing::Granted,
        }
    }

    /// Returns the hold: the sum of the slices. The sum cannot overflow: each slice is a part of a bucket's `held`, and
    /// `granted`, which bounds the hold, was checked with each grant.
    pub fn outstanding(&self) -> i64 {
        self.slices.iter().map(|slice| slice.amount).sum()
    }
}

/// An item's share in one bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slice {
    /// Serial number of the bucket.
    pub bucket: BucketNo,
    /// Number of the bucket's period from which it was held.
    pub period: u32,
    /// Amount in minor units, at least 1.
    pub amount: i64,
}

impl Account {
    /// Returns an empty account, as CREATE begins it.
    pub fn empty(status: Status) -> Account {
        Account {
            status,
            version: 0,
            changed_at: Time(0),
            identities: Vec::new(),
            buckets: Vec::new(),
            next_bucket: 0,
            counters: Vec::new(),
            bucket_keys: Vec::new(),
            allowances: Vec::new(),
            carried: Vec::new(),
            limits: Vec::new(),
            limit_parts: Vec::new(),
            uncollected: Vec::new(),
            in_transit: Vec::new(),
            former_identities: Vec::new(),
            sessions: Vec::new(),
            tombstones: Tombstones::default(),
            transactions: Transactions::default(),
            unloaded: None,
        }
    }

    /// Returns the number of open sessions, those kept apart included.
    pub fn sessions_open(&self) -> usize {
        self.sessions.len() + self.unloaded.as_ref().map_or(0, |unloaded| unloaded.sessions)
    }

    /// Returns the earliest deadline of the sessions that the host keeps apart.
    pub(crate) fn first_deadline_elsewhere(&self) -> Option<Time> {
        self.unloaded.as_ref().and_then(|unloaded| unloaded.first_deadline)
    }

    /// Returns the number of closed sessions that are remembered, those kept apart included.
    pub fn tombstones_kept(&self) -> usize {
        self.tombstones.len() + self.unloaded.as_ref().map_or(0, |unloaded| unloaded.tombstones.len)
    }

    /// Returns the number of transactions that are remembered, those kept apart included.
    pub fn transactions_kept(&self) -> usize {
        self.transactions.len()
            + self.unloaded.as_ref().map_or(0, |unloaded| unloaded.transactions.len)
    }

    /// Returns when the first tombstone is forgotten.
    pub fn first_tombstone(&self) -> Option<Time> {
        let unloaded = self.unloaded.as_ref().and_then(|unloaded| unloaded.tombstones.first);
        [self.tombstones.next_forget(), unloaded].into_iter().flatten().min()
    }

    /// Returns when the first transaction is forgotten.
    pub fn first_transaction(&self) -> Option<Time> {
        let unloaded = self.unloaded.as_ref().and_then(|unloaded| unloaded.transactions.first);
        [self.transactions.next_forget(), unloaded].into_iter().flatten().min()
    }

    /// Returns the bucket with this name.
    pub fn bucket(&self, id: Name) -> Option<&Bucket> {
        self.buckets.iter().find(|bucket| bucket.id == id)
    }

    /// Returns the bucket with this serial number.
    pub fn bucket_no(&self, no: BucketNo) -> Option<&Bucket> {
        self.buckets.iter().find(|bucket| bucket.no == no)
    }

    /// Returns the keys of the items that a bucket is for; none if it is for all, and for use without an item.
    pub fn keys_of(&self, bucket: BucketNo) -> impl Iterator<Item = ItemKey> {
        self.bucket_keys.iter().filter(move |of| of.bucket == bucket).map(|of| of.key)
    }

    /// Reports whether an item, or use without one, may take units of a bucket.
    #[inline]
    pub fn may_use(&self, bucket: BucketNo, item: Option<ItemKey>) -> bool {
        self.bucket_keys.is_empty() || self.is_for(bucket, item)
    }

    #[inline(never)]
    fn is_for(&self, bucket: BucketNo, item: Option<ItemKey>) -> bool {
        let mut keys = self.keys_of(bucket).peekable();
        keys.peek().is_none() || keys.any(|key| Some(key) == item)
    }

    /// Returns the allowance of this bucket.
    pub fn allowance(&self, bucket: BucketNo) -> Option<&Allowance> {
        self.allowances.iter().find(|allowance| allowance.bucket == bucket)
    }

    /// Returns the open session with this id.
    pub fn session(&self, id: &[u8]) -> Option<&Session> {
        self.sessions.iter().find(|session| session.id.as_bytes() == id)
    }

    /// Reports whether a tombstone tells that this session was open and has ended.
    pub fn has_ended(&self, session: &[u8]) -> bool {
        let tombstone = self.tombstones.find(session);
        tombstone.is_some_and(|tombstone| tombstone.kind != TombstoneKind::Unknown)
    }

    /// Reports whether the account has received a transfer that its payer has not concluded.
    pub(crate) fn keeps_receipts(&self) -> bool {
        let unloaded = self.unloaded.as_ref();
        self.transactions.iter_packed().any(|record| record.is_receipt())
            || unloaded.is_some_and(|unloaded| unloaded.transactions.has_receipt)
    }

    /// Reports whether a transfer of or to the account is under way. The host has loaded every session.
    pub fn has_transfers(&self) -> bool {
        self.sessions.iter().any(|session| session.terms.transfer) || self.keeps_receipts()
    }

    /// Returns the limit with this name.
    pub fn limit(&self, id: Name) -> Option<&Limit> {
        self.limits.iter().find(|limit| limit.id == id)
    }

    /// Returns the held part of a limit of this account: for a limit of sessions, the number of open sessions.
    pub fn held_in(&self, limit: &Limit) -> i64 {
        match limit.counted {
            LimitSubject::Sessions => i64::try_from(self.sessions_open()).unwrap_or(i64::MAX),
            LimitSubject::Units { .. } => limit.held,
        }
    }
}
