//! A limit of an account: how much of something may be used in a window of time, however much the buckets hold
//! (docs/ledger.md section 14). Not to be confused with [`crate::Limits`], the bounds of a store.

use crate::{Cycle, ItemKey, Name, Span, Time, Window};

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

/// A limit of an account, and how much of it is used and held. Read it with [`crate::Account::limit_at`].
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
    /// Amount held by open grants, whenever they were made. 0 for sessions: use [`crate::Account::held_in`].
    pub held: i64,
    /// Highest threshold reported, percent of the amount; 0 for none.
    pub told: u8,
    /// Number of its parts in [`crate::Account::limit_parts`]; 0 unless it is a rolling limit.
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
    pub(crate) fn read(mut self, now: Time, parts: &[LimitPart], held: i64) -> Limit {
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
    pub(crate) fn period_end(cycle: Cycle, start: Time, now: Time) -> Option<Time> {
        cycle.end_after(start, now)
    }

    /// Begins a period at the account's version `since`.
    pub(crate) fn begin_period(&mut self, start: Time, since: u64) {
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
pub(crate) fn over(span: Span, parts: &[LimitPart], now: Time) -> impl Iterator<Item = &LimitPart> {
    parts.iter().take_while(move |part| Window::part_end(span, part.start) <= now)
}
