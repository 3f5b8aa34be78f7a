//! The flags of `scurry-lab expiry`.

use anyhow::{Result, ensure};
use clap::Args;

use super::common::seconds;
use super::{CommonArguments, HealthyArguments};
use crate::expiry::{ExpiryKind, ExpiryPlan};
use crate::names::ACCOUNTS_MAX;

const SPREAD_MS_MAX: u32 = 600_000;
const SECONDS_MAX: f64 = 600.0;
const LEAD_MAX: f64 = 3_600.0;
/// Records that any build of the server takes in a second.
const FILL_PER_SECOND: f64 = 80_000.0;
/// Beside filling and watching.
const LEAD_MIN: f64 = 2.0;

/// `scurry-lab expiry`.
#[derive(Clone, Debug, Args)]
pub struct ExpiryArguments {
    /// Kind of thing that falls due; repeat it for several [default: all of them].
    #[arg(long = "kind", value_name = "KIND")]
    pub kinds: Vec<ExpiryKind>,

    /// How many.
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    pub count: u32,

    /// Milliseconds over which things fall due evenly; 0 for all in the same one.
    #[arg(long, value_name = "MS", default_value_t = 1_000)]
    pub spread: u32,

    /// Seconds from the first of them being written to the first falling due [default: 2
    /// and --seconds, and one more for each 80,000].
    #[arg(long, value_name = "S")]
    pub lead: Option<f64>,

    /// Seconds that the healthy client is watched before, and again after.
    #[arg(long, value_name = "S", default_value_t = 3.0)]
    pub seconds: f64,

    /// The healthy client.
    #[command(flatten)]
    pub healthy: HealthyArguments,

    /// The server and the output.
    #[command(flatten)]
    pub common: CommonArguments,
}

impl ExpiryArguments {
    /// The kinds in their order, each once.
    pub fn chosen(&self) -> Vec<ExpiryKind> {
        let all = ExpiryKind::ALL.iter().copied();
        all.filter(|one| self.kinds.is_empty() || self.kinds.contains(one)).collect()
    }

    /// Checks every bound.
    ///
    /// # Errors
    /// The first that does not hold, in words.
    pub fn plan(&self) -> Result<ExpiryPlan> {
        ensure!((1..=ACCOUNTS_MAX).contains(&self.count), "--count must be 1 to {ACCOUNTS_MAX}");
        ensure!(self.spread <= SPREAD_MS_MAX, "--spread must be at most {SPREAD_MS_MAX}");
        let filling = f64::from(self.count) / FILL_PER_SECOND;
        let lead = self.lead.unwrap_or(LEAD_MIN + self.seconds + filling);
        Ok(ExpiryPlan {
            count: self.count,
            spread_ms: self.spread,
            lead_seconds: seconds("--lead", lead, LEAD_MAX)?,
            seconds: seconds("--seconds", self.seconds, SECONDS_MAX)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::{LabCommand, parse_words};

    fn parse(line: &str) -> Result<ExpiryPlan> {
        let LabCommand::Expiry(found) = parse_words(&format!("expiry {line}"))? else {
            anyhow::bail!("not expiry");
        };
        found.plan()
    }

    #[test]
    fn a_million_fall_due_within_a_second_unless_told_otherwise() {
        let plan = parse("").unwrap();
        assert_eq!((plan.count, plan.spread_ms, plan.lead_seconds), (1_000_000, 1_000, 17.5));
        assert_eq!(parse("--spread 0 --count 10").unwrap().spread_ms, 0);
        assert_eq!(parse("--lead 1.5").unwrap().lead_seconds, 1.5);
    }

    #[test]
    fn mistakes_are_refused_in_words() {
        for (line, expected) in [
            ("--kind lists", "lists"),
            ("--count 0", "--count must be"),
            ("--spread 600001", "--spread must be"),
            ("--lead 0", "--lead must be"),
        ] {
            let error = parse(line).unwrap_err().to_string();
            assert!(error.contains(expected), "{line}: {error}");
        }
    }
}
