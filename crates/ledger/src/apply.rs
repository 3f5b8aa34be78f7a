//! Applies a Change. This cannot fail: `decide` checked every sum before it made the Change. An op that names a missing
//! object belongs to a Change for another state. That is a broken invariant, which debug assertions here and `validate`
//! in every host's tests find.

use crate::carried::Taken;
use crate::{
    Account, Bucket, BucketKey, BucketKeys, BucketNo, BucketTerms, Change, Counter, FormerIdentity,
    Id, Identity, Item, ItemAt, LimitAt, Name, Op, Posting, Session, SessionAt, Slice, Standing,
    Time, UnitAmount,
};
use alloc::vec::Vec;
use smallvec::SmallVec;

/// Applies a Change to the state it was decided on.
pub fn apply(account: &mut Option<Account>, change: &Change) {
    let mut named = NamedSessions::default();
    for op in &change.ops {
        apply_op(account, &mut named, op, change.at);
    }
    seal(account, change.at);
}

/// Sessions that the facts of one Change have named so far, by number.
#[derive(Clone, Debug)]
pub struct NamedSessions {
    /// Position of session number 0 in [`Account::sessions`]. Kept apart from the others because few Changes name a
    /// second session.
    first: usize,
    /// Numbers and positions of the other named sessions that are still open.
    others: Vec<(u32, usize)>,
    /// Number of the next session to be named.
    next: u32,
}

impl Default for NamedSessions {
    fn default() -> NamedSessions {
        NamedSessions { first: NamedSessions::GONE, others: Vec::new(), next: 0 }
    }
}

impl NamedSessions {
    const GONE: usize = usize::MAX;

    /// Removes all names: another Change begins.
    pub fn clear(&mut self) {
        self.others.clear();
        (self.first, self.next) = (NamedSessions::GONE, 0);
    }

    /// Gives the session at this position the next number.
    pub(crate) fn add(&mut self, place: usize) -> SessionAt {
        if self.next == 0 {
            self.first = place;
        } else {
            self.others.push((self.next, place));
        }
        self.next += 1;
        self.last()
    }

    /// Returns the number that was given last.
    pub(crate) fn last(&self) -> SessionAt {
        SessionAt(self.next.wrapping_sub(1))
    }

    /// Withdraws the number that was given last.
    pub(crate) fn pop(&mut self) {
        self.next = self.next.wrapping_sub(1);
        if self.next == 0 {
            self.first = NamedSessions::GONE;
        } else {
            self.others.pop();
        }
    }

    /// Returns the position of the session in [`Account::sessions`].
    #[inline(always)]
    pub(crate) fn place(&self, at: SessionAt) -> usize {
        if at.0 == 0 { self.first } else { self.place_of_another(at) }
    }

    #[cold]
    fn place_of_another(&self, at: SessionAt) -> usize {
        let found = self.others.iter().find(|(number, _)| *number == at.0);
        found.map_or(NamedSessions::GONE, |(_, place)| *place)
    }

    fn close(&mut self, closed: usize) {
        if self.first == closed {
            self.first = NamedSessions::GONE;
        } else if self.first != NamedSessions::GONE {
            self.first -= usize::from(self.first > closed);
        }
        self.others.retain(|(_, place)| *place != closed);
        for (_, place) in &mut self.others {
            *place -= usize::from(*place > closed);
        }
    }
}

/// Ends a Commit: adds 1 to the version and sets `changed_at`.
#[inline]
pub fn seal(account: &mut Option<Account>, at: Time) {
    if let Some(account) = account {
        account.version += 1;
        account.changed_at = at;
    }
}

/// Applies one fact of a Change made at `at`; call [`seal`] after the last one. For callers that read facts one by one
/// instead of calling [`apply`]. `named` must be empty when a Change begins.
#[inline(always)]
pub fn apply_op(account: &mut Option<Account>, named: &mut NamedSessions, op: &Op, at: Time) {
    match op {
        Op::Create(status) => {
            debug_assert!(account.is_none());
            *account = Some(Account::empty(*status));
        }
        Op::Delete => *account = None,
        _ => {
            debug_assert!(account.is_some());
            if let Some(account) = account {
                account.apply_op(named, op, at);
            }
        }
    }
}

