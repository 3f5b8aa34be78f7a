//! Movements of units: burn order, grants, settlement, release (docs/ledger.md sections 7 and 8).

use super::Step;
use super::draft::{Draft, sum};
use super::limit::{CountedUnits, left_without_holds, tightest};
use crate::carried::Taken;
use crate::{
    Account, Bucket, BucketNo, Cause, Code, Final, ItemAnswer, ItemAt, ItemRequest, Name, Op,
    Overrun, Posting, Slice, Time,
};
use core::cmp::Ordering;
use smallvec::SmallVec;

/// Serial numbers of buckets in burn order.
type Burn = SmallVec<[BucketNo; 4]>;

/// Returns the valid buckets that units of an item may come from, in burn order: (priority, valid_to with none last,
/// created, id).
pub(super) fn burn_order(account: &Account, of: CountedUnits, now: Time) -> Burn {
    sorted_to_burn(account, |bucket| {
        bucket.unit == of.unit && bucket.is_valid(now) && account.may_use(bucket.no, of.item)
    })
}

/// Returns the buckets of a unit that are in debt, valid or not, other than one, sorted as burn order does.
pub(super) fn in_debt(account: &Account, unit: Name, but: BucketNo) -> Burn {
    let owes = |bucket: &Bucket| account.debt_of(bucket) > 0;
    sorted_to_burn(account, |bucket| bucket.unit == unit && bucket.no != but && owes(bucket))
}

fn sorted_to_burn(account: &Account, which: impl Fn(&Bucket) -> bool) -> Burn {
    let mut buckets: SmallVec<[&Bucket; 4]> =
        account.buckets.iter().filter(|bucket| which(bucket)).collect();
    buckets.sort_unstable_by_key(|bucket| burn_key(bucket));
    buckets.iter().map(|bucket| bucket.no).collect()
}

/// Returns the sort key of the burn order.
fn burn_key(bucket: &Bucket) -> impl Ord + use<> {
    (bucket.priority, bucket.valid_to.is_none(), bucket.valid_to, bucket.created, bucket.id)
}

/// Reports whether a bucket burns before another one. In most cases the priorities decide.
fn burns_before(bucket: &Bucket, other: &Bucket) -> bool {
    match bucket.priority.cmp(&other.priority) {
        Ordering::Equal => burn_key(bucket) < burn_key(other),
        by_priority => by_priority.is_lt(),
    }
}

/// Returns the sum that the valid buckets which an item may use can give less what the unit owes in any of its buckets,
/// between 0 and the largest i64, and the first bucket in burn order that can give something, with that amount. In most cases the
/// first bucket gives all that is requested, so no sort is needed.
#[inline]
fn grantable_and_first(
    account: &Account,
    of: CountedUnits,
    now: Time,
) -> (i64, Option<(BucketNo, i64)>) {
    let mut sum: i128 = 0;
    let mut first: Option<(&Bucket, i128)> = None;
    for bucket in account.buckets.iter().filter(|b| b.unit == of.unit) {
        let above_floor = i128::from(bucket.available) - i128::from(bucket.floor);
        if above_floor < 0 {
            sum += above_floor;
        } else if above_floor > 0 && bucket.is_valid(now) && account.may_use(bucket.no, of.item) {
            sum += above_floor;
            if first.is_none_or(|(other, _)| burns_before(bucket, other)) {
                first = Some((bucket, above_floor));
            }
        }
    }
    let at_most = |amount: i128| i64::try_from(amount).unwrap_or(i64::MAX);
    (at_most(sum.max(0)), first.map(|(bucket, headroom)| (bucket.no, at_most(headroom))))
}

/// Returns the amount that a bucket can still give.
fn headroom(bucket: &Bucket) -> i64 {
    bucket.available.saturating_sub(bucket.floor).max(0)
}

