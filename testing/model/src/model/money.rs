//! Sections 7 and 8: settle, grant, release.

use super::state::{ItemState, State, take};
use scurry_ledger::{Cause, Code, Final, ItemAnswer, ItemRequest, Overrun, Standing};

/// Gives back every slice of some items.
fn release(
    state: &mut State,
    session: &str,
    which: impl Fn(&ItemState) -> bool,
    now: i64,
) -> Result<(), Code> {
    let mut back = vec![];
    for item in state.sessions.get_mut(session).into_iter().flat_map(|s| &mut s.items) {
        if which(item) {
            let slices = std::mem::take(&mut item.slices);
            item.released += slices.iter().map(|slice| slice.1).sum::<i128>();
            let refills = std::mem::take(&mut item.refills);
            back.extend(
                slices.into_iter().map(|(serial, amount)| (serial, amount, refills[&serial])),
            );
        }
    }
    // `available` is computed from the totals: it has already grown by this amount.
    for (serial, amount, refills) in back {
        if let Some(bucket) = state.bucket(serial) {
            bucket.take_back(amount, refills, now, false);
        }
    }
    state.fits()
}

/// Gives back every slice of every item of a session.
pub(super) fn release_all(state: &mut State, session: &str, now: i64) -> Result<(), Code> {
    release(state, session, |_| true, now)
}

/// Gives back every slice of an item that a request lists.
pub(super) fn release_listed(
    state: &mut State,
    session: &str,
    item: &ItemRequest,
    now: i64,
) -> Result<(), Code> {
    release(state, session, |known| known.is(item), now)
}

/// Settles use (section 7), and leaves the rest of the hold. Returns the uncollected amount.
pub(super) fn settle(
    state: &mut State,
    session: &str,
    item: &ItemRequest,
    late: bool,
    now: i64,
) -> Result<i128, Code> {
    let unit = item.unit.as_str();
    let mut rest = i128::from(item.used.unwrap_or(0));
    let (used, key) = (rest, item.key.to_string());
    let left = state.before_use(unit, Some(&key), used, now);
    let open = state.sessions.get_mut(session).ok_or(Code::UnknownSession)?;
    let overrun = open.terms.overrun;
    let line = open.item_or_new(item);
    line.used += rest;
    // Use of a late item leaves its hold alone.
    if !late {
        let (from_hold, left) = take(line.slices.clone(), rest);
        rest = left;
        for (serial, amount) in from_hold {
            let line = state.sessions.get_mut(session).ok_or(Code::UnknownSession)?;
            let line = line.item_or_new(item);
            line.from_hold += amount;
            line.slices.iter_mut().filter(|s| s.0 == serial).for_each(|s| s.1 -= amount);
            line.slices.retain(|slice| slice.1 > 0);
            state.bucket(serial).ok_or(Code::UnknownBucket)?.consumed += amount;
            state.fits()?;
        }
    }
    state.after_use(unit, Some(&key), (used, rest), &left);
    let (mut debits, rest) = match overrun {
        // Beyond the hold nothing is debited.
        Overrun::Held => (vec![], rest),
        _ => state.spread(unit, Some(&key), rest, now),
    };
    let mut uncollected = rest;
    // Overdraw debits the rest from one bucket, below its floor.
    if let (Overrun::Overdraw, true, Some(payer)) =
        (overrun, rest > 0, state.pays_overrun(unit, Some(&key), now))
    {
        debits.push((payer, rest));
        state.bucket(payer).ok_or(Code::UnknownBucket)?.overdrawn += rest;
        uncollected = 0;
    }
    for (serial, amount) in debits {
        state.bucket(serial).ok_or(Code::UnknownBucket)?.consumed += amount;
        let open = state.sessions.get_mut(session).ok_or(Code::UnknownSession)?;
        open.item_or_new(item).direct += amount;
        state.fits()?;
    }
    if uncollected > 0 {
        *state.uncollected.entry(unit.to_string()).or_insert(0) += uncollected;
        let open = state.sessions.get_mut(session).ok_or(Code::UnknownSession)?;
        open.item_or_new(item).uncollected += uncollected;
    }
    state.fits()?;
    Ok(uncollected)
}

/// Settles use of a session that is not open (section 7, steps 2 to 4). Returns the uncollected amount.
pub(super) fn settle_late(
    state: &mut State,
    item: &ItemRequest,
    overrun: Overrun,
    now: i64,
) -> Result<i128, Code> {
    let (unit, key) = (item.unit.as_str(), item.key.to_string());
    let used = i128::from(item.used.unwrap_or(0));
    let left = state.before_use(unit, Some(&key), used, now);
    state.after_use(unit, Some(&key), (used, used), &left);
    let (mut debits, mut rest) = match overrun {
        Overrun::Held => (vec![], used),
        _ => state.spread(unit, Some(&key), used, now),
    };
    let payer = state.pays_overrun(unit, Some(&key), now);
    if let (Overrun::Overdraw, Some(payer), true) = (overrun, payer, rest > 0) {
        state.bucket(payer).ok_or(Code::UnknownBucket)?.overdrawn += rest;
        debits.push((payer, rest));
        rest = 0;
    }
    for (serial, amount) in debits {
        state.bucket(serial).ok_or(Code::UnknownBucket)?.consumed += amount;
        state.fits()?;
    }
    if rest > 0 {
        *state.uncollected.entry(unit.to_string()).or_insert(0) += rest;
    }
    state.fits()?;
    Ok(rest)
}

/// Grants one item of request number `request` (section 8). The caller adds the uncollected amount to the answer.
pub(super) fn grant(
    state: &mut State,
    session: &str,
    item: &ItemRequest,
    request: u32,
    now: i64,
) -> Result<ItemAnswer, Code> {
    let requested = i128::from(item.requested.unwrap_or(0));
    let min = i128::from(item.min.unwrap_or(1).max(1));
    let (unit, key) = (item.unit.as_str(), item.key.to_string());
    let tightest = state.tightest(unit, Some(&key), now);
    let most = tightest.map_or(requested, |(_, left)| left.min(requested));
    let most = most.min(state.grantable(unit, Some(&key), now));
    let (slices, missing) = take(state.rooms(unit, Some(&key), now), most);
    let grant = most - missing;
    let alone = requested.min(state.grantable_alone(unit, &key, now));
    let last = match (grant < requested, grant < alone) {
        (false, _) => Final::No,
        (true, false) => Final::Last,
        (true, true) => Final::Held,
    };
    let count = |serial| state.buckets.iter().find(|b| b.serial == serial).map_or(0, |b| b.refills);
    let refills = slices.iter().map(|slice| (slice.0, count(slice.0))).collect();
    let open = state.sessions.get_mut(session).ok_or(Code::UnknownSession)?;
    let line = open.item_or_new(item);
    let standing = match last {
        Final::No => Standing::Granted,
        Final::Last => Standing::Final,
        Final::Held => Standing::FinalHeld,
    };
    line.standing = if grant < min { Standing::Denied } else { standing };
    // A grant below MIN is a denial, and holds nothing.
    if grant < min {
        let cause = state.shortage(unit, Some(&key), min, now);
        let code = Code::CreditLimitReached;
        return Ok(ItemAnswer { code, granted: 0, last, uncollected: 0, cause });
    }
    line.slices = slices;
    line.refills = refills;
    line.granted += grant;
    line.last_grant = Some(request);
    state.fits()?;
    let granted = i64::try_from(grant).map_err(|_| Code::Overflow)?;
    let cause = Cause::None;
    Ok(ItemAnswer { code: Code::Ok, granted, last, uncollected: 0, cause })
}