impl Account {
    #[inline(always)]
    fn apply_op(&mut self, named: &mut NamedSessions, op: &Op, at: Time) {
        match op {
            Op::Create(_) | Op::Delete => {}
            Op::SetStatus(status) => self.status = *status,
            Op::SetIdentity { kind, value } => {
                // An identity that is set again moves to the end of the order.
                self.identities.retain(|identity| identity.kind != *kind);
                if !value.as_bytes().is_empty() {
                    self.identities.push(Identity { kind: *kind, value: value.clone() });
                }
            }
            Op::KeepIdentity { kind, value, forget_at } => {
                self.keep_identity(*kind, value, at, *forget_at);
            }
            Op::ForgetIdentity { kind, value } => self.forget_identity(*kind, value),
            Op::AddBucket { id, unit, terms } => self.add_bucket(*id, *unit, terms, at),
            Op::SetBucket { bucket, terms } => self.with_bucket(*bucket, |bucket| {
                bucket.priority = terms.priority;
                bucket.valid_from = terms.valid_from;
                bucket.valid_to = terms.valid_to;
                bucket.floor = terms.floor;
                bucket.mark = terms.mark;
            }),
            Op::RemoveBucket { bucket: no, .. } => {
                self.buckets.retain(|bucket| bucket.no != *no);
                self.bucket_keys.retain(|key| key.bucket != *no);
                self.allowances.retain(|allowance| allowance.bucket != *no);
                self.carried.retain(|debt| debt.bucket != *no);
            }
            Op::Credit(posting) => self.post(posting, |bucket, amount| {
                bucket.available += amount;
                bucket.credited += amount;
            }),
            Op::Void(posting) => self.post(posting, |bucket, amount| {
                bucket.available -= amount;
                bucket.voided += amount;
            }),
            Op::Refund(posting) => self.post(posting, |bucket, amount| {
                bucket.available += amount;
                bucket.refunded += amount;
            }),
            Op::RefundExpired(posting) => self.post(posting, |bucket, amount| {
                bucket.expired += amount;
                bucket.refunded += amount;
            }),
            Op::Debit(posting) => self.post(posting, |bucket, amount| {
                bucket.available -= amount;
                bucket.consumed += amount;
            }),
            Op::Overdraw(posting) => self.post(posting, |bucket, amount| {
                bucket.available -= amount;
                bucket.consumed += amount;
                bucket.overdrawn += amount;
            }),
            Op::Expire(posting) => self.post(posting, |bucket, amount| {
                bucket.available -= amount;
                bucket.expired += amount;
            }),
            Op::SetAllowance(allowance) => {
                match self.allowances.iter_mut().find(|known| known.bucket == allowance.bucket) {
                    Some(found) => *found = *allowance,
                    None => self.allowances.push(*allowance),
                }
            }
            Op::SetBucketKeys(set) => {
                let BucketKeys { bucket, ref keys } = **set;
                self.bucket_keys.retain(|known| known.bucket != bucket);
                self.bucket_keys.extend(keys.iter().map(|&key| BucketKey { bucket, key }));
            }
            Op::EndAllowance(no) => self.allowances.retain(|allowance| allowance.bucket != *no),
            Op::BeginPeriod { bucket, period_start, carried } => {
                // The version that the account gets by this Change.
                let version = self.version + 1;
                self.note_debt(*bucket, *carried);
                self.with_bucket(*bucket, |bucket| {
                    bucket.period += 1;
                    bucket.period_since = version;
                });
                let found = self.allowances.iter_mut().find(|known| known.bucket == *bucket);
                debug_assert!(found.is_some());
                if let Some(allowance) = found {
                    allowance.period_start = *period_start;
                }
            }
            Op::SetCounter { id, unit, cycle, period_start, value } => {
                let counter = Counter {
                    id: *id,
                    unit: *unit,
                    cycle: *cycle,
                    period_start: *period_start,
                    value: *value,
                };
                match self.counters.iter_mut().find(|counter| counter.id == *id) {
                    Some(found) => *found = counter,
                    None => self.counters.push(counter),
                }
            }
            Op::NameSession(id) => {
                let place = self.sessions.iter().position(|session| session.id == *id);
                debug_assert!(place.is_some());
                named.add(place.unwrap_or(usize::MAX));
            }
            Op::OpenSession { id, terms } => {
                named.add(self.sessions.len());
                self.sessions.push(Session {
                    id: id.clone(),
                    version: 0,
                    opened: at,
                    validity_ms: 0,
                    tcc_ms: 0,
                    deadline: at,
                    terms: *terms,
                    items: SmallVec::new(),
                    apart: None,
                    answers: Default::default(),
                    blob: Default::default(),
                });
            }
            Op::AddItem { session, key, unit } => self.with_session(named, *session, |session| {
                session.add_item(Item::new(*key, *unit));
            }),
            Op::Hold(at, posting) => {
                let Posting { bucket, amount } = *posting;
                let mut period = 0;
                self.post(posting, |bucket, amount| {
                    bucket.available -= amount;
                    bucket.held += amount;
                    period = bucket.period;
                });
                self.with_item(named, *at, |item| {
                    item.slices.push(Slice { bucket, period, amount });
                });
                self.count_held(named, *at, posting.amount);
            }
            Op::Grant { at, amount, request } => self.with_item(named, *at, |item| {
                item.granted += amount;
                item.last_grant = Some(*request);
                item.standing = Standing::Granted;
            }),
            Op::FallShort(at, standing) => {
                self.with_item(named, *at, |item| item.standing = *standing);
            }
            Op::Settle(at, posting) => {
                self.post(posting, |bucket, amount| {
                    bucket.held -= amount;
                    bucket.consumed += amount;
                });
                self.with_item(named, *at, |item| {
                    item.take_from_slice(posting);
                    item.from_hold += posting.amount;
                });
                self.count_held(named, *at, -posting.amount);
            }
            Op::Release(at, posting) => {
                let period = self.release_of(named, *at, posting);
                self.post(posting, |bucket, amount| {
                    bucket.held -= amount;
                    bucket.available += amount;
                });
                self.note_return(posting, Taken::In(period));
                self.count_held(named, *at, -posting.amount);
            }
            Op::ReleaseExpired(at, posting) => {
                let period = self.release_of(named, *at, posting);
                self.post(posting, |bucket, amount| {
                    bucket.held -= amount;
                    bucket.expired += amount;
                });
                self.note_return(posting, Taken::In(period));
                self.count_held(named, *at, -posting.amount);
            }
            Op::Use { at, used, direct, uncollected } => {
                let mut unit = None;
                self.with_item(named, *at, |item| {
                    item.used += used;
                    item.direct += direct;
                    item.uncollected += uncollected;
                    unit = Some(item.unit);
                });
                if let (Some(unit), true) = (unit, *uncollected != 0) {
                    self.add_uncollected(unit, *uncollected);
                }
            }
            Op::Supervise { session, validity_ms, tcc_ms, deadline } => {
                self.with_session(named, *session, |session| {
                    session.version += 1;
                    session.validity_ms = *validity_ms;
                    session.tcc_ms = *tcc_ms;
                    session.deadline = *deadline;
                });
            }
            Op::SetBlob(session, blob) => self.with_session(named, *session, |session| {
                session.blob.clear();
                session.blob.extend_from_slice(blob);
            }),
            Op::StoreAnswer { session, answer, answers_max } => {
                self.with_session(named, *session, |session| {
                    session.answers.store(answer, usize::from(*answers_max));
                });
            }
            Op::CloseSession(session) => {
                let place = named.place(*session);
                debug_assert!(
                    self.sessions[place].items.iter().all(|item| item.slices.is_empty()),
                    "a closed session holds nothing (I14)"
                );
                if place < self.sessions.len() {
                    self.sessions.remove(place);
                    // The sessions after the closed one move down by one position.
                    named.close(place);
                }
            }
            Op::StoreTombstone(tombstone) => self.tombstones.insert(tombstone),
            Op::Remember(transaction) => self.transactions.insert(transaction),
            Op::LateUse { unit, uncollected, .. } => {
                if *uncollected != 0 {
                    self.add_uncollected(*unit, *uncollected);
                }
            }
            Op::NoteLate(late) => self.tombstones.note_late(late),
            Op::Transit(change) => self.add_in_transit(change),
            Op::ForgetReceipt(id) => self.transactions.remove(id.as_bytes()),
            // For readers of the log.
            Op::CrossMark { .. }
            | Op::NameItem { .. }
            | Op::NameKey(_)
            | Op::NameBlob(..)
            | Op::NameIdentities(_)
            | Op::Deny(_) => {}
            Op::NoteRefund { debit, item, posting } => {
                self.transactions.refund(debit.as_bytes(), *item, posting);
                if !self.carried.is_empty()
                    && let Some(debited) = self.transactions.find(debit.as_bytes())
                {
                    self.note_return(posting, Taken::By(debited.version));
                }
            }
            Op::Forget => {
                self.tombstones.forget(at);
                self.transactions.forget(at);
                // The records that the host keeps apart are forgotten at the same moment.
                if let Some(unloaded) = &mut self.unloaded {
                    unloaded.forget();
                }
            }
            Op::SetLimit(limit) => self.set_limit(limit),
            Op::RemoveLimit(id) => self.remove_limit(*id),
            Op::BeginLimitPeriod { limit, start } => {
                if let Some(place) = self.place_of_limit(*limit) {
                    self.begin_limit(place, *start);
                }
            }
            Op::CountUse { limit, used, overrun } => {
                if let Some(place) = self.place_of_limit(*limit) {
                    self.count_in_limit(place, *used, *overrun);
                }
            }
            Op::UncountUse { limit, part, amount } => {
                if let Some(place) = self.place_of_limit(*limit) {
                    self.uncount_in_limit(place, *part, *amount);
                }
            }
            Op::ReachThreshold { limit: id, percent, .. } => {
                let found = self.limits.iter_mut().find(|limit| limit.id == *id);
                debug_assert!(found.is_some());
                if let Some(limit) = found {
                    limit.told = *percent;
                }
            }
        }
    }

