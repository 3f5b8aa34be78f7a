//! Section 14: limits.

use super::calendar::{NOT_BEGUN, Zone};
use super::state::{Limit, State, Window};
use super::{Context, ReportedThreshold, calendar, require};
use scurry_ledger::{
    Code, Command, LimitSubject, LimitTerms, Name, Period, PeriodClock, Time, WindowTerms,
};
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

    /// Returns the most that may be used and held at once.
    pub(super) fn most(&self) -> i128 {
        match self.window {
            Window::Rate { burst: Some(burst), .. } => burst,
            _ => self.amount,
        }
    }

    /// Returns when a period begins in which nothing is used yet.
    fn begins(&self, now: i64) -> i64 {
        match self.window {
            Window::Periods(zone) if zone.length_from_use().is_some() => NOT_BEGUN,
            _ => now,
        }
    }

    /// Returns whether a later period than that of the last write has begun.
    fn is_over(&self, zone: Zone, now: i64) -> bool {
        zone.is_over(self.written_at, now)
    }

    /// Returns when `used` becomes 0 if nothing more is used, of a limit that was read at a moment.
    pub(super) fn resets_at(&self) -> Option<i64> {
        let end = match &self.window {
            Window::Periods(zone) if *zone == Zone::NONE => return None,
            Window::Periods(zone) => match zone.length_from_use() {
                Some(_) if self.written_at == NOT_BEGUN => return None,
                Some(length) => self.written_at + length,
                None => zone.next_start(self.written_at),
            },
            Window::Rolling { span, parts } => {
                let used = parts.iter().filter(|(_, used)| **used > 0);
                used.map(|(part, _)| part_end(*span, *part)).max()?
            }
            Window::Rate { .. } if self.used == 0 || self.amount == 0 => return None,
            Window::Rate { level, .. } => {
                let ms = (level + self.amount - 1) / self.amount;
                self.written_at.saturating_add(i64::try_from(ms).unwrap_or(i64::MAX))
            }
        };
        Some(end).filter(|&end| end <= YEAR_6429)
    }

    /// Sets `used` from the parts or the level.
    fn sum_up(&mut self) {
        match &self.window {
            Window::Periods(_) => {}
            Window::Rolling { parts, .. } => self.used = parts.values().sum(),
            Window::Rate { span, level, .. } => {
                let span = i128::from(*span);
                self.used = (level + span - 1) / span;
            }
        }
    }

    /// Adds use, or takes it back, at the moment of the last write; a part of it is named by its number.
    fn add(&mut self, used: i128, to: i64) {
        match &mut self.window {
            Window::Periods(_) => self.used = (self.used + used).max(0),
            Window::Rolling { parts, .. } => {
                let part = parts.entry(to).or_default();
                *part = (*part + used).max(0);
            }
            Window::Rate { span, level, .. } => {
                *level = (*level + used * i128::from(*span)).max(0);
            }
        }
        self.sum_up();
    }

    /// Returns the number of the part of a rolling span that contains a moment; 0 of another window.
    fn part_at(&self, moment: i64) -> i64 {
        match self.window {
            Window::Rolling { span, .. } => moment.div_euclid(part_len(span)),
            _ => 0,
        }
    }

    /// Lets use go that counts no more at a moment.
    fn pass(&mut self, now: i64) {
        let amount = self.amount;
        match &mut self.window {
            Window::Periods(_) => {}
            Window::Rolling { span, parts } => {
                let span = *span;
                parts.retain(|part, _| now < part_end(span, *part));
                self.debits.retain(|(_, part)| now < part_end(span, *part));
            }
            Window::Rate { span, level, .. } => {
                let passed = i128::from(now - self.written_at);
                *level = (*level - amount * passed).max(0);
                if *level < i128::from(*span) {
                    self.debits = vec![];
                }
            }
        }
        self.written_at = now;
        self.sum_up();
    }
}

const YEAR_6429: i64 = 140_737_488_355_327;

/// Returns the length of the thirtieth part of a span, rounded up.
fn part_len(span: i64) -> i64 {
    (span + 29) / 30
}

