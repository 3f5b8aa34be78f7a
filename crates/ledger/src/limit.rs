//! A limit of an account: how much of something may be used in a window of time, however much the buckets hold
//! (docs/ledger.md section 14). Not to be confused with [`crate::Limits`], the bounds of a store.

use crate::{Account, Cycle, ItemKey, Name, Span, Time, Window};

/// The things that a limit counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitSubject {
    /// Open sessions of the account.
    Sessions,
    /// Units that are held, used or debited.
    Units {
        /// The unit.
        unit: Name,
        /// Item whose units count; `None` for all of the unit.
        item: Option<ItemKey>,
    },
}

impl LimitSubject {
    /// Reports whether the limit counts units of this item, or units without an item (`None`).
    pub(crate) fn has(self, of: Name, key: Option<ItemKey>) -> bool {
        match self {
            LimitSubject::Sessions => false,
            LimitSubject::Units { unit, item } => unit == of && (item.is_none() || item == key),
        }
    }
}

/// A limit of an account, and how much of it is used and held. Read it with [`Account::limit_at`].
///
/// I20: `used + held <= most() + overrun`, and `held` is the sum of the holds that it counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// Name of the limit within the account.
    pub id: Name,
    /// Things that it counts; this never changes.
    pub counted: LimitSubject,
    /// Amount that may be used and held in the window: minor units, or open sessions; at least 0. Of a rate the amount
    /// that drains in its span.
    pub amount: i64,
    /// How long a use counts.
    pub window: Window,
    /// Start of the period that `used` belongs to, or of the part that began last; of a rate the moment of `used`. A
    /// period may start after the last Change: a clock set back over midnight does not end a day twice.
    pub period_start: Time,
    /// Version of the account at which counting in that period, or in that part, began; of a rate the one before which
    /// everything counts as drained.
    pub since: u64,
    /// Amount used and debited that counts; 0 for sessions. Of a rate its level, rounded up. Of a rolling limit the sum
    /// of its parts.
    pub used: i64,
    /// Part of the last used unit of a rate that has drained: so many of as many equal parts as its span has ms.
    pub drained: i64,
    /// Use for which nothing was left, and the excess over the amount when the amount was set.
    pub overrun: i64,
    /// Amount held by open grants, whenever they were made. 0 for sessions: use [`Account::held_in`].
    pub held: i64,
    /// Highest threshold reported, percent of the amount; 0 for none.
    pub told: u8,
    /// Number of its parts in [`Account::limit_parts`]; 0 unless it is a rolling limit.
    pub parts: u8,
}

/// Use of a rolling limit in one of the parts of its span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LimitPart {
    /// Start of the part.
    pub start: Time,
    /// Version of the account at which counting in it began. A debit counts in the last part that is not newer.
    pub since: u64,
    /// Amount used and debited in it, less refunds.
    pub used: i64,
}

impl Limit {
    /// Thresholds of `used` that are reported when they are reached, percent of the most that may be used.
    pub const THRESHOLDS: [u8; 2] = [80, 100];

    /// Returns the most that may be used and held at once: the amount, or the burst of a rate.
    pub fn most(&self) -> i64 {
        self.window.given_burst().unwrap_or(self.amount)
    }

    /// Returns the limit as read at `now`: use that counts no more is gone, and `held` stays.
    fn read(mut self, now: Time, parts: &[LimitPart], held: i64) -> Limit {
        match self.window {
            Window::Period(cycle) => {
                if let Some(start) = cycle.begun_after(self.period_start, now) {
                    let is_begun = !cycle.begins_with_use();
                    self.begin_period(if is_begun { start } else { Cycle::NOT_BEGUN }, 0);
                }
                return self;
            }
            Window::Rolling(span) => {
                self.used -= over(span, parts, now).map(|part| part.used).sum::<i64>();
            }
            Window::Rate { span, .. } => self.drain(span, now),
        }
        self.lower_with_use(held);
        self
    }

    /// Returns when `used` resets, of a limit with periods as read at `now`; `None` if it never does or the clock ends
    /// before.
    fn period_end(cycle: Cycle, start: Time, now: Time) -> Option<Time> {
        cycle.end_after(start, now)
    }

