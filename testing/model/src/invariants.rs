//! I1 to I14, I17 and I19 to I23 a second time, from the text of the design; `validate` checks some of them too.

use crate::Op;
use crate::model::calendar::{Clock, Zone};
use scurry_ledger::{
    Account, Answer, Bucket, BucketNo, Cause, Change, Code, Cycle, Item, ItemAnswer, ItemKey,
    ItemRequest, Limit, LimitSubject, Name, RequestName, Session, SessionPage, Time, TombstoneKind,
    Transaction, WindowEntry,
};
use std::collections::{BTreeMap, BTreeSet};

type Checked = Result<(), String>;

fn ensure(condition: bool, what: impl FnOnce() -> String) -> Checked {
    if condition { Ok(()) } else { Err(what()) }
}

fn outstanding(item: &Item) -> i128 {
    item.slices.iter().map(|slice| i128::from(slice.amount)).sum()
}

fn bucket(account: &Account, no: BucketNo) -> Option<&Bucket> {
    account.buckets.iter().find(|bucket| bucket.no == no)
}

fn session<'a>(account: Option<&'a Account>, id: &str) -> Option<&'a Session> {
    account?.sessions.iter().find(|session| session.id.as_bytes() == id.as_bytes())
}

/// Checks the invariants of every account right after a Commit.
pub(crate) fn state(account: &Account) -> Checked {
    let now = account.changed_at;
    let mut held: BTreeMap<BucketNo, i128> = BTreeMap::new();
    for open in &account.sessions {
        ensure(open.deadline > now, || format!("I9: {:?} is past its deadline", open.id))?;
        let named: BTreeSet<_> = open.items.iter().map(|item| (item.key, item.unit)).collect();
        ensure(named.len() == open.items.len(), || format!("I4: one item twice: {open:?}"))?;
        for item in &open.items {
            let (granted, used) = (i128::from(item.granted), i128::from(item.used));
            let gone = i128::from(item.from_hold) + i128::from(item.released);
            ensure(granted == gone + outstanding(item), || format!("I5: {item:?}"))?;
            let settled = i128::from(item.from_hold) + i128::from(item.direct);
            ensure(used == settled + i128::from(item.uncollected), || format!("I6: {item:?}"))?;
            for slice in &item.slices {
                let unit = bucket(account, slice.bucket).map(|bucket| bucket.unit);
                ensure(unit == Some(item.unit), || format!("I4, I12: {slice:?} of {item:?}"))?;
                ensure(slice.amount > 0, || format!("a slice of nothing: {item:?}"))?;
                *held.entry(slice.bucket).or_insert(0) += i128::from(slice.amount);
            }
        }
    }
    paged(account)?;
    for bucket in &account.buckets {
        let wide = i128::from;
        let came = wide(bucket.credited) + wide(bucket.refunded);
        let went = wide(bucket.consumed) + wide(bucket.expired) + wide(bucket.voided);
        let is = wide(bucket.available) + wide(bucket.held);
        ensure(is == came - went, || format!("I1: {bucket:?}"))?;
        let slices = held.remove(&bucket.no).unwrap_or(0);
        ensure(wide(bucket.held) == slices, || format!("I2: {bucket:?} but slices {slices}"))?;
        let least = wide(bucket.floor) - wide(bucket.overdrawn);
        ensure(wide(bucket.available) >= least, || format!("I3: {bucket:?}"))?;
        let over = bucket.valid_to.is_some_and(|end| end <= now);
        ensure(!over || bucket.available <= 0, || format!("I10: {bucket:?}"))?;
    }
    ensure(held.is_empty(), || format!("I2: slices on no bucket {held:?}"))?;
    for limit in &account.limits {
        let (held, at) = (held_in(account, limit), account.limit_at(limit, now));
        let kept = account.held_in(limit);
        ensure(i128::from(kept) == held, || format!("I20: {limit:?} but holds {held}"))?;
        let most = i128::from(at.most()) + i128::from(at.overrun);
        ensure(i128::from(at.used) + held <= most, || format!("I20: {limit:?} with {held}"))?;
    }
    Ok(())
}

