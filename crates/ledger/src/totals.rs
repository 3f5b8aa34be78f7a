//! Sums per unit over many accounts: what TOTALS shows. A host keeps them up to date by taking
//! an account out as it was and putting it back as it is.

use crate::{Account, Name};
use alloc::vec::Vec;

/// Sums of one unit. i128: a store of many accounts cannot overflow them.
/// Conservation (I1 summed): available + held = credited + refunded - consumed - expired - voided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnitTotals {
    /// Unit.
    pub unit: Name,
    /// May be granted or debited now.
    pub available: i128,
    /// Set aside for grants now.
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
}

/// Sums over the accounts of a store.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Accounts that exist.
    pub accounts: u64,
    /// Open sessions.
    pub sessions: u64,
    /// In the order in which the units were first seen.
    pub units: Vec<UnitTotals>,
}

impl Totals {
    /// Takes the sums of one account in.
    pub fn add(&mut self, account: &Account) {
        self.accounts += 1;
        self.sessions += account.sessions.len() as u64;
        self.count(account, 1);
    }

    /// Takes the sums of one account out, as it was when it was taken in.
    pub fn subtract(&mut self, account: &Account) {
        self.accounts -= 1;
        self.sessions -= account.sessions.len() as u64;
        self.count(account, -1);
    }

    fn count(&mut self, account: &Account, sign: i128) {
        for bucket in &account.buckets {
            let unit = self.unit(bucket.unit);
            unit.available += sign * i128::from(bucket.available);
            unit.held += sign * i128::from(bucket.held);
            unit.credited += sign * i128::from(bucket.credited);
            unit.refunded += sign * i128::from(bucket.refunded);
            unit.consumed += sign * i128::from(bucket.consumed);
            unit.expired += sign * i128::from(bucket.expired);
            unit.voided += sign * i128::from(bucket.voided);
            unit.overdrawn += sign * i128::from(bucket.overdrawn);
        }
        for uncollected in &account.uncollected {
            self.unit(uncollected.unit).uncollected += sign * i128::from(uncollected.amount);
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
        }
    }

    /// I1 over the unit.
    pub fn conserves(&self) -> bool {
        self.available + self.held
            == self.credited + self.refunded - self.consumed - self.expired - self.voided
    }
}
