//! Sums per unit over many accounts, which TOTALS shows. A host keeps them up to date by subtracting an account's state
//! before a command and adding its state after it.

use crate::{Account, Bucket, Name, UnitAmount};
use alloc::vec::Vec;

/// Sums of one unit. i128, so that many accounts cannot overflow them. Conservation (I1 summed): available + held =
/// credited + refunded - consumed - expired - voided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnitTotals {
    /// Unit of the sums.
    pub unit: Name,
    /// Amount that may be granted or debited now.
    pub available: i128,
    /// Amount held for grants now.
    pub held: i128,
    /// Total of credits.
    pub credited: i128,
    /// Total of refunds.
    pub refunded: i128,
    /// Total of debits.
    pub consumed: i128,
    /// Total of expiry.
    pub expired: i128,
    /// Total of negative adjustments.
    pub voided: i128,
    /// Total of debits below a floor.
    pub overdrawn: i128,
    /// Total of use that was not debited.
    pub uncollected: i128,
    /// Amount held now for transfers to other accounts; a part of `held`.
    pub in_transit: i128,
}

/// Sums over the accounts of a store.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Number of accounts.
    pub accounts: u64,
    /// Number of open sessions.
    pub sessions: u64,
    /// Sums in the order in which the units were first seen.
    pub units: Vec<UnitTotals>,
}

/// The part that one account contributes to the totals, kept from before a command to after it.
#[derive(Clone, Debug, Default)]
pub struct AccountContribution {
    accounts: u64,
    sessions: u64,
    buckets: Vec<Bucket>,
    uncollected: Vec<UnitAmount>,
    in_transit: Vec<UnitAmount>,
}

impl AccountContribution {
    /// Returns the portion of an account, or the empty portion for `None`.
    pub fn of(account: Option<&Account>) -> AccountContribution {
        let mut portion = AccountContribution::default();
        portion.set(account);
        portion
    }

    /// Sets the portion to that of another account or of none, reusing its buffers; see [`AccountContribution::of`].
    pub fn set(&mut self, account: Option<&Account>) {
        self.buckets.clear();
        self.uncollected.clear();
        self.in_transit.clear();
        (self.accounts, self.sessions) = (0, 0);
        if let Some(account) = account {
            self.accounts = 1;
            self.sessions = account.sessions_open() as u64;
            self.buckets.extend_from_slice(&account.buckets);
            if !account.uncollected.is_empty() {
                self.uncollected.extend_from_slice(&account.uncollected);
            }
            if !account.in_transit.is_empty() {
                self.in_transit.extend_from_slice(&account.in_transit);
            }
        }
    }

    /// Reports whether the account has the same buckets, whatever they hold. Compares units too: if the account was
    /// deleted and created again in between, a serial number may belong to a bucket of another unit.
    fn has_buckets_of(&self, account: &Account) -> bool {
        let same = |(before, after): (&Bucket, &Bucket)| {
            before.no == after.no && before.unit == after.unit
        };
        self.buckets.len() == account.buckets.len()
            && self.buckets.iter().zip(&account.buckets).all(same)
    }
}

impl Totals {
    /// Subtracts the portion that an account had before a command, and adds its state after it.
    pub fn replace(&mut self, before: &AccountContribution, after: Option<&Account>) {
        self.accounts -= before.accounts;
        self.sessions -= before.sessions;
        if let Some(after) = after {
            self.accounts += 1;
            self.sessions += after.sessions_open() as u64;
            // The usual case: only amounts have changed, so only the differences are added.
            if before.has_buckets_of(after)
                && before.uncollected == after.uncollected
                && before.in_transit == after.in_transit
            {
                for (before, after) in before.buckets.iter().zip(&after.buckets) {
                    self.add_difference(before, after);
                }
                return;
            }
            // Buckets or other sums have changed: adds the new state, then subtracts the old one below.
            self.count(&after.buckets, (&after.uncollected, &after.in_transit), i128::wrapping_add);
        }
        self.count(&before.buckets, (&before.uncollected, &before.in_transit), i128::wrapping_sub);
    }

    /// Adds the sums of another part of the store with other accounts. This is how the shards of one server are summed.
    pub fn add(&mut self, part: &Totals) {
        self.accounts += part.accounts;
        self.sessions += part.sessions;
        for from in &part.units {
            let unit = self.unit(from.unit);
            unit.available += from.available;
            unit.held += from.held;
            unit.credited += from.credited;
            unit.refunded += from.refunded;
            unit.consumed += from.consumed;
            unit.expired += from.expired;
            unit.voided += from.voided;
            unit.overdrawn += from.overdrawn;
            unit.uncollected += from.uncollected;
            unit.in_transit += from.in_transit;
        }
    }