    /// Adjusts `held` of each limit that counts the item by the change of its hold. Few accounts have limits.
    #[inline(always)]
    fn count_held(&mut self, named: &NamedSessions, at: ItemAt, amount: i64) {
        if !self.limits.is_empty() {
            self.count_held_in_limits(named, at, amount);
        }
    }

    #[inline(never)]
    fn count_held_in_limits(&mut self, named: &NamedSessions, at: ItemAt, amount: i64) {
        let session = self.sessions.get(named.place(at.session));
        let item = session.and_then(|session| session.item(at.item));
        debug_assert!(item.is_some());
        for limit in &mut self.limits {
            if item.is_some_and(|item| limit.counted.has(item.unit, Some(item.key))) {
                limit.held += amount;
            }
        }
    }

    fn place_of_limit(&self, at: LimitAt) -> Option<usize> {
        let place = usize::from(at.0);
        debug_assert!(place < self.limits.len());
        Some(place).filter(|&place| place < self.limits.len())
    }

    /// Releases units of an item. Returns the number of the period from which they were held.
    #[inline(always)]
    fn release_of(&mut self, named: &NamedSessions, at: ItemAt, posting: &Posting) -> u32 {
        let mut period = 0;
        self.with_item(named, at, |item| period = item.release(posting));
        period
    }