/// Reports whether a limit counts units of this item, or of use without an item.
/// Checks that the pages of open sessions have each session once, in the order of ids (docs/ledger.md section 16).
fn paged(account: &Account) -> Checked {
    let (mut shown, mut after) = (Vec::new(), Vec::new());
    loop {
        let (page, has_more) = SessionPage { after: &after, count: 2 }.of(account);
        shown.extend(page.iter().map(|open| open.id.as_bytes().to_vec()));
        let (Some(last), true) = (page.last(), has_more) else { break };
        after = last.id.as_bytes().to_vec();
    }
    let all: BTreeSet<_> =
        account.sessions.iter().map(|open| open.id.as_bytes().to_vec()).collect();
    let expected: Vec<_> = all.into_iter().collect();
    ensure(shown == expected, || format!("pages have {shown:?}"))
}

fn counts(limit: &Limit, unit: Name, key: Option<ItemKey>) -> bool {
    match limit.counted {
        LimitSubject::Sessions => false,
        LimitSubject::Units { unit: of, item } => of == unit && (item.is_none() || item == key),
    }
}

/// Returns the sum of the holds that a limit counts, or the number of open sessions.
fn held_in(account: &Account, limit: &Limit) -> i128 {
    if limit.counted == LimitSubject::Sessions {
        return account.sessions.len() as i128;
    }
    let items = account.sessions.iter().flat_map(|session| &session.items);
    items.filter(|item| counts(limit, item.unit, Some(item.key))).map(outstanding).sum()
}

/// Returns the item of a transfer that this step settles, with its unit and the amount that it held.
fn settled_transfer(before: &Account, op: &Op) -> Option<(ItemKey, Name, i128)> {
    let Op::Settle { id } = op else { return None };
    let item = session(Some(before), id)?.items.first()?;
    Some((item.key, item.unit, outstanding(item)))
}

/// Checks I23 over a Commit: what is in transit is what the open transfers hold, a transfer is settled or comes back
/// whole, and no other command moves it.
fn in_transit(before: Option<&Account>, after: Option<&Account>, op: &Op) -> Checked {
    let (Some(before), Some(after)) = (before, after) else { return Ok(()) };
    let holds = |account: &Account| -> BTreeMap<Vec<u8>, i128> {
        let open = account.sessions.iter().filter(|session| session.terms.transfer);
        let held = |open: &Session| open.items.iter().map(outstanding).sum();
        open.map(|open| (open.id.as_bytes().to_vec(), held(open))).collect()
    };
    let mut sums: BTreeMap<Name, i128> = BTreeMap::new();
    for open in after.sessions.iter().filter(|session| session.terms.transfer) {
        for item in &open.items {
            *sums.entry(item.unit).or_insert(0) += outstanding(item);
        }
    }
    for sum in &after.in_transit {
        *sums.entry(sum.unit).or_insert(0) -= i128::from(sum.amount);
    }
    ensure(sums.values().all(|&left| left == 0), || format!("I23: {sums:?} of {after:?}"))?;
    let (was, is) = (holds(before), holds(after));
    let own = match op {
        Op::Transfer { id, .. } | Op::Settle { id } | Op::Conclude { id, .. } => id.as_bytes(),
        _ => &[],
    };
    let others = |holds: &BTreeMap<Vec<u8>, i128>| -> BTreeMap<Vec<u8>, i128> {
        holds.iter().filter(|(id, _)| *id != own).map(|(id, held)| (id.clone(), *held)).collect()
    };
    ensure(others(&was) == others(&is), || format!("I23: {was:?} became {is:?} by {op:?}"))
}

