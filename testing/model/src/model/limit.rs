//! Section 14: limits.

use super::calendar::Zone;
use super::state::{Limit, State};
use super::{Context, ReportedThreshold, calendar, require};
use scurry_ledger::{Code, Command, LimitSubject, LimitTerms, Name, Period, PeriodClock};
use std::collections::BTreeMap;

/// Returns the highest threshold that each limit has reported in the period of `now`.
pub(super) fn levels(state: Option<&State>, now: i64) -> BTreeMap<String, i128> {
    let of = |state: &State| {
        let limits = state.limits.iter();
        limits.map(|limit| (limit.id.clone(), state.limit_at(limit, now).told)).collect()
    };
    state.map(of).unwrap_or_default()
}

/// Returns the thresholds that a Commit reports: each limit that use or a debit brought to a higher one than before,
/// with its used amount afterwards. LIMIT reports none.
pub(super) fn told(
    before: &BTreeMap<String, i128>,
    state: Option<&State>,
    command: &Command<'_>,
    now: i64,
) -> Vec<ReportedThreshold> {
    let (Some(state), false) = (state, matches!(command, Command::Limit { .. })) else {
        return vec![];
    };
    let is_higher = |id: &String, percent: i128| before.get(id).is_some_and(|was| percent > *was);
    let reached = levels(Some(state), now).into_iter();
    let reached = reached.filter(|(id, percent)| is_higher(id, *percent));
    let used = |id: &str| state.limits.iter().find(|limit| limit.id == id).map_or(0, |l| l.used);
    reached.map(|(id, percent)| (id.clone(), percent, used(&id))).collect()
}

impl Limit {
    fn counts(&self, unit: &str, key: Option<&str>) -> bool {
        match &self.counted {
            None => false,
            Some((of, None)) => of == unit,
            Some((of, some)) => of == unit && some.as_deref() == key,
        }
    }

    fn period_at(&self, moment: i64) -> i64 {
        self.zone.number(moment)
    }

    /// Returns when `used` becomes 0, of a limit that was read at a moment.
    pub(super) fn resets_at(&self) -> Option<i64> {
        let year_6429 = 140_737_488_355_327;
        let end = self.zone.next_start(self.written_at);
        (self.zone != Zone::NONE && end <= year_6429).then_some(end)
    }
}

impl State {
    /// Returns the sum of the holds that a limit counts, or the number of open sessions.
    pub(crate) fn held_of(&self, limit: &Limit) -> i128 {
        if limit.counted.is_none() {
            return self.sessions.len() as i128;
        }
        let items = self.sessions.values().flat_map(|session| &session.items);
        let counted = items.filter(|item| limit.counts(&item.unit, Some(&item.key)));
        counted.flat_map(|item| &item.slices).map(|slice| slice.1).sum()
    }

    /// Returns a limit as read at a moment: in a later period than that of the last write nothing is used.
    pub(crate) fn limit_at(&self, limit: &Limit, now: i64) -> Limit {
        let mut read = limit.clone();
        if limit.period_at(limit.written_at) < limit.period_at(now) {
            (read.used, read.told) = (0, 0);
            read.overrun = (self.held_of(limit) - limit.amount).max(0);
            read.debits = vec![];
            read.written_at = now;
        }
        read
    }

    /// Returns how much a limit leaves at a moment.
    pub(crate) fn left_of(&self, limit: &Limit, now: i64) -> i128 {
        let read = self.limit_at(limit, now);
        (read.amount - read.used - self.held_of(limit)).max(0)
    }

    /// Returns the limit that leaves the least of a unit, and how much; the first of several.
    pub(crate) fn tightest(
        &self,
        unit: &str,
        key: Option<&str>,
        now: i64,
    ) -> Option<(String, i128)> {
        let mut least: Option<(String, i128)> = None;
        for limit in self.limits.iter().filter(|limit| limit.counts(unit, key)) {
            let left = self.left_of(limit, now);
            if least.as_ref().is_none_or(|(_, other)| left < *other) {
                least = Some((limit.id.clone(), left));
            }
        }
        least
    }

    /// Returns the limit that lets no other session open, if any.
    pub(crate) fn closed_to_sessions(&self, now: i64) -> Option<String> {
        let of_sessions = self.limits.iter().filter(|limit| limit.counted.is_none());
        let full = of_sessions.filter(|limit| self.left_of(limit, now) == 0);
        full.map(|limit| limit.id.clone()).next()
    }

    /// Returns how much each limit that counts this use leaves, in the order of the limits. Call it before the use
    /// moves anything; use above 0 also moves the limits to the period of `now`.
    pub(crate) fn before_use(
        &mut self,
        unit: &str,
        key: Option<&str>,
        used: i128,
        now: i64,
    ) -> Vec<i128> {
        let all = self.limits.clone();
        let mut left = vec![];
        for (place, limit) in all.iter().enumerate().filter(|(_, l)| l.counts(unit, key)) {
            left.push(self.left_of(limit, now));
            // A use of 0 leaves the limit in the period of its last write.
            if used > 0 {
                self.limits[place] = self.limit_at(limit, now);
            }
        }
        left
    }

    /// Counts a debit, which will be the last of all transactions.
    pub(crate) fn debit_counts(&mut self, of: (&str, Option<&str>), amount: i128, now: i64) {
        let (unit, key) = of;
        let left = self.before_use(unit, key, amount, now);
        self.after_use(unit, key, (amount, amount), &left);
        let place = self.transactions.len();
        let counting = self.limits.iter_mut().filter(|limit| limit.counts(unit, key));
        counting.for_each(|limit| limit.debits.push(place));
    }