/// Returns the first moment at which the last ms of a part is as old as the span.
fn part_end(span: i64, part: i64) -> i64 {
    (part + 1) * part_len(span) - 1 + span
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

    /// Returns a limit as read at a moment: use that counts no more is gone.
    pub(crate) fn limit_at(&self, limit: &Limit, now: i64) -> Limit {
        let mut read = limit.clone();
        if let Window::Periods(zone) = limit.window {
            // In a later period than that of the last write nothing is used.
            if limit.is_over(zone, now) {
                (read.used, read.told) = (0, 0);
                read.overrun = (self.held_of(limit) - limit.amount).max(0);
                read.debits = vec![];
                read.written_at = limit.begins(now);
            }
        } else {
            read.pass(now);
            let above = read.used + self.held_of(limit) - read.most();
            read.overrun = read.overrun.min(above.max(0));
            read.told = read.told.min(reached(&read));
        }
        read
    }

    /// Returns how much a limit leaves at a moment.
    pub(crate) fn left_of(&self, limit: &Limit, now: i64) -> i128 {
        let read = self.limit_at(limit, now);
        (read.most() - read.used - self.held_of(limit)).max(0)
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

    /// Returns when all of these amounts, each with its unit and item key, would be allowed if nothing but time passed.
    pub(crate) fn allowed_at(
        &self,
        wanted: &[(String, Option<String>, i128)],
        now: i64,
    ) -> Option<Time> {
        // One after the other, as the debits would be.
        let mut left = self.clone();
        for (unit, key, amount) in wanted {
            let key = key.as_deref();
            if *amount > left.grantable(unit, key, now) {
                return None;
            }
            for (serial, amount) in left.spread(unit, key, *amount, now).0 {
                left.bucket(serial).iter_mut().for_each(|bucket| bucket.consumed += amount);
            }
        }
        let mut last = None;
        for limit in &self.limits {
            let counted = wanted.iter().filter(|(unit, key, _)| limit.counts(unit, key.as_deref()));
            let all: i128 = counted.map(|(.., amount)| amount).sum();
            if self.left_of(limit, now) < all {
                last = last.max(Some(self.leaves_at(limit, all, now)?));
            }
        }
        last.map(Time)
    }

    /// Returns the first moment at which a limit leaves so much, found by halving the time to come.
    fn leaves_at(&self, limit: &Limit, amount: i128, now: i64) -> Option<i64> {
        if let Window::Periods(zone) = limit.window {
            let is_enough = limit.amount - self.held_of(limit) >= amount;
            let end = self.limit_at(limit, now).resets_at();
            return end.filter(|_| is_enough && zone != Zone::NONE);
        }
        let (mut early, mut late) = (now, YEAR_6429);
        if self.left_of(limit, late) < amount {
            return None;
        }
        while late - early > 1 {
            let middle = early + (late - early) / 2;
            match self.left_of(limit, middle) < amount {
                true => early = middle,
                false => late = middle,
            }
        }
        Some(late)
    }

    /// Returns the limit that lets no other session open, if any.
    pub(crate) fn closed_to_sessions(&self, now: i64) -> Option<String> {
        let of_sessions = self.limits.iter().filter(|limit| limit.counted.is_none());
        let full = of_sessions.filter(|limit| self.left_of(limit, now) == 0);
        full.map(|limit| limit.id.clone()).next()
    }

    /// Returns what could be granted of an item if no item held anything: what is held counts as available in the
    /// valid buckets, and as not held in limits.
    pub(crate) fn grantable_alone(&self, unit: &str, key: &str, now: i64) -> i128 {
        let (mut buckets, mut limits) = (self.clone(), self.clone());
        let valid: Vec<u32> = self
            .buckets
            .iter()
            .filter(|b| b.is_valid(now) && b.is_for(Some(key)))
            .map(|b| b.serial)
            .collect();
        let items = buckets.sessions.values_mut().flat_map(|session| &mut session.items);
        items.for_each(|item| item.slices.retain(|slice| !valid.contains(&slice.0)));
        let items = limits.sessions.values_mut().flat_map(|session| &mut session.items);
        items.for_each(|item| item.slices.clear());
        let in_buckets = buckets.grantable(unit, Some(key), now);
        limits.tightest(unit, Some(key), now).map_or(in_buckets, |(_, left)| left.min(in_buckets))
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
                if self.limits[place].written_at == NOT_BEGUN {
                    self.limits[place].written_at = now;
                }
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
        counting.for_each(|limit| limit.debits.push((place, limit.part_at(now))));
    }

    /// Counts a refund of a debit: the limits for which the debit still counts give it back.
    pub(crate) fn refund_counts(
        &mut self,
        (unit, key): (&str, Option<&str>),
        debit: &str,
        amount: i128,
        now: i64,
    ) {
        let place = self.transactions.iter().rposition(|known| known.id == debit);
        for limit in self.limits.iter_mut().filter(|limit| limit.counts(unit, key)) {
            let mut read = limit.clone();
            match limit.window {
                Window::Periods(zone) if limit.is_over(zone, now) => continue,
                Window::Periods(_) => {}
                // What is noted of an excess and of thresholds is lowered by the next use.
                _ => read.pass(now),
            }
            let counted = read.debits.iter().find(|(of, _)| Some(*of) == place).copied();
            if let Some((_, part)) = counted {
                read.add(-amount, part);
                *limit = read;
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
            limit.add(used, limit.part_at(limit.written_at));
            // Use beyond the holds takes up the rest of the limit before it counts as overrun.
            limit.overrun = (limit.overrun + (beyond - left).max(0)).min(i64::MAX.into());
            limit.told = limit.told.max(reached(limit));
        }
    }
}

/// Returns the highest threshold reached, percent; 0 for none.
fn reached(limit: &Limit) -> i128 {
    let is_reached = |percent: i128| limit.used > 0 && limit.used * 100 >= limit.most() * percent;
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
    let LimitTerms::Set { counted, amount, window } = terms else {
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
    let old = place.map(|place| state.limits[place].clone());
    require(old.as_ref().is_none_or(|old| old.counted == counted), Code::Invalid)?;
    let window = next_window(old.as_ref().map(|old| &old.window), window)?;
    require(place.is_some() || state.limits.len() < context.limits.limits_max, Code::Busy)?;
    require(!full, Code::Busy)?;
    let mut limit = match old {
        Some(old) => moved(state.limit_at(&old, now), window, now),
        None => Limit {
            id: id.as_str().to_string(),
            counted,
            amount: 0,
            window,
            written_at: now,
            used: 0,
            overrun: 0,
            told: 0,
            debits: vec![],
        },
    };
    if place.is_none() {
        limit.written_at = limit.begins(now);
    }
    limit.amount = amount.into();
    limit.overrun = (limit.used + state.held_of(&limit) - limit.most()).max(0);
    limit.told = reached(&limit);
    let left = state.left_of(&limit, now);
    match place {
        Some(place) => state.limits[place] = limit,
        None => state.limits.push(limit),
    }
    state.fits()?;
    Ok(left)
}

/// Returns the window that a command sets, with nothing used in it.
fn next_window(old: Option<&Window>, terms: WindowTerms) -> Result<Window, Code> {
    Ok(match terms {
        WindowTerms::Rolling { span_ms } => {
            Window::Rolling { span: span_ms, parts: BTreeMap::new() }
        }
        WindowTerms::Rate { span_ms, burst } => {
            Window::Rate { span: span_ms, burst: burst.map(i128::from), level: 0 }
        }
        WindowTerms::Period { period, clock } => {
            let before = match old {
                Some(Window::Periods(zone)) => Some(*zone),
                Some(other) if period.is_none() && clock == PeriodClock::NONE => {
                    return Ok(other.clone());
                }
                _ => None,
            };
            let usual = before.map_or(Period::None, |zone| zone.period);
            let period = period.unwrap_or(usual);
            require(clock == PeriodClock::NONE || period != Period::None, Code::Invalid)?;
            let zone = Zone::given(period, &clock, before);
            require(zone.is_fine(), Code::Invalid)?;
            Window::Periods(zone)
        }
    })
}

/// Returns a limit as read at a moment with another window: what is used stays.
fn moved(mut limit: Limit, window: Window, now: i64) -> Limit {
    let old = std::mem::replace(&mut limit.window, window.clone());
    let old_is_other = old != window;
    match (&old, &window) {
        (Window::Periods(old), Window::Periods(zone)) => {
            if (old.period, old.begin) != (zone.period, zone.begin) {
                limit.written_at = now;
            } else if old != zone {
                // Its use counts in the period with the number that it had, or in the present one if that is later.
                let same = calendar::same_period(*old, *zone, limit.written_at);
                limit.written_at = same.max(now);
            }
        }
        (Window::Rolling { span, .. }, Window::Rolling { span: other, .. }) if span == other => {
            limit.window = old;
        }
        (Window::Rate { span, level, .. }, Window::Rate { span: other, burst, .. })
            if span == other =>
        {
            limit.window = Window::Rate { span: *span, burst: *burst, level: *level };
        }
        _ => {
            let used = std::mem::take(&mut limit.used);
            limit.written_at = now;
            let part = limit.part_at(now);
            limit.debits.iter_mut().for_each(|(_, of)| *of = part);
            if used == 0 {
                limit.debits = vec![];
            }
            limit.add(used, part);
        }
    }
    if old_is_other && limit.used == 0 && limit.begins(now) == NOT_BEGUN {
        limit.written_at = NOT_BEGUN;
    }
    limit
}

/// Checks the fields of LIMIT.
pub(super) fn is_fine(terms: &LimitTerms) -> bool {
    let LimitTerms::Set { counted, amount, window } = terms else { return true };
    let second_to_9999_days = 1_000..=9_999 * 24 * 60 * 60 * 1_000;
    let window_is_fine = match window {
        WindowTerms::Period { period, clock } => {
            clock_is_fine(*period, clock)
                && (*period != Some(Period::None) || *clock == PeriodClock::NONE)
        }
        WindowTerms::Rolling { span_ms } => second_to_9999_days.contains(span_ms),
        WindowTerms::Rate { span_ms, burst } => {
            second_to_9999_days.contains(span_ms) && burst.is_none_or(|burst| burst > 0)
        }
    };
    let says_nothing = *window == WindowTerms::Period { period: None, clock: PeriodClock::NONE };
    *amount >= 0 && window_is_fine && (*counted != LimitSubject::Sessions || says_nothing)
}

/// Checks OFFSET, ZONE and BEGIN: one zone at most, at most 14 hours from UTC, and a begin that the period can have.
pub(super) fn clock_is_fine(period: Option<Period>, clock: &PeriodClock) -> bool {
    let has_zone = clock.zone.is_some() || clock.offset_minutes.is_some();
    let begin_is_fine = clock.begin != Some(255) || !has_zone;
    let near = begin_is_fine
        && clock.offset_minutes.is_none_or(|minutes| minutes.unsigned_abs() <= 14 * 60);
    let one = clock.offset_minutes.is_none() || clock.zone.is_none();
    let begin = period.is_none_or(|period| Zone::given(period, clock, None).is_fine());
    near && one && begin
}