/// Checks I20: the used amount of a limit is the reported and debited use, less refunds; used + held grows above its
/// amount only by reported use.
fn limited(
    before: Option<&Account>,
    after: Option<&Account>,
    op: &Op,
    answer: &Answer,
    now: Time,
) -> Checked {
    let (Some(before), Some(after)) = (before, after) else { return Ok(()) };
    for is in &after.limits {
        let set = matches!(op, Op::Limit { limit, .. } if *limit == is.id);
        let Some(was) = before.limits.iter().find(|was| was.id == is.id && !set) else { continue };
        let (was, is) = (before.limit_at(was, now), after.limit_at(is, now));
        let mut reported = 0;
        if let Some((key, unit, amount)) = settled_transfer(before, op)
            && counts(&is, unit, Some(key))
        {
            reported += amount;
        }
        for item in op.request().iter().flat_map(|request| &request.items) {
            if counts(&is, item.unit, Some(item.key)) {
                reported += i128::from(item.used.unwrap_or(0));
            }
        }
        let debited = match (op, answer) {
            (Op::Debit { unit, .. }, Answer::Amount { amount, .. }) if counts(&is, *unit, None) => {
                i128::from(*amount)
            }
            (Op::DebitItems { items, .. }, Answer::Amount { code: Code::Ok, .. }) => {
                let counted = items.iter().filter(|item| counts(&is, item.unit, Some(item.key)));
                counted.map(|item| i128::from(item.amount)).sum()
            }
            _ => 0,
        };
        let refunded = match (op, answer) {
            (Op::Refund { .. } | Op::RefundItems { .. }, Answer::Amount { amount, .. }) => {
                i128::from(*amount)
            }
            _ => 0,
        };
        let grown = i128::from(is.used) - i128::from(was.used);
        let told = || format!("I20: {was:?} became {is:?}");
        ensure(grown <= reported + debited, told)?;
        ensure(grown >= reported + debited - refunded, told)?;
        let overrun = i128::from(is.overrun) - i128::from(was.overrun);
        ensure(overrun <= reported, told)?;
    }
    Ok(())
}

/// Checks I22: of each unit that the command has granted or debited, everything that was ever credited and refunded in
/// the valid buckets, and their credit limits, covers all that went out of them or is held of them, and what the other
/// buckets owe.
fn covered(after: Option<&Account>, op: &Op, answer: &Answer, now: Time) -> Checked {
    let Some(after) = after else { return Ok(()) };
    let taken: BTreeSet<Name> = match (op, answer) {
        (Op::Debit { unit, .. }, Answer::Amount { code: Code::Ok, .. }) => BTreeSet::from([*unit]),
        (Op::DebitItems { items, .. }, Answer::Amount { code: Code::Ok, .. }) => {
            items.iter().map(|item| item.unit).collect()
        }
        (op, Answer::Session { items: given, .. }) => {
            let asked = op.request().into_iter().flat_map(|request| &request.items);
            asked.zip(given).filter(|(_, given)| given.granted > 0).map(|(of, _)| of.unit).collect()
        }
        _ => BTreeSet::new(),
    };
    for unit in taken {
        let wide = i128::from;
        let (mut covers, mut owed) = (0, 0);
        for bucket in after.buckets.iter().filter(|bucket| bucket.unit == unit) {
            let came = wide(bucket.credited) + wide(bucket.refunded) - wide(bucket.floor);
            let went = wide(bucket.consumed) + wide(bucket.expired) + wide(bucket.voided);
            let left = came - went - wide(bucket.held);
            let is_valid = bucket.valid_from <= now && bucket.valid_to.is_none_or(|end| end > now);
            if is_valid {
                covers += left;
            } else {
                owed += 0.max(-left);
            }
        }
        let told =
            || format!("I22: {covers} of {unit:?} does not cover {owed}: {:?}", after.buckets);
        ensure(covers >= owed, told)?;
    }
    Ok(())
}