/// Returns the amount of a unit that could be granted now, at most the largest i64: the minimum of what the buckets
/// have beyond debts and what each limit leaves.
pub(crate) fn grantable(account: &Account, of: CountedUnits, now: Time) -> i64 {
    let (in_buckets, _) = grantable_and_first(account, of, now);
    tightest(account, of, now).map_or(in_buckets, |(_, left)| left.min(in_buckets))
}

/// Returns what the buckets that an item may use have beyond debts, at most the largest i64.
fn in_buckets(account: &Account, of: CountedUnits, now: Time) -> i64 {
    grantable_and_first(account, of, now).0
}

/// Returns the cause of a denial of an amount for lack of a unit: a limit if it leaves less than the buckets have.
#[cold]
pub(crate) fn shortage(account: &Account, of: CountedUnits, amount: i64, now: Time) -> Cause {
    if let Some((id, left)) = tightest(account, of, now)
        && left < in_buckets(account, of, now)
    {
        return Cause::Limit { id, allowed_at: allowed_at(account, &[(of, amount)], now) };
    }
    let may_use = |bucket: &Bucket| account.may_use(bucket.no, of.item);
    let has_one = account.buckets.iter().any(|bucket| bucket.unit == of.unit && may_use(bucket));
    if has_one { Cause::Balance } else { Cause::NoBucket }
}

/// Returns when all of these units would be allowed, if nothing else changes than that use counts no more: when the last
/// of the limits that leave less does. `None` if time alone does not help, or if nothing is short.
#[cold]
pub(super) fn allowed_at(
    account: &Account,
    wanted: &[(CountedUnits, i64)],
    now: Time,
) -> Option<Time> {
    let sum = |counts: &dyn Fn(CountedUnits) -> bool| -> i128 {
        let counted = wanted.iter().filter(|(of, _)| counts(*of));
        counted.map(|(_, amount)| i128::from(*amount)).sum()
    };
    if !have_all(account.clone(), wanted, now) {
        return None;
    }
    let mut last = None;
    for limit in &account.limits {
        let units = sum(&|of| limit.counted.has(of.unit, of.item));
        if i128::from(account.left_in(limit, now)) < units {
            last = last.max(Some(account.leaves_at(limit, units, now)?));
        }
    }
    last
}

/// Reports whether the buckets have all of these units, taken one after the other.
fn have_all(mut account: Account, wanted: &[(CountedUnits, i64)], now: Time) -> bool {
    wanted.iter().all(|&(of, amount)| {
        let has_it = in_buckets(&account, of, now) >= amount;
        for part in debit_parts(&account, &burn_order(&account, of, now), amount) {
            let found = account.buckets.iter_mut().find(|bucket| bucket.no == part.bucket);
            found.into_iter().for_each(|bucket| bucket.available -= part.amount);
        }
        has_it
    })
}

/// The request of one item.
#[derive(Clone, Copy)]
pub(super) struct GrantRequest {
    pub(super) requested: i64,
    pub(super) min: i64,
    pub(super) request: u32,
}

/// Grants an item (RFC 8506 section 5.1.2; Final-Unit-Indication: section 5.6).
pub(super) fn grant(draft: &mut Draft<'_>, at: ItemAt, asked: GrantRequest) -> Step<ItemAnswer> {
    let of = CountedUnits::of_item(draft, at);
    let (in_buckets, mut first) = grantable_and_first(draft.account(), of, draft.now);
    let mut grant = in_buckets.min(asked.requested);
    if !draft.account().limits.is_empty()
        && let Some((_, left)) = tightest(draft.account(), of, draft.now)
    {
        grant = grant.min(left);
    }
    let last = match grant < asked.requested {
        true => final_after(draft, at, grant),
        false => Final::No,
    };
    if grant < asked.min {
        let cause = shortage(draft.account(), of, asked.min, draft.now);
        return Ok(ItemAnswer::denied(Code::CreditLimitReached, cause, last));
    }
    sum(draft.item(at).granted, grant)?;
    let mut rest = grant;
    while rest > 0
        && let Some((bucket, headroom)) = first
    {
        let amount = headroom.min(rest);
        draft.record_outflow(|posting| Op::Hold(at, posting), Posting { bucket, amount })?;
        rest -= amount;
        if rest > 0 {
            // The next bucket in burn order gives the rest.
            (_, first) = grantable_and_first(draft.account(), of, draft.now);
        }
    }
    draft.record(Op::Grant { at, amount: grant, request: asked.request });
    Ok(ItemAnswer { code: Code::Ok, granted: grant, last, uncollected: 0, cause: Cause::None })
}

