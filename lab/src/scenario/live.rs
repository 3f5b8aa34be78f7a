//! The part of a scenario with live sessions: they pause between requests, share accounts, send some requests twice,
//! and spend all the credit.

use anyhow::{Result, ensure};
use scurry_ledger::Name;
use scurry_service::Request;
use serde::Deserialize;

use crate::requests::{self, MAIN};

/// Live sessions.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Live {
    /// Unit of every amount.
    #[serde(deserialize_with = "super::name")]
    pub unit: Name,
    /// Rating group of the one item of a session.
    pub item_key: u32,
    /// Credit of every account, which is never refilled.
    pub credit: i64,
    /// UPDATEs between RESERVE and TERMINATE.
    pub updates: u32,
    /// Units that RESERVE and UPDATE request.
    pub requested: i64,
    /// Percent of a grant that is reported as used.
    pub used_percent: u32,
    /// Seconds between two requests of a session: sessions / think_seconds is the rate.
    pub think_seconds: f64,
    /// Choice of a session's account.
    pub accounts: AccountChoice,
    /// Exponent of the Zipf distribution.
    #[serde(default = "zipf_exponent")]
    pub zipf_exponent: f64,
    /// Of 1,000 sessions, how many use the hot account; the others use any.
    #[serde(default)]
    pub hot_per_mille: u32,
    /// Of 1,000 writes, how many are sent again after they were answered.
    pub duplicates_per_mille: u32,
}

/// Choice of a session's account.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AccountChoice {
    /// Any account, uniformly.
    Uniform,
    /// The n-th account with a share of 1/n to the power of the exponent.
    Zipf,
    /// One account more often than the others.
    Hot,
}

fn zipf_exponent() -> f64 {
    0.99
}

impl Live {
    /// Returns the requests per second of this many sessions.
    pub fn rate(&self, sessions: u32) -> f64 {
        f64::from(sessions) / self.think_seconds
    }

    /// Returns the CREATE of an account.
    pub fn create(&self, account: &[u8]) -> Request {
        requests::create(account, &[requests::bucket(MAIN, self.unit, self.credit, None)])
    }

    pub(super) fn check(&self) -> Result<()> {
        ensure!(self.credit >= 0, "live.credit is negative");
        ensure!(self.updates <= 1_000, "live.updates must be at most 1000");
        ensure!(self.requested >= 1, "live.requested must be at least 1");
        ensure!(self.used_percent <= 100, "live.used_percent is above 100");
        ensure!(
            self.think_seconds > 0.0 && self.think_seconds <= 3_600.0,
            "live.think_seconds must be above 0 and at most 3600"
        );
        ensure!((0.0..=10.0).contains(&self.zipf_exponent), "live.zipf_exponent must be 0 to 10");
        ensure!(self.hot_per_mille <= 1_000, "live.hot_per_mille is above 1000");
        ensure!(self.duplicates_per_mille <= 1_000, "live.duplicates_per_mille is above 1000");
        Ok(())
    }
}
