//! What a scenario says about the highest rate that keeps a latency.

use anyhow::{Result, ensure};
use serde::Deserialize;

use super::RATE_MAX;

/// The search for the highest rate at which the 99th percentile stays below a limit.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Search {
    /// The limit of the 99th percentile, milliseconds, from when a request was meant to be sent.
    pub p99_ms: f64,
    /// The first rate, requests per second.
    pub from: f64,
    /// From one rate to the next while it goes up.
    pub growth: f64,
    /// The search ends when the highest rate that kept the limit and the lowest that did not are
    /// this near, in percent.
    pub precision_percent: f64,
    /// Trials at most, of all rates together.
    pub trials_max: u32,
    /// Tries of a rate that misses the limit; it is kept when most of them keep it.
    #[serde(default = "once")]
    pub tries: u32,
}

fn once() -> u32 {
    1
}

impl Search {
    pub(super) fn check(&self) -> Result<()> {
        ensure!(self.p99_ms > 0.0 && self.p99_ms <= 60_000.0, "search.p99_ms must be above 0");
        ensure!(
            (1.0..=RATE_MAX).contains(&self.from),
            "search.from must be 1 to {RATE_MAX} requests per second"
        );
        ensure!((1.1..=10.0).contains(&self.growth), "search.growth must be 1.1 to 10");
        ensure!(
            (0.1..=50.0).contains(&self.precision_percent),
            "search.precision_percent must be 0.1 to 50"
        );
        ensure!((1..=1_000).contains(&self.trials_max), "search.trials_max must be 1 to 1000");
        ensure!(
            (1..=9).contains(&self.tries) && self.tries % 2 == 1,
            "search.tries must be odd, and 1 to 9"
        );
        Ok(())
    }
}
