//! Checks the invariants of one state, by their numbers (ARCHITECTURE.md lists them all). Invariants about two states,
//! or about an answer, are checked in testing/model, where both are at hand.

use crate::{
    Account, Cycle, DebtRule, FORMER_IDENTITIES_MAX, Item, LIMITS_MAX, Limit, LimitPart,
    LimitSubject, Period, SESSION_ITEMS_MAX, Session, Time, Window,
};
use alloc::collections::BTreeSet;
use core::fmt;

/// A broken invariant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Number of the broken invariant.
    pub invariant: u8,
    /// Description of the violation.
    pub what: &'static str,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "I{} broken: {}", self.invariant, self.what)
    }
}

/// Checks the state of an account right after a Commit at `now`.
pub fn validate(account: &Account, now: Time) -> Result<(), Violation> {
    buckets(account, now)?;
    allowances(account, now)?;
    bucket_keys(account)?;
    carried(account)?;
    for session in &account.sessions {
        sessions(account, session, now)?;
        for item in &session.items {
            items(account, item)?;
        }
    }
    limits(account, now)?;
    in_transit(account)?;
    former_identities(account, now)?;
    let mut open = BTreeSet::new();
    for session in &account.sessions {
        ensure(open.insert(session.id.as_bytes()), 14, "two open sessions have one id")?;
    }
    let mut known = BTreeSet::new();
    for tombstone in account.tombstones.iter_packed() {
        ensure(!open.contains(tombstone.id), 14, "an open session has a tombstone")?;
        ensure(known.insert(tombstone.id), 14, "two tombstones have one id")?;
    }
    Ok(())
}

fn ensure(condition: bool, invariant: u8, what: &'static str) -> Result<(), Violation> {
    if condition { Ok(()) } else { Err(Violation { invariant, what }) }
}

fn buckets(account: &Account, now: Time) -> Result<(), Violation> {
    for (index, bucket) in account.buckets.iter().enumerate() {
        let unique = account.buckets[..index]
            .iter()
            .all(|other| other.id != bucket.id && other.no != bucket.no);
        ensure(unique, 4, "two buckets have one id")?;
        ensure(bucket.no.0 < account.next_bucket, 4, "a bucket's number is not used up")?;
        let wide = i128::from;
        let inflow = wide(bucket.credited) + wide(bucket.refunded);
        let outflow = wide(bucket.consumed) + wide(bucket.expired) + wide(bucket.voided);
        ensure(
            wide(bucket.available) + wide(bucket.held) == inflow - outflow,
            1,
            "available + held differs from what came in and went out",
        )?;
        let totals = [
            bucket.credited,
            bucket.refunded,
            bucket.consumed,
            bucket.expired,
            bucket.voided,
            bucket.overdrawn,
        ];
        ensure(totals.iter().all(|&total| total >= 0), 1, "a total is negative")?;
        let held: i128 = account
            .sessions
            .iter()
            .flat_map(|session| &session.items)
            .flat_map(|item| &item.slices)
            .filter(|slice| slice.bucket == bucket.no)
            .map(|slice| wide(slice.amount))
            .sum();
        ensure(wide(bucket.held) == held, 2, "held differs from the sum of the slices")?;
        ensure(
            wide(bucket.available) >= wide(bucket.floor) - wide(bucket.overdrawn),
            3,
            "available is below the floor by more than was overdrawn",
        )?;
        ensure(
            !(bucket.is_expired(now) && bucket.available > 0),
            10,
            "something is available in an expired bucket",
        )?;
    }
    Ok(())
}

/// Checks that each key is of a bucket, and that no bucket has one twice.
fn bucket_keys(account: &Account) -> Result<(), Violation> {
    for (index, key) in account.bucket_keys.iter().enumerate() {
        ensure(account.bucket_no(key.bucket).is_some(), 18, "a key is of no bucket")?;
        let unique = !account.bucket_keys[..index].contains(key);
        ensure(unique, 18, "a bucket has one key twice")?;
    }
    Ok(())
}

fn allowances(account: &Account, now: Time) -> Result<(), Violation> {
    for (index, allowance) in account.allowances.iter().enumerate() {
        let mut before = account.allowances[..index].iter();
        ensure(
            before.all(|other| other.bucket != allowance.bucket),
            18,
            "a bucket has two allowances",
        )?;
        let Some(bucket) = account.bucket_no(allowance.bucket) else {
            return ensure(false, 18, "an allowance's bucket is gone");
        };
        let cycle = allowance.cycle;
        let is_one = cycle.period != Period::None && cycle.is_valid() && allowance.amount >= 1;
        ensure(is_one, 18, "an allowance has no period, or credits nothing")?;
        let carries = allowance.debt == DebtRule::Carry;
        let fits =
            allowance.rollover >= 0 && allowance.owed >= 0 && (carries || allowance.owed == 0);
        ensure(fits, 18, "an allowance rolls over or carries what it cannot")?;
        let inflow = i128::from(bucket.credited) + i128::from(bucket.refunded);
        ensure(
            inflow + allowance.still_to_come(bucket) <= i128::from(i64::MAX),
            18,
            "refills to come have no room in a bucket's totals",
        )?;
        ensure(allowance.refills(bucket, now) == 0, 19, "a refill that was due was not made")?;
        ensure(
            is_start(cycle, allowance.period_start),
            19,
            "an allowance was refilled within a period",
        )?;
    }
    Ok(())
}

