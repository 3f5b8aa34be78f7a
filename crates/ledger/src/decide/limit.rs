//! SCUR.LIMIT, and how limits bound grants, debits and use (docs/ledger.md section 14).

use super::draft::{Draft, OVERFLOW};
use super::fields::{BEGIN_RANGE, CLOCK_WITHOUT_PERIOD};
use super::{Step, reject};
use crate::{
    Account, Code, Cycle, Final, ItemAt, ItemKey, Limit, LimitAt, LimitSubject, LimitTerms, Name,
    Op, Period, PeriodClock, Span, Time, Window, WindowTerms,
};
use alloc::boxed::Box;

/// A change of a limit whose fields and state have been checked.
pub(super) enum PlannedLimit {
    Set { id: Name, counted: LimitSubject, amount: i64, window: Window },
    Remove(Name),
}

/// Checks SCUR.LIMIT against the state: UNKNOWN_LIMIT, INVALID, BUSY.
pub(super) fn plan(draft: &Draft<'_>, id: Name, terms: &LimitTerms) -> Step<PlannedLimit> {
    let account = draft.account();
    let known = account.limit(id).copied();
    let LimitTerms::Set { counted, amount, window } = *terms else {
        return match known {
            Some(_) => Ok(PlannedLimit::Remove(id)),
            None => reject(Code::UnknownLimit, "the account has no limit with this id"),
        };
    };
    if known.is_some_and(|known| known.counted != counted) {
        return reject(
            Code::Invalid,
            "the limit counts something else: use another id, or remove it first",
        );
    }
    let window = changed_window(known.map_or(Window::NONE, |known| known.window), window)?;
    if known.is_none() && account.limits.len() >= draft.limits.limits_max {
        let bound = ("limits_max", draft.limits.limits_max);
        return draft.busy(bound, None, "the account has as many as allowed: remove one");
    }
    Ok(PlannedLimit::Set { id, counted, amount, window })
}

impl PlannedLimit {
    /// Applies the change. Returns the rest of the limit.
    pub(super) fn carry_out(self, draft: &mut Draft<'_>) -> Step<i64> {
        match self {
            PlannedLimit::Remove(id) => {
                draft.record(Op::RemoveLimit(id));
                Ok(0)
            }
            PlannedLimit::Set { id, counted, amount, window } => {
                let limit = match draft.account().limit(id).copied() {
                    Some(known) => up_to_now(draft, known),
                    None => new_limit(draft, id, counted)?,
                };
                let limit = set(draft, Limit { amount, ..limit }, window)?;
                draft.record(Op::SetLimit(Box::new(limit)));
                Ok(limit.left(draft.account().held_in(&limit)))
            }
        }
    }
}

/// Returns the window after a command. Spans have been checked with the fields.
fn changed_window(before: Window, terms: WindowTerms) -> Step<Window> {
    let span = |ms| Span::new(ms).map_or_else(|| reject(Code::Invalid, CLOCK_WITHOUT_PERIOD), Ok);
    match terms {
        WindowTerms::UNSAID => Ok(before),
        WindowTerms::Rolling { span_ms } => span(span_ms).map(Window::Rolling),
        WindowTerms::Rate { span_ms, burst } => {
            span(span_ms).map(|span| Window::Rate { span, burst })
        }
        WindowTerms::Period { period, clock } => {
            let before = before.cycle().unwrap_or(Cycle::NONE);
            changed_cycle(before, period, clock).map(Window::Period)
        }
    }
}

fn changed_cycle(before: Cycle, period: Option<Period>, clock: PeriodClock) -> Step<Cycle> {
    let period = period.unwrap_or(before.period);
    if period == Period::None && clock.is_given() {
        return reject(Code::Invalid, CLOCK_WITHOUT_PERIOD);
    }
    let cycle = clock.cycle(period, before);
    if cycle.is_valid() { Ok(cycle) } else { reject(Code::Invalid, BEGIN_RANGE) }
}