    /// Counts a refund of a debit: the limits that counted the debit in the present period give it back.
    pub(crate) fn refund_counts(
        &mut self,
        (unit, key): (&str, Option<&str>),
        debit: &str,
        amount: i128,
        now: i64,
    ) {
        let place = self.transactions.iter().rposition(|known| known.id == debit);
        for limit in self.limits.iter_mut().filter(|limit| limit.counts(unit, key)) {
            let present = limit.period_at(limit.written_at) >= limit.period_at(now);
            if present && place.is_some_and(|place| limit.debits.contains(&place)) {
                limit.used = (limit.used - amount).max(0);
            }
        }
    }

    /// Counts use, and the part of it that no hold covered; `left` is the result of `before_use`.
    pub(crate) fn after_use(
        &mut self,
        unit: &str,
        key: Option<&str>,
        (used, beyond): (i128, i128),
        left: &[i128],
    ) {
        let counting = self.limits.iter_mut().filter(|limit| limit.counts(unit, key));
        for (limit, left) in counting.zip(left) {
            limit.used += used;
            // Use beyond the holds takes up the rest of the limit before it counts as overrun.
            limit.overrun = (limit.overrun + (beyond - left).max(0)).min(i64::MAX.into());
            limit.told = limit.told.max(reached(limit));
        }
    }
}

/// Returns the highest threshold reached, percent; 0 for none.
fn reached(limit: &Limit) -> i128 {
    let is_reached = |percent: i128| limit.used > 0 && limit.used * 100 >= limit.amount * percent;
    if is_reached(100) {
        100
    } else if is_reached(80) {
        80
    } else {
        0
    }
}

/// Executes LIMIT, and returns how much the limit leaves afterwards.
pub(super) fn execute(
    state: &mut State,
    context: Context<'_>,
    id: Name,
    terms: LimitTerms,
    full: bool,
) -> Result<i128, Code> {
    let now = context.now;
    let place = state.limits.iter().position(|limit| limit.id == id.as_str());
    let LimitTerms::Set { counted, amount, period, clock } = terms else {
        state.limits.remove(place.ok_or(Code::UnknownLimit)?);
        require(!full, Code::Busy)?;
        return Ok(0);
    };
    let counted = match counted {
        LimitSubject::Sessions => None,
        LimitSubject::Units { unit, item } => {
            Some((unit.as_str().to_string(), item.map(|key| key.to_string())))
        }
    };
    let (old, new_period) = match place {
        Some(place) => {
            let known = state.limits[place].clone();
            require(known.counted == counted, Code::Invalid)?;
            let new_period = period.unwrap_or(known.zone.period);
            (Some(known), new_period)
        }
        None => (None, period.unwrap_or(Period::None)),
    };
    require(clock == PeriodClock::NONE || new_period != Period::None, Code::Invalid)?;
    let zone = Zone::given(new_period, &clock, old.as_ref().map(|old| old.zone));
    require(zone.is_fine(), Code::Invalid)?;
    require(place.is_some() || state.limits.len() < context.limits.limits_max, Code::Busy)?;
    require(!full, Code::Busy)?;
    let mut limit = match old {
        Some(old) => {
            let mut kept = state.limit_at(&old, now);
            let old_zone = std::mem::replace(&mut kept.zone, zone);
            if (old_zone.period, old_zone.begin) != (zone.period, zone.begin) {
                kept.written_at = now;
            } else if old_zone != zone {
                // Its use counts in the period with the number that it had, or in the present one if that is later.
                let same = calendar::same_period(old_zone, zone, kept.written_at);
                kept.written_at = same.max(now);
            }
            kept
        }
        None => Limit {
            id: id.as_str().to_string(),
            counted,
            amount: 0,
            zone,
            written_at: now,
            used: 0,
            overrun: 0,
            told: 0,
            debits: vec![],
        },
    };
    limit.amount = amount.into();
    limit.overrun = (limit.used + state.held_of(&limit) - limit.amount).max(0);
    limit.told = reached(&limit);
    let left = state.left_of(&limit, now);
    match place {
        Some(place) => state.limits[place] = limit,
        None => state.limits.push(limit),
    }
    state.fits()?;
    Ok(left)
}

/// Checks the fields of LIMIT.
pub(super) fn is_fine(terms: &LimitTerms) -> bool {
    let LimitTerms::Set { counted, amount, period, clock } = terms else { return true };
    let zone = clock_is_fine(*period, clock);
    let periodical = period.is_some() || *clock != PeriodClock::NONE;
    let without = *counted == LimitSubject::Sessions || *period == Some(Period::None);
    *amount >= 0
        && zone
        && !(*counted == LimitSubject::Sessions && periodical)
        && !(without && *clock != PeriodClock::NONE)
}

/// Checks OFFSET, ZONE and BEGIN: one zone at most, at most 14 hours from UTC, and a begin that the period can have.
pub(super) fn clock_is_fine(period: Option<Period>, clock: &PeriodClock) -> bool {
    let near = clock.offset_minutes.is_none_or(|minutes| minutes.unsigned_abs() <= 14 * 60);
    let one = clock.offset_minutes.is_none() || clock.zone.is_none();
    let begin = period.is_none_or(|period| Zone::given(period, clock, None).is_fine());
    near && one && begin
}
