//! Debts that buckets carry from one period of their allowance into the next, and units of ended periods that come back
//! (docs/ledger.md section 2).

use crate::{Account, Bucket, BucketNo, CarriedDebt};

/// Most entries that an account keeps of one bucket: a debt that grows in each period would have one for each.
const ENTRIES_MAX: usize = 8;

/// When units were taken from a bucket.
#[derive(Clone, Copy)]
pub(crate) enum Taken {
    /// In the period with this number: a hold.
    In(u32),
    /// By the Change that gave the account this version: a debit.
    By(u64),
}

impl Taken {
    /// Reports whether that was in the present period.
    pub(crate) fn in_present(self, bucket: &Bucket) -> bool {
        match self {
            Taken::In(period) => period == bucket.period,
            Taken::By(version) => version >= bucket.period_since,
        }
    }

    /// Reports whether that was in the first period of an entry or later.
    fn is_since(self, debt: &CarriedDebt) -> bool {
        match self {
            Taken::In(period) => period >= debt.period,
            Taken::By(version) => version >= debt.since,
        }
    }
}

impl Account {
    /// Returns the least debt that was noted since units of an ended period were taken.
    pub(crate) fn least_debt_since(&self, bucket: BucketNo, taken: Taken) -> i64 {
        let mut known = self.carried.iter().filter(|debt| debt.bucket == bucket);
        known.rfind(|debt| taken.is_since(debt)).map_or(0, |debt| debt.amount)
    }

    /// Returns what TOPUP pays of a bucket's debt: the part of `available` below its floor, or what its allowance
    /// carries, if that is more. Never below 0.
    pub(crate) fn debt_of(&self, bucket: &Bucket) -> i64 {
        bucket.floor.saturating_sub(bucket.available).max(self.owed_by(bucket.no))
    }

    /// Returns the debt of earlier periods that the refills of a bucket do not pay.
    pub(crate) fn owed_by(&self, bucket: BucketNo) -> i64 {
        self.allowance(bucket).map_or(0, |allowance| allowance.owed)
    }

    /// Reports whether a refill of this bucket now, which meets a debt, would note it in addition to as many as are kept.
    pub(crate) fn forgets_a_debt_for(&self, bucket: BucketNo, debt: i64) -> bool {
        let mut known = self.carried.iter().filter(|known| known.bucket == bucket);
        let is_greater = |last: &CarriedDebt| debt > last.amount;
        known.clone().count() >= ENTRIES_MAX && known.next_back().is_some_and(is_greater)
    }

    /// Notes the debt that a refill meets, at the end of the bucket's present period.
    pub(crate) fn note_debt(&mut self, no: BucketNo, amount: i64) {
        let Some(bucket) = self.bucket_no(no) else { return };
        let ending =
            CarriedDebt { bucket: no, period: bucket.period, since: bucket.period_since, amount };
        // Greater debts were noted before: from their periods on, this one is the least.
        let mut known = self.carried.iter();
        let first = known.find(|debt| debt.bucket == no && debt.amount >= amount).copied();
        self.carried.retain(|debt| debt.bucket != no || debt.amount < amount);
        if amount > 0 {
            self.carried.push(CarriedDebt { amount, ..first.unwrap_or(ending) });
        }
        if self.carried.iter().filter(|debt| debt.bucket == no).count() > ENTRIES_MAX
            && let Some(oldest) = self.carried.iter().position(|debt| debt.bucket == no)
        {
            self.carried.remove(oldest);
        }
    }

    /// Lowers the debts that were noted since units of an ended period were taken, by the part of them that makes them
    /// good now that they come back.
    #[cold]
    pub(crate) fn lower_debts(&mut self, no: BucketNo, taken: Taken, amount: i64) {
        let least = self.least_debt_since(no, taken);
        let good = amount.min(least);
        if let Some(allowance) = self.allowances.iter_mut().find(|known| known.bucket == no) {
            allowance.owed -= good.min(allowance.owed);
        }
        let mut lower = 0;
        self.carried.retain_mut(|debt| {
            if debt.bucket != no {
                return true;
            }
            debt.amount = if taken.is_since(debt) {
                debt.amount.min(least - good)
            } else {
                debt.amount - good
            };
            let is_greater = debt.amount > lower;
            lower = lower.max(debt.amount);
            is_greater
        });
    }
}