    /// Has the same result as subtracting a bucket and adding it again. Most commands move units within a bucket and
    /// change no other sums.
    fn add_difference(&mut self, before: &Bucket, after: &Bucket) {
        let step = |sum: &mut i128, before: i64, after: i64| {
            *sum = sum.wrapping_add(i128::from(after) - i128::from(before));
        };
        // One comparison for all fields: a command leaves most buckets unchanged.
        let moved = (before.available ^ after.available)
            | (before.held ^ after.held)
            | (before.consumed ^ after.consumed);
        let others = (before.credited ^ after.credited)
            | (before.refunded ^ after.refunded)
            | (before.expired ^ after.expired)
            | (before.voided ^ after.voided)
            | (before.overdrawn ^ after.overdrawn);
        if moved | others == 0 {
            return;
        }
        let unit = self.unit(after.unit);
        step(&mut unit.available, before.available, after.available);
        step(&mut unit.held, before.held, after.held);
        step(&mut unit.consumed, before.consumed, after.consumed);
        if others != 0 {
            step(&mut unit.credited, before.credited, after.credited);
            step(&mut unit.refunded, before.refunded, after.refunded);
            step(&mut unit.expired, before.expired, after.expired);
            step(&mut unit.voided, before.voided, after.voided);
            step(&mut unit.overdrawn, before.overdrawn, after.overdrawn);
        }
    }

    fn count(
        &mut self,
        buckets: &[Bucket],
        (uncollected, in_transit): (&[UnitAmount], &[UnitAmount]),
        sum: impl Fn(i128, i128) -> i128,
    ) {
        for bucket in buckets {
            let unit = self.unit(bucket.unit);
            unit.available = sum(unit.available, i128::from(bucket.available));
            unit.held = sum(unit.held, i128::from(bucket.held));
            unit.credited = sum(unit.credited, i128::from(bucket.credited));
            unit.refunded = sum(unit.refunded, i128::from(bucket.refunded));
            unit.consumed = sum(unit.consumed, i128::from(bucket.consumed));
            unit.expired = sum(unit.expired, i128::from(bucket.expired));
            unit.voided = sum(unit.voided, i128::from(bucket.voided));
            unit.overdrawn = sum(unit.overdrawn, i128::from(bucket.overdrawn));
        }
        for total in uncollected {
            let unit = self.unit(total.unit);
            unit.uncollected = sum(unit.uncollected, i128::from(total.amount));
        }
        for total in in_transit {
            let unit = self.unit(total.unit);
            unit.in_transit = sum(unit.in_transit, i128::from(total.amount));
        }
    }

    fn unit(&mut self, unit: Name) -> &mut UnitTotals {
        let found = self.units.iter().position(|totals| totals.unit == unit);
        let index = found.unwrap_or_else(|| {
            self.units.push(UnitTotals::zero(unit));
            self.units.len() - 1
        });
        &mut self.units[index]
    }
}

impl UnitTotals {
    fn zero(unit: Name) -> UnitTotals {
        UnitTotals {
            unit,
            available: 0,
            held: 0,
            credited: 0,
            refunded: 0,
            consumed: 0,
            expired: 0,
            voided: 0,
            overdrawn: 0,
            uncollected: 0,
            in_transit: 0,
        }
    }

    /// Reports whether I1 holds over the unit.
    pub fn conserves(&self) -> bool {
        self.available + self.held
            == self.credited + self.refunded - self.consumed - self.expired - self.voided
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns sums that differ in each field, so that a mix-up of two fields shows.
    fn sums(unit: &[u8], factor: i128) -> UnitTotals {
        let unit = Name::new(unit).expect("a name");
        UnitTotals {
            unit,
            available: factor,
            held: 2 * factor,
            credited: 3 * factor,
            refunded: 4 * factor,
            consumed: 5 * factor,
            expired: 6 * factor,
            voided: 7 * factor,
            overdrawn: 8 * factor,
            uncollected: 9 * factor,
            in_transit: 10 * factor,
        }
    }

    #[test]
    fn parts_add_up_field_by_field_and_unit_by_unit() {
        let part = |accounts, sessions, units| Totals { accounts, sessions, units };
        let mut whole = Totals::default();
        whole.add(&part(1, 10, alloc::vec![sums(b"octets", 1)]));
        whole.add(&part(2, 20, alloc::vec![sums(b"eur", 10), sums(b"octets", 100)]));
        whole.add(&part(4, 40, alloc::vec![]));
        assert_eq!(whole, part(7, 70, alloc::vec![sums(b"octets", 101), sums(b"eur", 10)]));
    }

    #[test]
    fn a_bucket_that_moves_on_is_counted_as_one_taken_out_and_in() {
        let mut before = Account::empty(crate::Status::Active);
        before.buckets.push(Bucket { available: 5, held: i64::MAX, ..Bucket::empty() });
        let fields: [fn(&mut Bucket) -> &mut i64; 8] = [
            |bucket| &mut bucket.available,
            |bucket| &mut bucket.held,
            |bucket| &mut bucket.consumed,
            |bucket| &mut bucket.credited,
            |bucket| &mut bucket.refunded,
            |bucket| &mut bucket.expired,
            |bucket| &mut bucket.voided,
            |bucket| &mut bucket.overdrawn,
        ];
        for field in fields {
            let mut after = before.clone();
            *field(&mut after.buckets[0]) = -7;
            let mut totals = Totals::default();
            totals.replace(&AccountContribution::default(), Some(&before));
            totals.replace(&AccountContribution::of(Some(&before)), Some(&after));
            let mut expected = Totals::default();
            expected.replace(&AccountContribution::default(), Some(&after));
            assert_eq!(totals, expected);
        }
    }
}
