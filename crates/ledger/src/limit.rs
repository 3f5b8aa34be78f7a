//! A limit of an account: how much of something may be used in a period, whatever the buckets have
//! (docs/ledger.md section 14). Not to be confused with [`crate::Limits`], the bounds of a store.

use crate::{Cycle, ItemKey, Name, Time};

/// Things that a limit counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counted {
    /// Open sessions of the account.
    Sessions,
    /// Units that are held, used or debited.
    Units {
        /// The unit.
        unit: Name,
        /// The item whose units count; none for all of the unit.
        item: Option<ItemKey>,
    },
}

impl Counted {
    /// True when units of this item count, or of what has no item.
    pub(crate) fn has(self, of: Name, key: Option<ItemKey>) -> bool {
        match self {
            Counted::Sessions => false,
            Counted::Units { unit, item } => unit == of && (item.is_none() || item == key),
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
    /// The things that it counts, for life.
    pub counted: Counted,
    /// How much may be used and held in a period: minor units, or open sessions; at least 0.
    pub amount: i64,
    /// When `used` begins anew.
    pub cycle: Cycle,
    /// Start of the period that `used` belongs to.
    pub period_start: Time,
    /// The account's version with which counting in that period began.
    pub since: u64,
    /// Used and debited in that period; 0 for sessions.
    pub used: i64,
    /// Used in that period where nothing was left, and what was above the amount when that was set.
    pub overrun: i64,
    /// Set aside by grants that are open, whenever they were made. Of sessions it is not kept here:
    /// [`crate::Account::held_in`].
    pub held: i64,
    /// The highest threshold that was told in that period, percent of the amount; 0 for none.
    pub told: u8,
}

impl Limit {
    /// Thresholds of `used` that are told when they are reached, percent of the amount.
    pub const THRESHOLDS: [u8; 2] = [80, 100];

    /// The limit as read at `now`: in a new period nothing is used yet, what is held stays.
    pub fn at(mut self, now: Time) -> Limit {
        let start = self.cycle.start(now);
        if start > self.period_start {
            self.begin(start, 0);
        }
        self
    }

    /// A period begins with the account's version `since`.
    pub(crate) fn begin(&mut self, start: Time, since: u64) {
        (self.period_start, self.since) = (start, since);
        (self.used, self.told) = (0, 0);
        self.overrun = self.above(self.held);
    }

    /// The rest of it, beside what is held.
    pub(crate) fn left(&self, held: i64) -> i64 {
        // Neither of the sums is negative, so the first difference is within 64 bits.
        (self.amount - self.used).saturating_sub(held).max(0)
    }

    /// By how much it is used and held above its amount.
    pub(crate) fn above(&self, held: i64) -> i64 {
        (self.used - self.amount).saturating_add(held).max(0)
    }

    /// The highest threshold that `used` has reached; 0 for none.
    pub(crate) fn reached(&self) -> u8 {
        let reached = |&percent: &u8| {
            self.used > 0
                && i128::from(self.used) * 100 >= i128::from(self.amount) * i128::from(percent)
        };
        Limit::THRESHOLDS.into_iter().rfind(reached).unwrap_or(0)
    }
}