    /// Begins a period at the account's version `since`.
    fn begin_period(&mut self, start: Time, since: u64) {
        (self.period_start, self.since) = (start, since);
        (self.used, self.told) = (0, 0);
        self.overrun = self.above(self.held);
    }

    /// Lets the level of a rate drain until a moment.
    fn drain(&mut self, span: Span, now: Time) {
        let since_ms = now.0.saturating_sub(self.period_start.0).max(0);
        self.period_start = self.period_start.max(now);
        let (units, rest) = match self.amount.checked_mul(since_ms) {
            Some(product) if product <= i64::MAX - self.drained => {
                let drained = product + self.drained;
                (i128::from(drained / span.ms()), drained % span.ms())
            }
            _ => {
                let product = i128::from(self.amount) * i128::from(since_ms);
                let drained = product + i128::from(self.drained);
                let span = i128::from(span.ms());
                // A remainder of a division by a span fits.
                (drained / span, i64::try_from(drained % span).unwrap_or(0))
            }
        };
        match i64::try_from(units) {
            Ok(units) if units < self.used => (self.used, self.drained) = (self.used - units, rest),
            _ => (self.used, self.drained) = (0, 0),
        }
    }

    /// Reports whether the level of a rate is below one unit.
    pub(crate) fn is_below_one(&self) -> bool {
        self.used == 0 || (self.used == 1 && self.drained > 0)
    }

    /// Lowers what a rolling limit or a rate notes of an excess and of thresholds: use has gone.
    fn lower_with_use(&mut self, held: i64) {
        self.overrun = self.overrun.min(self.above(held));
        self.told = self.told.min(self.reached());
    }

    /// Changes the window of a limit as read at `now`. `used` stays, and counts as if it had been used now. If the zone
    /// of a period alone changes, the period of `used` keeps its number, as that of an allowance does: a clock that is
    /// set back over midnight does not end the day twice.
    pub(crate) fn change_window(&mut self, window: Window, now: Time) {
        let kept = match (self.window, window) {
            (Window::Rate { span, .. }, Window::Rate { span: other, .. }) => span == other,
            _ => false,
        };
        if !kept {
            self.drained = 0;
        }
        self.period_start = match (self.window, window) {
            (_, Window::Period(cycle)) if cycle.begins_with_use() => match self.used {
                0 => Cycle::NOT_BEGUN,
                _ => now,
            },
            (Window::Period(before), Window::Period(cycle)) => {
                let present = cycle.start(now);
                match cycle.is_moved_from(before) {
                    true => cycle.moved(before, self.period_start).max(present),
                    false => present,
                }
            }
            (_, Window::Period(cycle)) => cycle.start(now),
            (_, Window::Rolling(span)) => Window::part_start(span, now),
            (_, Window::Rate { .. }) => now,
        };
        self.window = window;
    }

    /// Returns the rest of the amount after use and `held`; at least 0.
    pub(crate) fn left(&self, held: i64) -> i64 {
        // Neither sum is negative, so the first difference fits 64 bits.
        (self.most() - self.used).saturating_sub(held).max(0)
    }

    /// Returns by how much the used and held amounts exceed the most that may be used and held.
    pub(crate) fn above(&self, held: i64) -> i64 {
        (self.used - self.most()).saturating_add(held).max(0)
    }

    /// Returns the highest threshold that `used` has reached; 0 for none.
    pub(crate) fn reached(&self) -> u8 {
        let reached = |&percent: &u8| {
            self.used > 0
                && i128::from(self.used) * 100 >= i128::from(self.most()) * i128::from(percent)
        };
        Limit::THRESHOLDS.into_iter().rfind(reached).unwrap_or(0)
    }
}

/// Returns the parts of a rolling span of which no use counts any more: the first ones.
fn over(span: Span, parts: &[LimitPart], now: Time) -> impl Iterator<Item = &LimitPart> {
    parts.iter().take_while(move |part| Window::part_end(span, part.start) <= now)
}

