//! The flags of `scurry-lab soak`.

use std::time::Duration;

use anyhow::{Result, ensure};
use clap::Args;

use super::RunArguments;

const MINUTES_MAX: f64 = 100_000.0;

/// `scurry-lab soak`.
#[derive(Debug, Args)]
pub struct SoakArguments {
    /// Minutes after which no further round begins.
    #[arg(long, value_name = "MINUTES", default_value_t = 60.0)]
    pub minutes: f64,

    /// Each round, as of `run`; faults too.
    #[command(flatten)]
    pub run: RunArguments,
}

impl SoakArguments {
    /// Returns for how long new rounds are started.
    ///
    /// # Errors
    /// When the value is out of range.
    pub fn minutes(&self) -> Result<Duration> {
        let is_time = self.minutes > 0.0 && self.minutes <= MINUTES_MAX;
        ensure!(is_time, "--minutes must be above 0 and at most {MINUTES_MAX}");
        Ok(Duration::from_secs_f64(60.0 * self.minutes))
    }
}