/// Checks the invariants between the accounts before and after a Commit of `op` at `now`.
pub(crate) fn transition(
    before: Option<&Account>,
    after: Option<&Account>,
    op: &Op,
    answer: &Answer,
    now: Time,
) -> Checked {
    let own = match op {
        Op::Release { session: id, .. }
        | Op::Transfer { id, .. }
        | Op::Settle { id }
        | Op::Conclude { id, .. } => Some(id.as_str()),
        op => op.request().map(|request| request.session.as_str()),
    };
    moved(before, after)?;
    remembered(before, after)?;
    bystanders(before, after, own, now)?;
    accounted(before, after, op, answer)?;
    in_transit(before, after, op)?;
    limited(before, after, op, answer, now)?;
    covered(after, op, answer, now)?;
    // A step of a host is answered without the session's version.
    let is_step = matches!(op, Op::Settle { .. } | Op::Conclude { .. });
    if let (Some(own), Answer::Session { code, version, items }, false) = (own, answer, is_step) {
        let is_open = session(after, own).is_some();
        ensure(is_open == (*version > 0), || format!("I14: open {is_open}, {answer:?}"))?;
        let ends = matches!(op, Op::Terminate(_) | Op::Release { .. });
        // A chain may deny a TERMINATE, which then leaves the session open.
        let ends = ends && *code != Code::ChainDenied;
        ensure(!(ends && is_open), || "I14: still open".to_string())?;
        ensure(!(is_open && *code == Code::ServiceDenied), || "I14: denied, open".to_string())?;
        // A RESERVE starts from nothing, even where an expired session had its id.
        let before = if matches!(op, Op::Reserve(_)) { None } else { before };
        if let (Some(request), Some(name)) = (op.request(), op.request_name()) {
            let listed = request.items.as_slice();
            let is_told = items.iter().any(|item| matches!(item.cause, Cause::Limit { .. }));
            let of_whole = usize::from(listed.is_empty() && *code == Code::CreditLimitReached);
            let each = || "an answer per item, or the limit that denies all".to_string();
            ensure(items.len() == listed.len() + of_whole, each)?;
            ensure(of_whole == 0 || is_told, each)?;
            for (asked, given) in listed.iter().zip(items) {
                let may_be_late = !matches!(op, Op::Terminate(_));
                let keeps = request.options.keep_hold;
                item(before, after, own, (name, asked, given), (may_be_late, keeps))?;
            }
        }
    }
    Ok(())
}

/// Checks that each remembered answer is found unchanged until its forget time, and no longer; of the parts of a debit the
/// refunded amounts grow, up to the debit (docs/ledger.md sections 4 and 16).
fn remembered(before: Option<&Account>, after: Option<&Account>) -> Checked {
    let (Some(before), Some(after)) = (before, after) else { return Ok(()) };
    for known in before.transactions.iter() {
        let found = after.transactions.find(known.id.as_bytes());
        if known.forget_at <= after.changed_at {
            // The Commit itself may use the id again.
            ensure(found != Some(known.clone()), || format!("remembered too long: {known:?}"))?;
            continue;
        }
        // A receipt is forgotten when its payer says so, and not by time.
        if found.is_none() && is_receipt(&known) {
            continue;
        }
        let Some(found) = found else { return Err(format!("forgotten early: {known:?}")) };
        let refunds = known.parts.iter().zip(&found.parts);
        let mut refunds = refunds.map(|(was, is)| was.refunded..=is.refunded.min(is.amount));
        ensure(refunds.all(|grown| !grown.is_empty()), || format!("refunded: {found:?}"))?;
        let mut same = found.clone();
        same.parts.iter_mut().zip(&known.parts).for_each(|(is, was)| is.refunded = was.refunded);
        ensure(same == known, || format!("{known:?} became {found:?}"))?;
    }
    Ok(())
}

fn is_receipt(known: &Transaction) -> bool {
    known.id.as_bytes().starts_with(b"transfer:")
}

