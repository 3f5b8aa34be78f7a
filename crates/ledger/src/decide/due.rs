//! Handles everything that is due before a command (docs/ledger.md section 3): sessions whose Tcc ran out (RFC 8506
//! section 7, state Open, event "session supervision timer expired"), buckets whose validity ended, periods in which a
//! bucket is refilled, and ids and former identities whose time to be remembered is over. Each is done as of its own time, so it does not
//! matter whether a timer ran before a command arrives.

use super::draft::Draft;
use super::former;
use super::units::release_item;
use crate::{
    Account, Allowance, Bucket, BucketNo, DebtRule, Id, Op, Posting, Session, SessionAt, Time,
    Tombstone, TombstoneKind,
};
use alloc::boxed::Box;
use alloc::vec::Vec;

/// One thing that is due. Within one moment things are handled in the order of the variants.
enum Due {
    Session(Id),
    Bucket(BucketNo),
}

/// Returns when the account next has something due; a host sets its timer to it. Refills have no timer: ten million
/// accounts would all have theirs at midnight.
#[inline]
pub fn next_due(account: &Account) -> Option<Time> {
    let mut first = None;
    any_due(account, |due| {
        first = Some(first.map_or(due, |first: Time| first.min(due)));
        false
    });
    first
}

/// Calls `is` with the times at which something comes due, refills excepted, until it returns true. Reports whether it
/// did.
#[expect(clippy::inline_always, reason = "so it is a few comparisons where it is called")]
#[inline(always)]
fn any_due(account: &Account, mut is: impl FnMut(Time) -> bool) -> bool {
    for session in &account.sessions {
        if is(session.deadline) {
            return true;
        }
    }
    for bucket in &account.buckets {
        if bucket.available > 0 && bucket.valid_to.is_some_and(&mut is) {
            return true;
        }
    }
    for former in &account.former_identities {
        if is(former.forget_at) {
            return true;
        }
    }
    account.tombstones.next_forget().is_some_and(&mut is)
        || account.transactions.next_forget().is_some_and(&mut is)
        || account.unloaded.as_ref().and_then(|unloaded| unloaded.next_due()).is_some_and(is)
}

/// Reports whether anything is due at `now`, refills included.
#[inline]
pub(crate) fn is_due(account: &Account, now: Time) -> bool {
    any_due(account, |due| due <= now)
        || (!account.allowances.is_empty() && is_refill_due(account, now))
}

#[cold]
fn is_refill_due(account: &Account, now: Time) -> bool {
    let mut allowances = account.allowances.iter();
    allowances.any(|of| {
        account.bucket_no(of.bucket).is_some_and(|bucket| {
            let is_left = of.owed > 0 && bucket.is_expired(now) && rest_of(bucket, of.owed) > 0;
            of.refills(bucket, now) > 0 || is_left
        })
    })
}

/// Returns what is left in a bucket when its validity ends, beside the debt that its allowance carries.
fn rest_of(bucket: &Bucket, owed: i64) -> i64 {
    bucket.available.saturating_add(owed)
}

/// Records everything that is due by the draft's time, in the order (time, sessions first, id).
#[inline]
pub(crate) fn expire_due(draft: &mut Draft<'_>) {
    if is_due(draft.account(), draft.now) {
        expire(draft, draft.now);
    }
}

#[cold]
fn expire(draft: &mut Draft<'_>, now: Time) {
    debug_assert!(
        draft.account().first_deadline_elsewhere().is_none_or(|deadline| deadline > now),
        "the host brings in every session that is due"
    );
    for due in collect(draft) {
        match due {
            Due::Session(id) => expire_session(draft, &id),
            Due::Bucket(no) => {
                // Refills that were due before the end come first, so that they expire with the rest.
                refill(draft, no, now);
                // What the refills did not pay stays as a debt.
                let amount = rest_of(draft.bucket(no), draft.account().owed_by(no));
                if amount > 0 {
                    draft.record(Op::Expire(Posting { bucket: no, amount }));
                }
            }
        }
    }
    // The refills that are left: of buckets without an event above, and of periods after the last event.
    for place in 0..draft.account().allowances.len() {
        refill(draft, draft.account().allowances[place].bucket, now);
    }
    let former = match draft.account().former_identities.is_empty() {
        true => Vec::new(),
        false => former::due(draft),
    };
    let account = draft.account();
    let forgettable = |time: Option<Time>| time.is_some_and(|time| time <= now);
    if forgettable(account.first_tombstone()) || forgettable(account.first_transaction()) {
        draft.record(Op::Forget);
    }
    former::settle(draft, former);
}

fn collect(draft: &Draft<'_>) -> Vec<Due> {
    let account = draft.account();
    let mut due = Vec::new();
    for session in &account.sessions {
        if session.deadline <= draft.now {
            due.push((
                session.deadline,
                0,
                session.id.as_bytes(),
                Due::Session(session.id.clone()),
            ));
        }
    }
    for bucket in &account.buckets {
        if let Some(end) = bucket.valid_to.filter(|&end| end <= draft.now) {
            due.push((end, 1, bucket.id.as_bytes(), Due::Bucket(bucket.no)));
        }
    }
    due.sort_by(|a, b| (a.0, a.1, a.2).cmp(&(b.0, b.1, b.2)));
    due.into_iter().map(|(_, _, _, due)| due).collect()
}