/// Returns a limit of the account as it is now. Of a rolling limit the parts that are over are dropped first; `since`
/// is then the version from which on refunds are taken out of what is used.
fn up_to_now(draft: &mut Draft<'_>, known: Limit) -> Limit {
    let read = draft.account().limit_at(&known, draft.now);
    if known.window.cycle().is_some_and(Cycle::begins_with_use) {
        // A period is not begun by a change of its limit.
        let since = if read == known { known.since } else { draft.next_version() };
        return Limit { since, ..read };
    }
    let place = draft.account().limits.iter().position(|limit| limit.id == known.id);
    if let (Some(place), Some(start)) = (place, draft.account().begins(&known, draft.now)) {
        let limit = LimitAt(u8::try_from(place).unwrap_or(u8::MAX));
        draft.record(Op::BeginLimitPeriod { limit, start });
    }
    let known = *draft.account().limit(known.id).unwrap_or(&known);
    let first = draft.account().parts_of(&known).first();
    Limit { since: first.map_or(known.since, |part| part.since), parts: 0, ..known }
}

/// Returns a limit without a window, whose `held` counts the holds that exist already. The host has loaded every session.
fn new_limit(draft: &Draft<'_>, id: Name, counted: LimitSubject) -> Step<Limit> {
    let items = draft.account().sessions.iter().flat_map(|session| &session.items);
    let of_it = items.filter(|item| counted.has(item.unit, Some(item.key)));
    let held: i128 = of_it.map(|item| i128::from(item.outstanding())).sum();
    Ok(Limit {
        id,
        counted,
        amount: 0,
        window: Window::NONE,
        period_start: Cycle::NONE.start(draft.now),
        since: draft.next_version(),
        used: 0,
        drained: 0,
        overrun: 0,
        held: i64::try_from(held).map_err(|_| OVERFLOW)?,
        told: 0,
        parts: 0,
    })
}

/// Returns the limit with its amount and this window. A changed window keeps what is used.
fn set(draft: &Draft<'_>, mut limit: Limit, window: Window) -> Step<Limit> {
    if window != limit.window {
        let has_periods = limit.window.cycle().is_some() && window.cycle().is_some();
        limit.change_window(window, draft.now);
        // What is used at another window begins now; of nothing, no refund takes anything.
        if limit.used == 0 && !has_periods {
            limit.since = draft.next_version();
        }
    }
    let held = draft.account().held_in(&limit);
    limit.used.checked_add(held).ok_or(OVERFLOW)?;
    limit.overrun = limit.above(held);
    limit.told = limit.reached();
    Ok(limit)
}

/// Returns the limit that leaves the least of a unit, the first of several, and how much it leaves; `None` if no limit
/// counts the unit.
#[inline]
pub(super) fn tightest(account: &Account, of: CountedUnits, now: Time) -> Option<(Name, i64)> {
    if account.limits.is_empty() {
        return None;
    }
    first_of_least(account, now, |counted| counted.has(of.unit, of.item))
}

/// Returns what the limits that count a unit would leave of it if nothing were held; `None` if none counts it.
#[cold]
pub(super) fn left_without_holds(account: &Account, of: CountedUnits, now: Time) -> Option<i64> {
    let counts = |limit: &&Limit| limit.counted.has(of.unit, of.item);
    account.limits.iter().filter(counts).map(|limit| account.limit_at(limit, now).left(0)).min()
}

/// Returns a limit of open sessions that leaves no room for another session, and whether others have the places.
#[inline]
pub(super) fn full_session_limit(account: &Account, now: Time) -> Option<(Name, Final)> {
    if account.limits.is_empty() {
        return None;
    }
    let least = first_of_least(account, now, |counted| counted == LimitSubject::Sessions);
    let (id, _) = least.filter(|(_, left)| *left == 0)?;
    // With an amount above 0 it is other sessions that leave none.
    let has_places = account.limit(id).is_some_and(|limit| limit.amount > 0);
    Some((id, if has_places { Final::Held } else { Final::Last }))
}