fn carried(account: &Account) -> Result<(), Violation> {
    for (index, debt) in account.carried.iter().enumerate() {
        let bucket = account.bucket_no(debt.bucket);
        let has_ended = bucket.is_some_and(|bucket| debt.period < bucket.period);
        ensure(debt.amount > 0 && has_ended, 19, "a debt was carried from no ended period")?;
        let mut before =
            account.carried[..index].iter().filter(|other| other.bucket == debt.bucket);
        let in_order = before.all(|other| other.period < debt.period && other.amount < debt.amount);
        ensure(in_order, 19, "a debt was carried from a period, and a greater one since")?;
    }
    Ok(())
}

/// Reports whether a period may begin at this moment. In a named zone it may be any: other tables may have decided it.
fn is_start(cycle: Cycle, start: Time) -> bool {
    cycle.zone.named().is_some() || cycle.start(start) == start
}

fn sessions(account: &Account, session: &Session, now: Time) -> Result<(), Violation> {
    ensure(session.deadline > now, 9, "a session is open past its deadline")?;
    ensure(session.opened <= now, 9, "a session was opened later than now")?;
    ensure(session.version >= 1, 14, "a session is open that was never answered")?;
    ensure(!session.answers.is_empty(), 14, "an open session has no stored answer")?;
    ensure(
        session.version >= session.answers.len() as u64,
        14,
        "a session has more answers than it was given",
    )?;
    ensure(session.item_count() <= SESSION_ITEMS_MAX, 14, "a session has too many items")?;
    for (index, item) in session.items.iter().enumerate() {
        let mut others = session.items[..index].iter();
        let unique = others.all(|other| (other.key, other.unit) != (item.key, item.unit));
        ensure(unique, 4, "two items of a session have one key and one unit")?;
    }
    // One Commit may set the time of a transfer's next try more than once.
    let is_older = account.version >= session.version || session.terms.transfer;
    ensure(is_older, 14, "a session is newer than its account")
}

fn items(account: &Account, item: &Item) -> Result<(), Violation> {
    let wide = i128::from;
    for (index, slice) in item.slices.iter().enumerate() {
        ensure(slice.amount > 0, 2, "a slice is empty")?;
        let unique = item.slices[..index].iter().all(|other| other.bucket != slice.bucket);
        ensure(unique, 2, "an item has two slices on one bucket")?;
        let bucket = account.bucket_no(slice.bucket);
        ensure(bucket.is_some(), 2, "a slice's bucket is gone")?;
        let is_to_come = bucket.is_some_and(|bucket| slice.period > bucket.period);
        ensure(!is_to_come, 19, "a slice was held from a period to come")?;
        ensure(bucket.is_none_or(|b| b.unit == item.unit), 4, "a slice is of another unit")?;
    }
    let totals =
        [item.granted, item.used, item.from_hold, item.direct, item.released, item.uncollected];
    ensure(totals.iter().all(|&total| total >= 0), 5, "a total of an item is negative")?;
    ensure(
        wide(item.granted) == wide(item.from_hold) + wide(item.released) + wide(item.outstanding()),
        5,
        "granted differs from from_hold + released + outstanding",
    )?;
    ensure(
        wide(item.used) == wide(item.from_hold) + wide(item.direct) + wide(item.uncollected),
        6,
        "used differs from from_hold + direct + uncollected",
    )
}

fn limits(account: &Account, now: Time) -> Result<(), Violation> {
    ensure(account.limits.len() <= LIMITS_MAX, 20, "an account has too many limits")?;
    for (index, limit) in account.limits.iter().enumerate() {
        let unique = account.limits[..index].iter().all(|other| other.id != limit.id);
        ensure(unique, 20, "two limits have one id")?;
        limit_alone(limit)?;
        let start = limit.period_start;
        let is_begun = limit.window.cycle().is_none_or(|cycle| is_start(cycle, start));
        ensure(is_begun, 20, "use of a limit begins within a period")?;
        ensure(
            limit.window.cycle().is_some() || start <= now,
            20,
            "a limit drains, or has a part, in time to come",
        )?;
        limit_parts(account, limit)?;
        ensure(limit.since <= account.version, 20, "a limit is newer than its account")?;
        let (limit, wide) = (account.limit_at(limit, now), i128::from);
        let used_and_held = wide(limit.used) + wide(account.held_in(&limit));
        ensure(used_and_held <= wide(i64::MAX), 20, "a limit is used beyond 64 bits")?;
        ensure(
            used_and_held <= wide(limit.most()) + wide(limit.overrun),
            20,
            "a limit is used and held above its amount by more than was recorded",
        )?;
        // If the host keeps parts of the account apart, not every session is loaded.
        if account.unloaded.is_none() {
            let items = account.sessions.iter().flat_map(|session| &session.items);
            let of_it = items.filter(|item| limit.counted.has(item.unit, Some(item.key)));
            let held: i128 = of_it.map(|item| wide(item.outstanding())).sum();
            ensure(wide(limit.held) == held, 20, "a limit holds another sum than its items")?;
        }
    }
    Ok(())
}

