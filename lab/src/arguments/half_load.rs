//! The flags of what is measured at half of what a server can do: `commit` and `snapshots`.

use anyhow::{Result, ensure};
use clap::Args;

use super::CommonArguments;
use super::common::seconds;
use crate::half_load::HalfLoadPlan;
use crate::names::ACCOUNTS_MAX;
use crate::scenario::RATE_MAX;
use crate::target::{Durability, Target};

const SECONDS_MAX: f64 = 600.0;
const RUNS_MAX: u32 = 100;

/// A load by the clock on a scurry that keeps a log.
#[derive(Clone, Debug, Args)]
pub struct HalfLoadArguments {
    /// When scurry answers: write or fsync.
    #[arg(long, value_name = "MODE", default_value = "fsync")]
    pub durability: String,

    /// Requests per second by the clock [default: half of what a closed loop reaches, which is
    /// measured first].
    #[arg(long, value_name = "N")]
    pub rate: Option<f64>,

    /// Accounts that are created before and chosen from uniformly.
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    pub accounts: u32,

    /// Measured seconds of each run, after a third of them of warm-up.
    #[arg(long, value_name = "S", default_value_t = 5.0)]
    pub seconds: f64,

    /// Runs, alternating with what they are compared with.
    #[arg(long, default_value_t = 5)]
    pub runs: u32,

    /// The server and the output.
    #[command(flatten)]
    pub common: CommonArguments,
}

impl HalfLoadArguments {
    /// Checks every bound.
    ///
    /// # Errors
    /// The first that does not hold, in words.
    pub fn plan(&self) -> Result<HalfLoadPlan> {
        let all = Durability::of(Target::Scurry).iter().copied();
        let durability = all.filter(|one| one.keeps()).find(|one| one.word() == self.durability);
        let Some(durability) = durability else {
            anyhow::bail!("--durability must be write or fsync, and is `{}`", self.durability)
        };
        ensure!(
            self.rate.is_none_or(|rate| (1.0..=RATE_MAX).contains(&rate)),
            "--rate must be 1 to {RATE_MAX}"
        );
        ensure!(
            (1..=ACCOUNTS_MAX).contains(&self.accounts),
            "--accounts must be 1 to {ACCOUNTS_MAX}"
        );
        ensure!((1..=RUNS_MAX).contains(&self.runs), "--runs must be 1 to {RUNS_MAX}");
        Ok(HalfLoadPlan {
            durability,
            rate: self.rate,
            accounts: self.accounts,
            seconds: seconds("--seconds", self.seconds, SECONDS_MAX)?,
            runs: self.runs,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::{LabCommand, parse_words};

    fn parse(line: &str) -> Result<HalfLoadPlan> {
        match parse_words(line)? {
            LabCommand::Commit(found) | LabCommand::Snapshots(found) => found.plan(),
            other => anyhow::bail!("{other:?}"),
        }
    }

    #[test]
    fn both_commands_take_the_same_flags() {
        let plan = parse("commit").unwrap();
        assert_eq!((plan.durability, plan.rate, plan.runs), (Durability::Fsync, None, 5));
        let plan = parse("snapshots --durability write --rate 1000 --accounts 7").unwrap();
        assert_eq!((plan.durability, plan.rate), (Durability::Write, Some(1_000.0)));
        assert_eq!(plan.accounts, 7);
    }

    #[test]
    fn mistakes_are_refused_in_words() {
        for (line, expected) in [
            ("commit --durability none", "--durability must be write or fsync"),
            ("commit --rate 0", "--rate must be"),
            ("snapshots --accounts 0", "--accounts must be"),
            ("snapshots --runs 0", "--runs must be"),
            ("commit --seconds 0", "--seconds must be"),
        ] {
            let error = parse(line).unwrap_err().to_string();
            assert!(error.contains(expected), "{line}: {error}");
        }
    }
}
