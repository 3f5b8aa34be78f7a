//! The flags of `scurry-lab slow-disk`.

use anyhow::{Result, ensure};
use clap::Args;

use super::common::seconds;
use super::{CommonArguments, HealthyArguments};
use crate::slow_disk::SlowDiskPlan;

const SECONDS_MAX: f64 = 600.0;
const RUNS_MAX: u32 = 100;
const DELAY_MS_MAX: f64 = 1_000.0;

/// `scurry-lab slow-disk`.
#[derive(Clone, Debug, Args)]
pub struct SlowDiskArguments {
    /// Milliseconds by which a slow disk is late.
    #[arg(long, value_name = "MS", default_value_t = 10.0)]
    pub delay: f64,

    /// One of so many syncs is late.
    #[arg(long, value_name = "N", default_value_t = 50)]
    pub every: u16,

    /// Measured seconds of each run, after one second of warm-up.
    #[arg(long, value_name = "S", default_value_t = 5.0)]
    pub seconds: f64,

    /// Runs of each set-up, in turn.
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub runs: u32,

    /// The healthy client.
    #[command(flatten)]
    pub healthy: HealthyArguments,

    /// The server and the output.
    #[command(flatten)]
    pub common: CommonArguments,
}

impl SlowDiskArguments {
    /// Checks every bound.
    ///
    /// # Errors
    /// The first that does not hold, in words.
    pub fn plan(&self) -> Result<SlowDiskPlan> {
        let SlowDiskArguments { delay, every, runs, .. } = *self;
        ensure!(
            delay > 0.0 && delay <= DELAY_MS_MAX,
            "--delay must be above 0 and at most {DELAY_MS_MAX}"
        );
        // What strace can count to.
        ensure!(every > 0, "--every must be 1 to {}", u16::MAX);
        ensure!((1..=RUNS_MAX).contains(&runs), "--runs must be 1 to {RUNS_MAX}");
        let seconds = seconds("--seconds", self.seconds, SECONDS_MAX)?;
        Ok(SlowDiskPlan { delay_ms: delay, every, seconds, runs })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::{LabCommand, parse_words};

    fn parse(line: &str) -> Result<SlowDiskPlan> {
        let LabCommand::SlowDisk(found) = parse_words(&format!("slow-disk {line}"))? else {
            anyhow::bail!("not slow-disk");
        };
        found.healthy.plan()?;
        found.plan()
    }

    #[test]
    fn one_of_fifty_syncs_is_ten_milliseconds_late_unless_told_otherwise() {
        let plan = SlowDiskPlan { delay_ms: 10.0, every: 50, seconds: 5.0, runs: 3 };
        assert_eq!(parse("").unwrap(), plan);
        let plan = SlowDiskPlan { delay_ms: 0.5, every: 1, seconds: 2.0, runs: 1 };
        assert_eq!(parse("--delay 0.5 --every 1 --seconds 2 --runs 1").unwrap(), plan);
    }

    #[test]
    fn mistakes_are_refused_in_words() {
        for (line, expected) in [
            ("--delay 0", "--delay must be"),
            ("--delay 1001", "--delay must be"),
            ("--every 0", "--every must be"),
            ("--every 65536", "65536"),
            ("--seconds 0", "--seconds must be"),
            ("--runs 0", "--runs must be"),
            ("--rate 0", "--rate must be"),
        ] {
            let error = parse(line).unwrap_err().to_string();
            assert!(error.contains(expected), "{line}: {error}");
        }
    }
}