/// Checks I11, I12 and I13 for one item of an answer.
fn item(
    before: Option<&Account>,
    after: Option<&Account>,
    own: &str,
    (name, asked, given): (RequestName, &ItemRequest, &ItemAnswer),
    (may_be_late, keep_hold): (bool, bool),
) -> Checked {
    let told = || format!("item {asked:?} got {given:?}");
    let requested = asked.requested.unwrap_or(0);
    let least = asked.min.unwrap_or(1).max(1);
    ensure((0..=requested).contains(&given.granted), || format!("I12: {}", told()))?;
    ensure(given.granted == 0 || given.granted >= least, || format!("I12: {}", told()))?;
    let used = asked.used.unwrap_or(0);
    ensure((0..=used).contains(&given.uncollected), || format!("I13: {}", told()))?;
    let Some(open) = session(after, own) else {
        return ensure(given.granted == 0, || format!("granted by a closed session: {}", told()));
    };
    let of = |session: &Session| {
        let same = |item: &&Item| (item.key, item.unit) == (asked.key, asked.unit);
        session.items.iter().find(same).cloned()
    };
    let (was, is) = (session(before, own).and_then(of), of(open));
    if is.is_none() {
        // The session has no room for it: a grant is denied, and its use is accounted for by unit (I13).
        let is_denied = given.code != Code::CreditLimitReached || given.cause == Cause::Items;
        return ensure(is_denied && given.granted == 0, || format!("I11: not added: {}", told()));
    }
    let older =
        was.as_ref().and_then(|item| item.last_grant).is_some_and(|last| name.number < last);
    // Below the window no answer of it is stored.
    let entry = open.answers.look_up(name, 1, open.version);
    let late = may_be_late && (older || !matches!(entry, WindowEntry::Stored(_)));
    let hold = is.as_ref().map(outstanding);
    if late {
        let kept = Some(was.as_ref().map_or(0, outstanding));
        ensure(hold == kept, || format!("a late request changed the hold: {}", told()))?;
    } else {
        // With KEEPHOLD a denied item holds what it held, less its use.
        let is_kept = keep_hold && requested > 0 && given.code != Code::Ok;
        let held = was.as_ref().map_or(0, outstanding);
        let expected =
            if is_kept { (held - i128::from(used)).max(0) } else { given.granted.into() };
        ensure(hold == Some(expected), || format!("I11: holds {hold:?}: {}", told()))?;
    }
    let used_before = was.map_or(0, |item| item.used);
    let used_after = is.map_or(0, |item| item.used);
    ensure(used_after == used_before + used, || format!("I13: {}", told()))
}

/// Checks I21: a chain acts in its accounts at one time, in all of them or in none; a denied chain grants and credits
/// nothing, and debits only the reported use.
pub(crate) fn chained(
    ops: &[&Op],
    before: &[Option<&Account>],
    after: &[Option<&Account>],
    commits: &[(Change, Answer)],
) -> Checked {
    use scurry_ledger::Op as Fact;
    let denied = commits.iter().filter(|(_, answer)| answer.code() != Code::Ok).count();
    let all_or_none = denied == 0 || denied == commits.len();
    ensure(all_or_none, || format!("I21: some are denied {commits:?}"))?;
    let times: BTreeSet<Option<Time>> =
        after.iter().map(|account| account.map(|account| account.changed_at)).collect();
    ensure(times.len() == 1, || format!("I21: several times {times:?}"))?;
    if denied == 0 {
        return Ok(());
    }
    for (at, (change, answer)) in commits.iter().enumerate() {
        let (Some(before), Some(after)) = (before[at], after[at]) else {
            return Err("I21: no account".to_string());
        };
        let granted = match answer {
            Answer::Session { items, .. } => items.iter().any(|item| item.granted != 0),
            Answer::Account { .. } | Answer::Amount { .. } => false,
        };
        ensure(!granted, || format!("I21: granted {answer:?}"))?;
        // Releases and refills that are due happen in any case; a refill is a credit.
        let refills = !before.allowances.is_empty();
        let moves = |fact: &Fact| {
            (matches!(fact, Fact::Credit(_)) && !refills)
                || matches!(
                    fact,
                    Fact::Void(_)
                        | Fact::Refund(_)
                        | Fact::RefundExpired(_)
                        | Fact::Hold(..)
                        | Fact::Grant { .. }
                        | Fact::AddBucket { .. }
                )
        };
        let moved = change.ops.iter().find(|fact| moves(fact));
        ensure(moved.is_none(), || format!("I21: {moved:?} by {:?}", ops[at]))?;
        let items = ops[at].request().map_or(&[][..], |request| &request.items);
        let used: i128 = items.iter().map(|item| i128::from(item.used.unwrap_or(0))).sum();
        let sum = |account: &Account| -> i128 {
            account.buckets.iter().map(|bucket| i128::from(bucket.consumed)).sum()
        };
        // A spent bucket may have been removed.
        let consumed = sum(after) - sum(before);
        ensure(consumed <= used, || format!("I21: {consumed} debited of {used}: {:?}", ops[at]))?;
    }
    Ok(())
}