/// Returns whether more than a grant would be granted if other items held nothing. The item itself holds nothing.
#[cold]
fn final_after(draft: &Draft<'_>, at: ItemAt, grant: i64) -> Final {
    let (account, of) = (draft.account(), CountedUnits::of_item(draft, at));
    let mut sum = 0;
    for bucket in account.buckets.iter().filter(|bucket| bucket.unit == of.unit) {
        let is_usable = bucket.is_valid(draft.now) && account.may_use(bucket.no, of.item);
        // What a bucket that is not valid, or is for other items, gets back cannot be granted.
        let back = if is_usable { i128::from(bucket.held) } else { 0 };
        let above_floor = i128::from(bucket.available) + back - i128::from(bucket.floor);
        if above_floor < 0 || is_usable {
            sum += above_floor;
        }
    }
    let in_limits = left_without_holds(account, of, draft.now).unwrap_or(i64::MAX);
    match sum.min(i128::from(in_limits)) > i128::from(grant) {
        true => Final::Held,
        false => Final::Last,
    }
}

/// Where the use of an item is taken from.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
    /// Slices of the item come first; the rest of them goes back.
    OwnHold,
    /// Slices of the item come first; the rest of them stays held.
    OwnHoldKept,
    /// `available` only: a late request leaves the hold alone.
    AvailableOnly,
}

/// Settles reported use. Returns the amount that could not be debited.
pub(super) fn settle(draft: &mut Draft<'_>, at: ItemAt, used: i64, source: Source) -> Step<i64> {
    // The item's total is checked before the item's first fact.
    sum(draft.item(at).used, used)?;
    let is_limited = used > 0 && !draft.account().limits.is_empty();
    if is_limited {
        CountedUnits::of_item(draft, at).begin(draft);
    }
    let mut rest = used;
    if source != Source::AvailableOnly {
        // A slice that is used up is removed, so the next one becomes the first.
        while rest > 0
            && let Some(&slice) = draft.item(at).slices.first()
        {
            let amount = slice.amount.min(rest);
            draft.record(Op::Settle(at, Posting { bucket: slice.bucket, amount }));
            rest -= amount;
        }
    }
    let beyond_hold = rest;
    let mut uncollected = 0;
    if rest > 0 {
        let overrun = draft.session(at.session).terms.overrun;
        uncollected = debit_use(draft, CountedUnits::of_item(draft, at), rest, overrun)?;
    }
    if used > 0 {
        draft.record(Op::Use { at, used, direct: beyond_hold - uncollected, uncollected });
        if is_limited {
            CountedUnits::of_item(draft, at).count(draft, used, used - beyond_hold)?;
        }
    }
    if source == Source::OwnHold {
        release_item(draft, at, draft.now);
    }
    Ok(uncollected)
}

/// Settles use of an item of a session that is not open. Returns the amount that could not be debited.
pub(super) fn settle_late(
    draft: &mut Draft<'_>,
    item: &ItemRequest,
    overrun: Overrun,
) -> Step<i64> {
    let (key, unit, used) = (item.key, item.unit, item.used.unwrap_or(0));
    if used == 0 {
        return Ok(0);
    }
    let counting = CountedUnits { unit, item: Some(key) };
    counting.begin(draft);
    let uncollected = debit_use(draft, counting, used, overrun)?;
    draft.record(Op::LateUse { key, unit, used, uncollected });
    counting.count(draft, used, 0)?;
    Ok(uncollected)
}