impl Account {
    /// Returns a limit of this account as read at `now`: use that counts no more is gone, and `held` stays.
    pub fn limit_at(&self, limit: &Limit, now: Time) -> Limit {
        limit.read(now, self.parts_of(limit), self.held_in(limit))
    }

    /// Returns the rest of a limit of this account at `now`.
    pub fn left_in(&self, limit: &Limit, now: Time) -> i64 {
        self.limit_at(limit, now).left(self.held_in(limit))
    }

    /// Returns when `used` of a limit becomes 0 if nothing more is used; `None` if it is 0 and has no period, if it
    /// never becomes 0, or if the clock ends before.
    pub fn limit_resets_at(&self, limit: &Limit, now: Time) -> Option<Time> {
        self.falls_to(limit, 0, now)
    }

    /// Returns the first moment after `now` at which a limit leaves so many units, if nothing else changes than that
    /// use counts no more.
    pub(crate) fn leaves_at(&self, limit: &Limit, units: i128, now: Time) -> Option<Time> {
        let most = i128::from(limit.most()) - i128::from(self.held_in(limit)) - units;
        i64::try_from(most).ok().filter(|&most| most >= 0)?;
        self.falls_to(limit, i64::try_from(most).ok()?, now)
    }

    /// Returns the first moment after `now` at which `used` is at most this amount.
    fn falls_to(&self, limit: &Limit, most: i64, now: Time) -> Option<Time> {
        let read = self.limit_at(limit, now);
        let above = read.used.checked_sub(most).filter(|&above| above > 0);
        let moment = match read.window {
            Window::Period(cycle) => return Limit::period_end(cycle, read.period_start, now),
            Window::Rolling(span) => {
                let mut above = above?;
                let parts = self.parts_of(limit);
                let mut counting = parts.iter().skip(over(span, parts, now).count());
                let last = counting.find(|part| {
                    above -= part.used;
                    above <= 0
                })?;
                Window::part_end(span, last.start)
            }
            Window::Rate { span, .. } => {
                let to_drain =
                    i128::from(above?) * i128::from(span.ms()) - i128::from(read.drained);
                let amount = Some(i128::from(read.amount)).filter(|&amount| amount > 0)?;
                let ms = (to_drain + amount - 1) / amount;
                read.period_start.plus_ms(i64::try_from(ms).ok()?)
            }
        };
        Some(moment).filter(|&moment| moment <= Time::LAST)
    }

    /// Returns the parts of a limit, the oldest first.
    pub(crate) fn parts_of(&self, limit: &Limit) -> &[LimitPart] {
        if limit.parts == 0 {
            return &[];
        }
        let before = self.limits.iter().take_while(|other| other.id != limit.id);
        let first = before.map(|other| usize::from(other.parts)).sum();
        self.limit_parts.get(first..first + usize::from(limit.parts)).unwrap_or_default()
    }

    /// Returns the time with which the next use that this limit counts begins a period or a part of it, or drains it:
    /// `None` if there is nothing to begin.
    pub(crate) fn begins(&self, limit: &Limit, now: Time) -> Option<Time> {
        let begun = match limit.window {
            Window::Period(cycle) => return cycle.begun_after(limit.period_start, now),
            Window::Rolling(span) => {
                limit.parts == 0 || limit.period_start < Window::part_start(span, now)
            }
            Window::Rate { .. } => false,
        };
        (begun || self.limit_at(limit, now) != *limit).then_some(now)
    }

    /// Returns the most that a refund may take out of `used` of a limit, of a debit that was committed with this version
    /// of the account, and the index of the part of a rolling limit that it is taken from.
    pub(crate) fn counted_of(&self, limit: &Limit, debited: u64, now: Time) -> (u8, i64) {
        let read = self.limit_at(limit, now);
        match limit.window {
            // In a new period nothing is used yet.
            Window::Period(_) if debited >= limit.since => (0, read.used),
            Window::Rate { .. } if debited >= limit.since && !read.is_below_one() => (0, read.used),
            Window::Rolling(span) => {
                let parts = self.parts_of(limit);
                let mut counting = parts.iter().enumerate().skip(over(span, parts, now).count());
                let of_it = counting.rfind(|(_, part)| part.since <= debited);
                of_it.map_or((0, 0), |(at, part)| (at as u8, part.used))
            }
            Window::Period(_) | Window::Rate { .. } => (0, 0),
        }
    }