/// Checks I4, and that totals never shrink.
fn moved(before: Option<&Account>, after: Option<&Account>) -> Checked {
    let (Some(before), Some(after)) = (before, after) else { return Ok(()) };
    for is in &after.buckets {
        let Some(was) = bucket(before, is.no) else { continue };
        ensure(is.unit == was.unit && is.id == was.id, || format!("I4: {was:?} became {is:?}"))?;
        let pairs = [
            (was.credited, is.credited),
            (was.refunded, is.refunded),
            (was.consumed, is.consumed),
            (was.expired, is.expired),
            (was.voided, is.voided),
            (was.overdrawn, is.overdrawn),
        ];
        let grow = pairs.iter().all(|(was, is)| was <= is);
        ensure(grow, || format!("a total shrank: {was:?} became {is:?}"))?;
    }
    let version = after.version == before.version + 1 && after.changed_at >= before.changed_at;
    ensure(version, || "a Commit adds 1 to the version, and time does not go back".to_string())
}

/// Checks I9: sessions that the command does not name end at their deadline, and not before.
fn bystanders(
    before: Option<&Account>,
    after: Option<&Account>,
    own: Option<&str>,
    now: Time,
) -> Checked {
    for was in before.iter().flat_map(|account| &account.sessions) {
        let id = String::from_utf8_lossy(was.id.as_bytes());
        if own == Some(id.as_ref()) {
            continue;
        }
        let is = session(after, &id);
        if was.terms.transfer && was.deadline <= now {
            let items = is.map(|is| &is.items);
            ensure(items == Some(&was.items), || format!("I23: {id} was touched"))?;
        } else if was.deadline <= now {
            ensure(is.is_none(), || format!("I9: {id} is open past its deadline"))?;
        } else {
            ensure(is == Some(was), || format!("I9, I14: {id} was touched"))?;
        }
    }
    Ok(())
}

/// Checks I13 and I4 per unit: reported use is debited or recorded as uncollected, and nothing else is.
fn accounted(
    before: Option<&Account>,
    after: Option<&Account>,
    op: &Op,
    answer: &Answer,
) -> Checked {
    let (Some(before), Some(after)) = (before, after) else { return Ok(()) };
    let mut due: BTreeMap<Name, i128> = BTreeMap::new();
    if let Some((_, unit, amount)) = settled_transfer(before, op) {
        *due.entry(unit).or_insert(0) += amount;
    }
    for item in op.request().iter().flat_map(|request| &request.items) {
        *due.entry(item.unit).or_insert(0) += i128::from(item.used.unwrap_or(0));
    }
    if let (Op::DebitItems { items, .. }, Answer::Amount { code: Code::Ok, .. }) = (op, answer) {
        for item in items {
            *due.entry(item.unit).or_insert(0) += i128::from(item.amount);
        }
    }
    if let (Op::Debit { unit, .. }, Answer::Amount { amount, .. }) = (op, answer) {
        *due.entry(*unit).or_insert(0) += i128::from(*amount);
    }
    // A removed bucket takes its totals with it.
    for is in &after.buckets {
        let was = bucket(before, is.no).map_or(0, |was| i128::from(was.consumed));
        *due.entry(is.unit).or_insert(0) += was - i128::from(is.consumed);
    }
    for (account, sign) in [(before, 1), (after, -1)] {
        for uncollected in &account.uncollected {
            *due.entry(uncollected.unit).or_insert(0) += sign * i128::from(uncollected.amount);
        }
    }
    ensure(due.values().all(|&left| left == 0), || format!("I13: not accounted for {due:?}"))
}

/// Checks the invariants between the accounts before and after a tick.
pub(crate) fn ticked(
    before: Option<&Account>,
    after: Option<&Account>,
    change: &Change,
) -> Checked {
    moved(before, after)?;
    remembered(before, after)?;
    bystanders(before, after, None, change.at)?;
    in_time(before, change)?;
    refilled(before, change.at, change)?;
    let mut last = None;
    for op in &change.ops {
        let scurry_ledger::Op::StoreTombstone(tombstone) = op else { continue };
        ensure(tombstone.kind == TombstoneKind::Expired, || format!("a tick: {tombstone:?}"))?;
        let place = Some((tombstone.forget_at, tombstone.id.as_bytes().to_vec()));
        ensure(last < place, || format!("I9: out of order: {tombstone:?}"))?;
        last = place;
    }
    Ok(())
}