    /// Notes that units came back to a bucket. Few accounts carry a debt.
    #[inline(always)]
    fn note_return(&mut self, posting: &Posting, taken: Taken) {
        if !self.carried.is_empty()
            && self.bucket_no(posting.bucket).is_some_and(|bucket| !taken.in_present(bucket))
        {
            self.lower_debts(posting.bucket, taken, posting.amount);
        }
    }

    fn add_bucket(&mut self, id: Name, unit: Name, terms: &BucketTerms, at: Time) {
        self.buckets.push(Bucket {
            no: BucketNo(self.next_bucket),
            id,
            unit,
            priority: terms.priority,
            created: at,
            valid_from: terms.valid_from,
            valid_to: terms.valid_to,
            floor: terms.floor,
            mark: terms.mark,
            ..Bucket::empty()
        });
        self.next_bucket += 1;
    }

    fn add_uncollected(&mut self, unit: Name, amount: i64) {
        match self.uncollected.iter_mut().find(|total| total.unit == unit) {
            Some(total) => total.amount += amount,
            None => self.uncollected.push(UnitAmount { unit, amount }),
        }
    }

    #[cold]
    fn add_in_transit(&mut self, change: &UnitAmount) {
        match self.in_transit.iter_mut().find(|sum| sum.unit == change.unit) {
            Some(sum) => sum.amount += change.amount,
            None => self.in_transit.push(*change),
        }
        self.in_transit.retain(|sum| sum.amount != 0);
    }