    /// Begins a period or a part of a limit, or drains it, at a moment. A period begins at its start.
    pub(crate) fn begin_limit(&mut self, place: usize, start: Time) {
        // The version that the account gets by this Change.
        let version = self.version + 1;
        let limit = self.limits[place];
        let mut read = self.limit_at(&limit, start);
        match limit.window {
            Window::Period(_) => {
                read = limit;
                read.begin_period(start, version);
            }
            Window::Rolling(span) => {
                let parts = self.parts_of(&limit);
                let (over, kept) = (over(span, parts, start).count(), parts.len());
                let present = Window::part_start(span, start);
                let is_begun = kept > over && parts[kept - 1].start >= present;
                let first = self.first_part(place);
                self.limit_parts.drain(first..first + over);
                let mut kept = kept - over;
                if !is_begun {
                    let part = LimitPart { start: present, since: version, used: 0 };
                    self.limit_parts.insert(first + kept, part);
                    (read.period_start, read.since) = (present, version);
                    kept += 1;
                }
                read.parts = u8::try_from(kept).unwrap_or(u8::MAX);
            }
            Window::Rate { .. } => {
                if read.is_below_one() {
                    read.since = version;
                }
            }
        }
        self.limits[place] = read;
    }

    /// Counts used units against a limit, whose present period or part has begun.
    pub(crate) fn count_in_limit(&mut self, place: usize, used: i64, overrun: i64) {
        let limit = &mut self.limits[place];
        limit.used += used;
        limit.overrun += overrun;
        let parts = usize::from(limit.parts);
        if parts > 0 {
            let last = self.first_part(place) + parts - 1;
            self.limit_parts[last].used += used;
        }
    }

    /// Takes units out of the use that a limit counts, in one of its parts.
    pub(crate) fn uncount_in_limit(&mut self, place: usize, part: u8, amount: i64) {
        let limit = &mut self.limits[place];
        limit.used -= amount;
        if limit.used == 0 {
            // A level is never below 0.
            limit.drained = 0;
        }
        if limit.parts > 0 {
            let at = self.first_part(place) + usize::from(part);
            debug_assert!(at < self.limit_parts.len());
            if let Some(part) = self.limit_parts.get_mut(at) {
                part.used -= amount;
            }
        }
    }

    /// Sets a limit, as the last one if there is none of its name. The parts of a rolling limit stay while its span
    /// does; else its use becomes one part.
    pub(crate) fn set_limit(&mut self, limit: &Limit) {
        let known = self.limits.iter().position(|known| known.id == limit.id);
        let place = known.unwrap_or(self.limits.len());
        match known {
            Some(place) if self.limits[place].window == limit.window => {
                self.limits[place] = Limit { parts: self.limits[place].parts, ..*limit };
                return;
            }
            Some(place) => {
                self.drop_parts(place);
                self.limits[place] = Limit { parts: 0, ..*limit };
            }
            None => self.limits.push(Limit { parts: 0, ..*limit }),
        }
        if let (Window::Rolling(_), true) = (limit.window, limit.used > 0) {
            let first = self.first_part(place);
            let Limit { period_start: start, since, used, .. } = *limit;
            self.limit_parts.insert(first, LimitPart { start, since, used });
            self.limits[place].parts = 1;
        }
    }

    /// Removes a limit.
    pub(crate) fn remove_limit(&mut self, id: Name) {
        if let Some(place) = self.limits.iter().position(|limit| limit.id == id) {
            self.drop_parts(place);
            self.limits.remove(place);
        }
    }

    fn drop_parts(&mut self, place: usize) {
        let first = self.first_part(place);
        self.limit_parts.drain(first..first + usize::from(self.limits[place].parts));
    }

    /// Returns the index of the first part of a limit.
    fn first_part(&self, place: usize) -> usize {
        self.limits[..place].iter().map(|limit| usize::from(limit.parts)).sum()
    }
}