/// Checks I19: each period that began while a bucket was valid has brought its credit; the periods are counted one by
/// one.
fn refilled(before: Option<&Account>, now: Time, change: &Change) -> Checked {
    for was in before.iter().flat_map(|account| &account.allowances) {
        let of = before.and_then(|account| bucket(account, was.bucket));
        let Some(of) = of else { return Err(format!("I21: no bucket of {was:?}")) };
        let zone = zone_of(was.cycle);
        let (mut due, mut start) = (0, zone.next_start(was.period_start.0));
        while start <= now.0 {
            due += i128::from(if of.is_valid(Time(start)) { was.amount } else { 0 });
            start = zone.next_start(start);
        }
        let credited = change.ops.iter().map(|op| match op {
            scurry_ledger::Op::Credit(posting) if posting.bucket == was.bucket => posting.amount,
            _ => 0,
        });
        let credited: i128 = credited.map(i128::from).sum();
        // A debt that is written off is credited too, and the model says how much.
        let forgives = was.debt == scurry_ledger::DebtRule::Forgive;
        ensure(credited == due || (forgives && due > 0 && credited > due), || {
            format!("I19: {credited} of {due} by {was:?}, {change:?}")
        })?;
    }
    Ok(())
}

/// Checks I17: released units expire if and only if their bucket ended no later than their session, or the period from
/// which they were held did before, whenever the tick comes. Only a debt may keep units of an ended period.
fn in_time(before: Option<&Account>, change: &Change) -> Checked {
    let Some(before) = before else { return Ok(()) };
    // By bucket: units that must expire, that must not, and that either may happen to.
    let mut due: BTreeMap<BucketNo, [i128; 3]> = BTreeMap::new();
    let ends = |open: &&Session| open.deadline <= change.at && !open.terms.transfer;
    for over in before.sessions.iter().filter(ends) {
        for slice in over.items.iter().flat_map(|item| &item.slices) {
            let Some(of) = bucket(before, slice.bucket) else { continue };
            let expired = of.valid_to.is_some_and(|end| end <= over.deadline);
            let ended = slice.period != of.period || is_refilled(before, of, over.deadline);
            let in_debt = of.available < 0 || !before.carried.is_empty();
            let place = match (expired, ended, in_debt) {
                (true, ..) | (false, true, false) => 0,
                (false, false, _) => 1,
                (false, true, true) => 2,
            };
            due.entry(slice.bucket).or_default()[place] += i128::from(slice.amount);
        }
    }
    let mut back: BTreeMap<BucketNo, [i128; 2]> = BTreeMap::new();
    for op in &change.ops {
        let (posting, place) = match op {
            scurry_ledger::Op::ReleaseExpired(_, posting) => (posting, 0),
            scurry_ledger::Op::Release(_, posting) => (posting, 1),
            _ => continue,
        };
        back.entry(posting.bucket).or_default()[place] += i128::from(posting.amount);
    }
    let fits = due.iter().all(|(no, [expire, stay, either])| {
        let [expired, stayed] = back.get(no).copied().unwrap_or_default();
        expired >= *expire && stayed >= *stay && expired + stayed == expire + stay + either
    });
    ensure(fits && back.len() == due.len(), || format!("I17: {due:?}, {back:?} of {change:?}"))
}

/// Returns the model's form of a cycle.
fn zone_of(cycle: Cycle) -> Zone {
    let clock = match cycle.zone {
        scurry_ledger::Zone::Fixed(minutes) => Clock::Ahead(minutes.into()),
        scurry_ledger::Zone::Named(zone) => Clock::named(zone),
    };
    Zone { period: cycle.period, clock, begin: cycle.begin.into() }
}

/// Reports whether a refill of a bucket is due before this time.
fn is_refilled(before: &Account, of: &Bucket, time: Time) -> bool {
    before.allowances.iter().filter(|allowance| allowance.bucket == of.no).any(|allowance| {
        let zone = zone_of(allowance.cycle);
        let mut start = zone.next_start(allowance.period_start.0);
        while start < time.0 && !of.is_valid(Time(start)) {
            start = zone.next_start(start);
        }
        start < time.0
    })
}
