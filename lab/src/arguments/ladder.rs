//! The flags of `scurry-lab ladder`.

use anyhow::{Result, ensure};
use clap::Args;

use super::CommonArguments;
use super::common::seconds;
use crate::names::ACCOUNTS_MAX;

const SECONDS_MAX: f64 = 3_600.0;
const RUNS_MAX: u32 = 100;

/// `scurry-lab ladder`.
#[derive(Clone, Debug, Args)]
pub struct LadderArguments {
    /// Accounts of every rung above the ledger, chosen from uniformly.
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    pub accounts: u32,

    /// Measured seconds of each rung in each run.
    #[arg(long, value_name = "S", default_value_t = 3.0)]
    pub seconds: f64,

    /// Runs of each rung, alternating. A rung has its median run.
    #[arg(long, default_value_t = 5)]
    pub runs: u32,

    /// The server and the output.
    #[command(flatten)]
    pub common: CommonArguments,
}

impl LadderArguments {
    /// Checks every bound.
    ///
    /// # Errors
    /// The first that does not hold, in words.
    pub fn check(&self) -> Result<()> {
        ensure!(
            (1..=ACCOUNTS_MAX).contains(&self.accounts),
            "--accounts must be 1 to {ACCOUNTS_MAX}"
        );
        ensure!((1..=RUNS_MAX).contains(&self.runs), "--runs must be 1 to {RUNS_MAX}");
        seconds("--seconds", self.seconds, SECONDS_MAX).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::{LabCommand, parse_words};

    fn parse(line: &str) -> Result<LadderArguments> {
        let LabCommand::Ladder(ladder) = parse_words(&format!("ladder {line}"))? else {
            anyhow::bail!("not a ladder");
        };
        ladder.check()?;
        Ok(ladder)
    }

    #[test]
    fn a_ladder_has_five_runs_of_a_million_accounts_unless_told_otherwise() {
        let ladder = parse("").unwrap();
        assert_eq!((ladder.accounts, ladder.runs, ladder.seconds), (1_000_000, 5, 3.0));
        let ladder = parse("--accounts 1000 --runs 2 --seconds 0.5 --json a.json").unwrap();
        assert_eq!((ladder.accounts, ladder.runs, ladder.seconds), (1_000, 2, 0.5));
    }

    #[test]
    fn mistakes_are_refused_in_words() {
        for (line, expected) in [
            ("--accounts 0", "--accounts must be"),
            ("--runs 0", "--runs must be"),
            ("--seconds 0", "--seconds must be"),
        ] {
            let error = parse(line).unwrap_err().to_string();
            assert!(error.contains(expected), "{line}: {error}");
        }
    }
}
