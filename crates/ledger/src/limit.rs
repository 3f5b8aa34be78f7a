//! A limit of an account: how much of something may be used in a period, however much the buckets hold (docs/ledger.md
//! section 14). Not to be confused with [`crate::Limits`], the bounds of a store.

use crate::{Cycle, ItemKey, Name, Time};

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

/// A limit of an account, and how much of it is used and held. Read it with [`Limit::at`].
///
/// I20: `used + held <= amount + overrun`, and `held` is the sum of the holds that it counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// Name of the limit within the account.
    pub id: Name,
    /// Things that it counts; this never changes.
    pub counted: LimitSubject,
    /// Amount that may be used and held in a period: minor units, or open sessions; at least 0.
    pub amount: i64,
    /// Period and time zone after which `used` resets.
    pub cycle: Cycle,
    /// Start of the period that `used` belongs to. It may be after the last Change: a clock set back over midnight
    /// does not end a day twice.
    pub period_start: Time,
    /// Version of the account at which counting in that period began.
    pub since: u64,
    /// Amount used and debited in that period; 0 for sessions.
    pub used: i64,
    /// Use in that period for which nothing was left, and the excess over the amount when the amount was set.
    pub overrun: i64,
    /// Amount held by open grants, whenever they were made. 0 for sessions: use [`crate::Account::held_in`].
    pub held: i64,
    /// Highest threshold reported in that period, percent of the amount; 0 for none.
    pub told: u8,
}

impl Limit {
    /// Thresholds of `used` that are reported when they are reached, percent of the amount.
    pub const THRESHOLDS: [u8; 2] = [80, 100];

    /// Returns the limit as read at `now`: in a new period nothing is used yet, and `held` stays.
    pub fn at(mut self, now: Time) -> Limit {
        if let Some(start) = self.cycle.begun_after(self.period_start, now) {
            self.begin(start, 0);
        }
        self
    }

    /// Returns when `used` resets, of a limit as read at `now`; `None` if it never does or the clock ends before.
    pub fn resets_at(&self, now: Time) -> Option<Time> {
        self.cycle.end_after(self.period_start, now)
    }

    /// Changes the cycle of a limit as read at `now`. `used` stays until the present period of the new cycle is
    /// over. If the zone alone changes, the period of `used` keeps its number, as that of an allowance does: a clock
    /// that is set back over midnight does not end the day twice.
    pub(crate) fn change_cycle(&mut self, cycle: Cycle, now: Time) {
        let present = cycle.start(now);
        let moved = match cycle.is_moved_from(self.cycle) {
            true => cycle.moved(self.cycle, self.period_start),
            false => present,
        };
        self.cycle = cycle;
        self.period_start = moved.max(present);
    }

    /// Begins a period at the account's version `since`.
    pub(crate) fn begin(&mut self, start: Time, since: u64) {
        (self.period_start, self.since) = (start, since);
        (self.used, self.told) = (0, 0);
        self.overrun = self.above(self.held);
    }

    /// Returns the rest of the amount after use and `held`; at least 0.
    pub(crate) fn left(&self, held: i64) -> i64 {
        // Neither sum is negative, so the first difference fits 64 bits.
        (self.amount - self.used).saturating_sub(held).max(0)
    }

    /// Returns by how much the used and held amounts exceed the limit's amount.
    pub(crate) fn above(&self, held: i64) -> i64 {
        (self.used - self.amount).saturating_add(held).max(0)
    }

    /// Returns the highest threshold that `used` has reached; 0 for none.
    pub(crate) fn reached(&self) -> u8 {
        let reached = |&percent: &u8| {
            self.used > 0
                && i128::from(self.used) * 100 >= i128::from(self.amount) * i128::from(percent)
        };
        Limit::THRESHOLDS.into_iter().rfind(reached).unwrap_or(0)
    }
}