#[inline(never)]
fn first_of_least(
    account: &Account,
    now: Time,
    has: impl Fn(LimitSubject) -> bool,
) -> Option<(Name, i64)> {
    let those = account.limits.iter().filter(|limit| has(limit.counted));
    those.map(|limit| (limit.id, account.left_in(limit, now))).min_by_key(|(_, left)| *left)
}

/// Records that a limit has reached a threshold: once in a Commit, with the highest threshold and the use after
/// everything that the Commit counts.
#[cold]
fn tell(draft: &mut Draft<'_>, at: LimitAt, percent: u8) {
    let Limit { id, amount, used, told, .. } = draft.account().limits[usize::from(at.0)];
    // An earlier op of this command may already tell of this limit: it is replaced, so that only the last one stays.
    if draft.take_back_threshold(id) || percent > told {
        draft.name_identities();
        draft.record(Op::ReachThreshold { limit: id, percent, used, amount });
    }
}

/// Units as limits count them: those of one item, or those without an item.
#[derive(Clone, Copy)]
pub(crate) struct CountedUnits {
    pub(crate) unit: Name,
    pub(crate) item: Option<ItemKey>,
}

impl CountedUnits {
    /// Returns the units of an item.
    pub(super) fn of_item(draft: &Draft<'_>, at: ItemAt) -> CountedUnits {
        let item = draft.item(at);
        CountedUnits { unit: item.unit, item: Some(item.key) }
    }

    /// Begins the present period for every limit that counts these units. Must run before the use moves any hold: what
    /// is held at that moment may be above the amount in the new period too.
    #[inline]
    pub(super) fn begin(self, draft: &mut Draft<'_>) {
        if !draft.account().limits.is_empty() {
            self.each(draft, |draft, at, limit| {
                if let Some(start) = draft.account().begins(&limit, draft.now) {
                    draft.record(Op::BeginLimitPeriod { limit: at, start });
                }
                Ok(())
            })
            .expect("nothing is refused");
        }
    }

    /// Counts use, of which `from_hold` was held.
    #[inline]
    pub(super) fn count(self, draft: &mut Draft<'_>, used: i64, from_hold: i64) -> Step<()> {
        if draft.account().limits.is_empty() {
            return Ok(());
        }
        self.each(draft, |draft, at, limit| {
            let all = i128::from(limit.used) + i128::from(used) + i128::from(limit.held);
            if all > i128::from(i64::MAX) {
                return Err(OVERFLOW);
            }
            // `held` is already reduced by `from_hold`: adding it back gives what was left before the use.
            let left = limit.left(limit.held + from_hold);
            // Refunds reduce `used` but not `overrun`, so `overrun` alone can reach the end of 64 bits.
            let overrun = (used - from_hold - left).max(0).min(i64::MAX - limit.overrun);
            draft.record(Op::CountUse { limit: at, used, overrun });
            let percent = draft.account().limits[usize::from(at.0)].reached();
            if percent > 0 {
                tell(draft, at, percent);
            }
            Ok(())
        })
    }

    /// Takes a refunded amount out of the counted use, if the debit still counts: it was committed with the account's
    /// version `debited`.
    #[inline]
    pub(super) fn uncount(self, draft: &mut Draft<'_>, amount: i64, debited: u64) {
        if !draft.account().limits.is_empty() {
            self.each(draft, |draft, at, limit| {
                let (part, counted) = draft.account().counted_of(&limit, debited, draft.now);
                let amount = amount.min(counted);
                if amount > 0 {
                    draft.record(Op::UncountUse { limit: at, part, amount });
                }
                Ok(())
            })
            .expect("nothing is refused");
        }
    }

    #[inline(never)]
    fn each(
        self,
        draft: &mut Draft<'_>,
        act: impl Fn(&mut Draft<'_>, LimitAt, Limit) -> Step<()>,
    ) -> Step<()> {
        for place in 0..draft.account().limits.len() {
            let limit = draft.account().limits[place];
            if limit.counted.has(self.unit, self.item) {
                act(draft, LimitAt(u8::try_from(place).unwrap_or(u8::MAX)), limit)?;
            }
        }
        Ok(())
    }
}