/// Checks that the parts of a rolling limit follow each other, and that what is used is their sum.
fn limit_parts(account: &Account, limit: &Limit) -> Result<(), Violation> {
    let Window::Rolling(span) = limit.window else {
        return ensure(limit.parts == 0, 20, "a limit that does not roll has parts");
    };
    let parts = account.parts_of(limit);
    ensure(parts.len() <= Window::PARTS_MAX, 20, "a limit has too many parts")?;
    let are_past = parts.last().is_none_or(|part| part.start <= limit.period_start);
    let in_order = are_past && parts.is_sorted_by(|a, b| a.start < b.start && a.since < b.since);
    ensure(in_order, 20, "the parts of a limit are not in order")?;
    let fine =
        |part: &LimitPart| part.used >= 0 && Window::part_start(span, part.start) == part.start;
    ensure(parts.iter().all(fine), 20, "a part of a limit begins within one")?;
    let sum: i128 = parts.iter().map(|part| i128::from(part.used)).sum();
    ensure(i128::from(limit.used) == sum, 20, "a limit uses another sum than its parts")
}

fn in_transit(account: &Account) -> Result<(), Violation> {
    for (index, sum) in account.in_transit.iter().enumerate() {
        let mut before = account.in_transit[..index].iter();
        ensure(before.all(|other| other.unit != sum.unit), 23, "a unit is in transit twice")?;
        ensure(sum.amount > 0, 23, "nothing of a unit is in transit")?;
    }
    // If the host keeps parts of the account apart, not every session is loaded.
    if account.unloaded.is_some() {
        return Ok(());
    }
    let of =
        |unit| account.in_transit.iter().find(|sum| sum.unit == unit).map_or(0, |sum| sum.amount);
    let transfers = || account.sessions.iter().filter_map(Session::transfer);
    for unit in transfers()
        .map(|transfer| transfer.unit)
        .chain(account.in_transit.iter().map(|sum| sum.unit))
    {
        let held: i128 = transfers()
            .filter(|transfer| transfer.unit == unit)
            .map(|transfer| i128::from(transfer.in_transit))
            .sum();
        ensure(i128::from(of(unit)) == held, 23, "in transit is another sum than transfers hold")?;
    }
    Ok(())
}

fn former_identities(account: &Account, now: Time) -> Result<(), Violation> {
    let all = &account.former_identities;
    ensure(all.len() <= FORMER_IDENTITIES_MAX, 24, "an account keeps too many former identities")?;
    for (index, former) in all.iter().enumerate() {
        let identity = &former.identity;
        ensure(!account.identities.contains(identity), 24, "an account has a former identity")?;
        let unique = all[..index].iter().all(|other| other.identity != *identity);
        ensure(unique, 24, "an account has given up an identity twice")?;
        let in_time = former.given_up_at <= now && now < former.forget_at;
        ensure(in_time, 24, "a former identity is of another time")?;
    }
    Ok(())
}

fn limit_alone(limit: &Limit) -> Result<(), Violation> {
    let amounts = [limit.amount, limit.used, limit.held, limit.overrun];
    ensure(amounts.iter().all(|&amount| amount >= 0), 20, "an amount of a limit is negative")?;
    let cycle = limit.window.cycle();
    ensure(cycle.is_none_or(Cycle::is_valid), 20, "a limit has no time zone, or no such begin")?;
    let drains = match limit.window {
        Window::Rate { span, .. } if limit.used > 0 => span.ms(),
        _ => 1,
    };
    ensure((0..drains).contains(&limit.drained), 20, "a limit drains more than it has")?;
    ensure(limit.window.given_burst() != Some(0), 20, "a limit has a burst of nothing")?;
    let told = limit.told == 0 || Limit::THRESHOLDS.contains(&limit.told);
    ensure(told, 20, "a limit has told a threshold that there is not")?;
    let of_sessions = limit.counted == LimitSubject::Sessions;
    let unused = limit.used | limit.held == 0 && limit.window == Window::NONE;
    ensure(!of_sessions || unused, 20, "a limit of sessions has units")
}