/// Refills a bucket that has an allowance, for each period that begins by `until` while the bucket is valid. At the
/// start of each period the rest above the rollover expires, so any number of periods takes as few facts as one.
pub(super) fn refill(draft: &mut Draft<'_>, no: BucketNo, until: Time) {
    let Some(allowance) = draft.account().allowance(no).copied() else { return };
    let bucket = draft.bucket(no);
    let count = allowance.refills(bucket, until);
    if count == 0 {
        return;
    }
    let met = met_debt(draft, &allowance);
    // The first of several meets the greatest debt. It comes alone if an older debt is forgotten for it.
    if count > 1
        && draft.account().forgets_a_debt_for(no, met.noted)
        && let Some(first) = allowance.next_refill(bucket, Time(0))
    {
        refill(draft, no, first);
        return refill(draft, no, until);
    }
    let last = Allowance::last_moment(bucket, until);
    let amount = i128::from(allowance.amount);
    let credit = i128::from(count) * amount + i128::from(met.forgiven);
    let all = i128::from(bucket.available) + credit;
    let most = amount + i128::from(allowance.rollover) - i128::from(met.owed);
    // Neither conversion fails: the credit of all future refills was checked when the allowance was set (I18).
    let narrow = |amount: i128| i64::try_from(amount).unwrap_or(i64::MAX);
    let (credit, over) = (narrow(credit), narrow(all - all.min(most)));
    // A debt that the refills pay is lower when the last of them comes.
    let carried = match allowance.debt {
        DebtRule::Carry => met.noted,
        DebtRule::Net | DebtRule::Forgive => narrow((amount - all).max(0)),
    };
    let period_start = allowance.cycle.start(last);
    if met.owed != allowance.owed {
        draft.record(Op::SetAllowance(Allowance { owed: met.owed, ..allowance }));
    }
    draft.record(Op::BeginPeriod { bucket: no, period_start, carried });
    if over > 0 {
        draft.record(Op::Expire(Posting { bucket: no, amount: over }));
    }
    draft.record(Op::Credit(Posting { bucket: no, amount: credit }));
}

/// A debt that a refill meets.
struct MetDebt {
    /// Debt that is left for the periods to come.
    noted: i64,
    /// Debt that the refills do not pay.
    owed: i64,
    /// Debt that is written off.
    forgiven: i64,
}

fn met_debt(draft: &Draft<'_>, allowance: &Allowance) -> MetDebt {
    let bucket = draft.bucket(allowance.bucket);
    let debt = bucket.available.saturating_neg().max(0);
    match allowance.debt {
        DebtRule::Net => MetDebt { noted: debt, owed: 0, forgiven: 0 },
        DebtRule::Carry => {
            let owed = debt.max(allowance.owed);
            MetDebt { noted: owed, owed, forgiven: 0 }
        }
        DebtRule::Forgive => {
            // The totals of the bucket need room for the refills to come as well (I18).
            let inflow = i128::from(bucket.credited) + i128::from(bucket.refunded);
            let room = i128::from(i64::MAX) - inflow - allowance.still_to_come(bucket);
            let forgiven = i64::try_from(room.max(0)).unwrap_or(i64::MAX).min(debt);
            MetDebt { noted: debt - forgiven, owed: 0, forgiven }
        }
    }
}

/// Returns the refilled buckets in which a session holds something.
fn refilled_buckets(draft: &Draft<'_>, session: SessionAt) -> Vec<BucketNo> {
    let slices = draft.session(session).items.iter().flat_map(|item| &item.slices);
    let account = draft.account();
    slices.map(|slice| slice.bucket).filter(|&no| account.allowance(no).is_some()).collect()
}

fn expire_session(draft: &mut Draft<'_>, id: &Id) {
    // A host that keeps a busy account apart loads the session that is due first as the last one, so search from the
    // end.
    let place = draft.account().sessions.iter().rposition(|session| session.id == *id);
    let Some(place) = place else { return };
    let session = draft.name(place);
    if draft.session(session).terms.transfer {
        return postpone(draft, session);
    }
    let deadline = draft.session(session).deadline;
    let last = draft.session(session).answers.last();
    if !draft.account().allowances.is_empty() {
        // Units that come back after the end of their period expire. A period that begins exactly at the deadline begins
        // after it.
        for no in refilled_buckets(draft, session) {
            refill(draft, no, deadline.plus_ms(-1));
        }
    }
    draft.name_identities();
    for index in 0..draft.session(session).items.len() {
        let item = draft.item_at(session, index);
        if !draft.item(item).slices.is_empty() {
            draft.name_item(item);
            release_item(draft, item, deadline);
        }
    }
    draft.record(Op::CloseSession(session));
    // The tombstone's own forget time may be over too. It is recorded all the same: the fact tells which session ended,
    // and how.
    let forget_at = deadline.plus_ms(draft.limits.tombstone_ms);
    let tombstone = Tombstone::new(id.clone(), forget_at, TombstoneKind::Expired, last);
    draft.record(Op::StoreTombstone(Box::new(tombstone)));
}

/// Sets the time at which the host tries again, of a transfer at its deadline.
fn postpone(draft: &mut Draft<'_>, session: SessionAt) {
    loop {
        let Session { tcc_ms, deadline, validity_ms, .. } = *draft.session(session);
        if deadline > draft.now {
            return;
        }
        let tcc_ms = tcc_ms.saturating_mul(2);
        let deadline = deadline.plus_ms(tcc_ms);
        draft.record(Op::Supervise { session, validity_ms, tcc_ms, deadline });
    }
}

/// Remembers a session that a command has closed, and forgets it at once if its forget time is not in the future.
pub(super) fn bury(draft: &mut Draft<'_>, tombstone: Tombstone) {
    let is_over = tombstone.forget_at <= draft.now;
    draft.record(Op::StoreTombstone(Box::new(tombstone)));
    if is_over {
        draft.record(Op::Forget);
    }
}
