//! The part of a scenario in which users report usage, reserve more and get refills.

use anyhow::{Result, ensure};
use scurry_ledger::Name;
use scurry_service::Request;
use serde::Deserialize;

use crate::requests::{self, MAIN};

/// Usage reports and refills. Every user has one account with one bucket and one session.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Usage {
    /// Unit of every amount.
    #[serde(deserialize_with = "super::name")]
    pub unit: Name,
    /// Rating group of the one item of a session.
    pub item_key: u32,
    /// First credit of every account.
    pub credit: i64,
    /// Weight of usage reports: an UPDATE, or the RESERVE that opens the session.
    pub report_share: u32,
    /// Weight of refills: a TOPUP.
    pub refill_share: u32,
    /// Percent of the held units that is reported as used.
    pub used_percent: u32,
    /// Most units that a report requests; the least is 1.
    pub wanted_max: u32,
    /// Least amount of a refill.
    pub refill_min: u32,
    /// Greatest amount of a refill.
    pub refill_max: u32,
    /// Seconds between two reads of the totals of all credit and all held units; 0 means never.
    pub totals_seconds: f64,
}

impl Usage {
    /// Returns the CREATE of an account.
    pub fn create(&self, account: &[u8]) -> Request {
        requests::create(account, &[requests::bucket(MAIN, self.unit, self.credit, None)])
    }

    pub(super) fn check(&self) -> Result<()> {
        ensure!(self.credit >= 0, "usage.credit is negative");
        let shares = [self.report_share, self.refill_share];
        ensure!(shares.iter().all(|share| *share <= 1_000_000), "a share is above 1000000");
        ensure!(shares.iter().any(|share| *share > 0), "all shares are 0: nothing to do");
        ensure!(self.used_percent <= 100, "usage.used_percent is above 100");
        ensure!(self.wanted_max >= 1, "usage.wanted_max must be at least 1");
        ensure!(
            1 <= self.refill_min && self.refill_min <= self.refill_max,
            "usage.refill_min must be 1 to refill_max"
        );
        ensure!(
            (0.0..=86_400.0).contains(&self.totals_seconds),
            "usage.totals_seconds must not be negative"
        );
        Ok(())
    }
}
