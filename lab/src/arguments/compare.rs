//! The flags of `scurry-lab compare`.

use std::path::PathBuf;

use anyhow::{Result, ensure};
use clap::Args;

use super::CommonArguments;

/// Longest comparison, minutes: one day.
const MINUTES_MAX: f64 = 1_440.0;

/// `scurry-lab compare`.
#[derive(Debug, Args)]
pub struct CompareArguments {
    /// A scenario (see `scurry-lab list`), or the path of a TOML file.
    #[arg(required_unless_present = "all", conflicts_with = "all")]
    pub scenario: Option<String>,

    /// Every scenario that the lab ships.
    #[arg(long)]
    pub all: bool,

    /// The long form: the scenario's own time and population, five runs of each target, with every
    /// durability that it has.
    #[arg(long)]
    pub full: bool,

    /// A target, as of `run`; repeat it [default: all that suit the scenario].
    #[arg(long = "target", value_name = "NAME")]
    pub target: Vec<String>,

    /// Runs of each target, alternating [default: 3, with --full 5].
    #[arg(long)]
    pub runs: Option<u32>,

    /// End within this time: scenarios share it evenly, each target runs once at least, and again
    /// where there is time by what it took [default: with --all in the short form 15, else no bound].
    #[arg(long, value_name = "MINUTES")]
    pub within: Option<f64>,

    /// Write the results of each scenario there as JSON, and report.html beside them.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,

    /// The server and the output.
    #[command(flatten)]
    pub common: CommonArguments,

    /// Anything else that `run` knows, behind `--`.
    #[arg(last = true)]
    pub run: Vec<String>,
}

impl CompareArguments {
    /// Checks every bound.
    ///
    /// # Errors
    /// The first bound that does not hold, in words.
    pub fn check(&self) -> Result<()> {
        let is_time = |minutes: f64| minutes > 0.0 && minutes <= MINUTES_MAX;
        ensure!(
            self.within.is_none_or(is_time),
            "--within must be above 0 and at most {MINUTES_MAX} minutes"
        );
        ensure!(
            !self.all || self.common.json.is_none(),
            "--json is for one scenario: say --out DIR with --all"
        );
        Ok(())
    }
}
