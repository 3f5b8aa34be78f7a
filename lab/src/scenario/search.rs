//! The settings of the search for the highest rate within a latency limit.

use anyhow::{Result, ensure};
use serde::Deserialize;

use super::RATE_MAX;

/// Search for the highest rate at which the 99th percentile stays below a limit.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Search {
    /// Limit of the 99th percentile, milliseconds, since a request was due.
    pub p99_ms: f64,
    /// First rate, requests per second.
    pub from: f64,
    /// Factor between two rates while the rate goes up.
    pub growth: f64,
    /// Distance in percent between the highest sustained rate and the lowest failed one at which the search ends.
    pub precision_percent: f64,
    /// Most trials, of all rates together.
    pub trials_max: u32,
    /// Trials of a rate that misses the limit; it counts as sustained when most of them stay within it.
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
