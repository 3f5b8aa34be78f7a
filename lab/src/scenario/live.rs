//! The part of a scenario in which sessions live: they think between requests, meet on accounts,
//! send requests twice, and spend all credit there is.

use anyhow::{Result, ensure};
use serde::Deserialize;

/// Live sessions.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Live {
    /// Unit of every amount.
    pub unit: String,
    /// Rating group of the one item of a session.
    pub item_key: u32,
    /// Credit of every account: no more comes.
    pub credit: i64,
    /// UPDATEs between RESERVE and TERMINATE.
    pub updates: u32,
    /// Units asked for by RESERVE and UPDATE.
    pub requested: i64,
    /// How much of a grant is reported as used, in percent.
    pub used_percent: u32,
    /// Seconds from one request of a session to its next: sessions / think_seconds is the rate.
    pub think_seconds: f64,
    /// Choice of a session's account.
    pub accounts: AccountChoice,
    /// Exponent of the distribution of Zipf.
    #[serde(default = "zipf_exponent")]
    pub zipf_exponent: f64,
    /// Of 1,000 sessions so many take the hot account, the others any.
    #[serde(default)]
    pub hot_per_mille: u32,
    /// Of 1,000 writes so many are sent once more when they have been answered.
    pub duplicates_per_mille: u32,
}

/// Choice of a session's account.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AccountChoice {
    /// Any, uniformly.
    Uniform,
    /// The n-th with a share of 1/n to the exponent.
    Zipf,
    /// One account more often than the others.
    Hot,
}

fn zipf_exponent() -> f64 {
    0.99
}

impl Live {
    /// Requests per second of so many sessions.
    pub fn rate(&self, sessions: u32) -> f64 {
        f64::from(sessions) / self.think_seconds
    }

    /// The arguments of CREATE behind the account.
    pub fn create_arguments(&self) -> Vec<String> {
        let amount = self.credit.to_string();
        ["BUCKET", "main", &self.unit, &amount].map(str::to_owned).to_vec()
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