/// Debits use from `available`, and the rest by the overrun policy. Returns the amount that could not be debited.
fn debit_use(draft: &mut Draft<'_>, of: CountedUnits, used: i64, overrun: Overrun) -> Step<i64> {
    let mut rest = used;
    if overrun != Overrun::Held {
        let burn = burn_order(draft.account(), of, draft.now);
        rest = debit_in_order(draft, &burn, used)?;
        if rest == 0 {
            return Ok(0);
        }
        // OVERDRAW: a bucket goes below its floor, one that will be refilled if there is one.
        if let (Some(bucket), Overrun::Overdraw) = (overdrawn_bucket(draft, &burn), overrun) {
            draft.record_outflow(Op::Overdraw, Posting { bucket, amount: rest })?;
            return Ok(0);
        }
    }
    // CLAMP, HELD, or no valid bucket: the rest stays uncollected, if the account's total has room for it.
    let totals = &draft.account().uncollected;
    sum(totals.iter().find(|total| total.unit == of.unit).map_or(0, |total| total.amount), rest)?;
    Ok(rest)
}

/// Returns the bucket that overrun is debited from: the first that has an allowance, else the last.
fn overdrawn_bucket(draft: &Draft<'_>, burn: &[BucketNo]) -> Option<BucketNo> {
    let has_allowance = |no: &&BucketNo| draft.account().allowance(**no).is_some();
    burn.iter().find(has_allowance).or(burn.last()).copied()
}

/// Debits in burn order, each bucket down to 0, then each down to its floor. Returns the rest.
fn debit_in_order(draft: &mut Draft<'_>, burn: &[BucketNo], amount: i64) -> Step<i64> {
    let mut rest = amount;
    for part in debit_parts(draft.account(), burn, amount) {
        rest -= part.amount;
        draft.record_outflow(Op::Debit, part)?;
    }
    Ok(rest)
}

/// Returns how a debit would be spread over buckets: at most two parts in each, in the order of the two passes (down to
/// 0, down to the floor).
pub(super) fn debit_parts(
    account: &Account,
    burn: &[BucketNo],
    amount: i64,
) -> SmallVec<[Posting; 4]> {
    let mut parts = SmallVec::new();
    let mut rest = amount;
    for down_to_floor in [false, true] {
        for bucket in burn.iter().filter_map(|no| account.bucket_no(*no)) {
            let positive = bucket.available.max(0);
            let room = if down_to_floor { headroom(bucket) - positive } else { positive };
            let part = room.min(rest);
            if part > 0 {
                parts.push(Posting { bucket: bucket.no, amount: part });
                rest -= part;
            }
        }
    }
    parts
}

/// Gives back every slice of an item as of `when`, which may be before the draft's time.
pub(super) fn release_item(draft: &mut Draft<'_>, at: ItemAt, when: Time) {
    while let Some(&Slice { bucket, period, amount }) = draft.item(at).slices.first() {
        let regained = regained(draft, Posting { bucket, amount }, Taken::In(period), when);
        if regained > 0 {
            draft.record(Op::Release(at, Posting { bucket, amount: regained }));
        }
        if amount > regained {
            draft.record(Op::ReleaseExpired(at, Posting { bucket, amount: amount - regained }));
        }
    }
}

/// Returns the part of units coming back to a bucket that becomes available; the rest expires. All of it expires if the
/// bucket has expired. Units of an ended period make good a debt that was carried over since, and no more.
pub(super) fn regained(draft: &Draft<'_>, back: Posting, taken: Taken, when: Time) -> i64 {
    let Posting { bucket: no, amount } = back;
    let bucket = draft.bucket(no);
    if bucket.is_expired(when) {
        0
    } else if taken.in_present(bucket) {
        amount
    } else {
        amount.min(draft.account().least_debt_since(no, taken))
    }
}