    /// Sets until when a former identity is kept; one that the account does not keep yet was given up `at` this time.
    #[cold]
    fn keep_identity(&mut self, kind: Name, value: &Id, at: Time, forget_at: Time) {
        let mut known = self.former_identities.iter_mut();
        match known.find(|one| one.identity.is(kind, value.as_bytes())) {
            Some(known) => known.forget_at = forget_at,
            None => {
                let identity = Identity { kind, value: value.clone() };
                let former = FormerIdentity { identity, given_up_at: at, forget_at };
                self.former_identities.push(former);
            }
        }
    }

    /// Forgets a former identity.
    #[cold]
    fn forget_identity(&mut self, kind: Name, value: &Id) {
        self.former_identities.retain(|one| !one.identity.is(kind, value.as_bytes()));
    }

    #[inline]
    fn with_bucket(&mut self, no: BucketNo, change: impl FnOnce(&mut Bucket)) {
        let found = self.buckets.iter_mut().find(|bucket| bucket.no == no);
        debug_assert!(found.is_some());
        if let Some(bucket) = found {
            change(bucket);
        }
    }

    #[inline]
    fn post(&mut self, posting: &Posting, change: impl FnOnce(&mut Bucket, i64)) {
        debug_assert!(posting.amount > 0);
        self.with_bucket(posting.bucket, |bucket| change(bucket, posting.amount));
    }

    #[inline(always)]
    fn with_session(
        &mut self,
        named: &NamedSessions,
        at: SessionAt,
        change: impl FnOnce(&mut Session),
    ) {
        let found = self.sessions.get_mut(named.place(at));
        debug_assert!(found.is_some());
        if let Some(session) = found {
            change(session);
        }
    }

    #[inline(always)]
    fn with_item(&mut self, named: &NamedSessions, at: ItemAt, change: impl FnOnce(&mut Item)) {
        self.with_session(named, at.session, |session| {
            let found = session.item_mut(at.item);
            debug_assert!(found.is_some());
            if let Some(item) = found {
                change(item);
            }
        });
    }
}

impl Item {
    /// Releases units of a slice. Returns the number of the period from which they were held.
    fn release(&mut self, posting: &Posting) -> u32 {
        self.released += posting.amount;
        self.take_from_slice(posting)
    }

    /// Takes units from a slice. Returns the number of the period from which they were held.
    fn take_from_slice(&mut self, posting: &Posting) -> u32 {
        let mut slices = self.slices.iter_mut().enumerate();
        let found = slices.find(|(_, slice)| slice.bucket == posting.bucket);
        debug_assert!(found.is_some());
        let mut period = 0;
        if let Some((index, slice)) = found {
            debug_assert!(slice.amount >= posting.amount);
            period = slice.period;
            slice.amount -= posting.amount;
            if slice.amount == 0 {
                // Most often it is the last slice, and `pop` needs no call to move the others.
                if index + 1 == self.slices.len() {
                    self.slices.pop();
                } else {
                    self.slices.remove(index);
                }
            }
        }
        period
    }
}
