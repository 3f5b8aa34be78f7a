//! `scurry-lab report` and `scurry-lab diff`, which read files of results.

use std::path::PathBuf;

use anyhow::{Result, ensure};
use clap::Args;

use crate::row::SPREAD_PERCENT_MAX;

/// `scurry-lab report`.
#[derive(Debug, Args)]
pub struct ReportArguments {
    /// Files of results: what `run`, `compare` and `ladder` wrote with --json.
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,

    /// The page.
    #[arg(long, value_name = "FILE", default_value = "report.html")]
    pub out: PathBuf,

    /// Title of the page.
    #[arg(long, value_name = "TEXT", default_value = "Scurry measured")]
    pub title: String,

    /// Write ours beside the best peers there as JSON, for documents that quote it.
    #[arg(long, value_name = "FILE")]
    pub comparisons: Option<PathBuf>,
}

/// `scurry-lab diff`.
#[derive(Debug, Args)]
pub struct DiffArguments {
    /// The results before, as `run --json` or `compare` wrote them.
    pub before: PathBuf,

    /// The results after.
    pub after: PathBuf,

    /// Fail when the throughput of a row is below this multiple of what it was, unless the test
    /// takes the difference for chance, or when a row has no figures any more.
    #[arg(long, value_name = "RATIO")]
    pub fail_below: Option<f64>,

    /// Runs of one row that differ by more than so many percent of their median support no claim.
    #[arg(long, value_name = "PERCENT", default_value_t = SPREAD_PERCENT_MAX)]
    pub spread_max: f64,

    /// Write the comparison there as JSON (docs/lab.md has the fields).
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}

impl DiffArguments {
    /// Checks every bound.
    ///
    /// # Errors
    /// The first that does not hold, in words.
    pub fn check(&self) -> Result<()> {
        let is_ratio = self.fail_below.is_none_or(|ratio| ratio > 0.0 && ratio.is_finite());
        ensure!(is_ratio, "--fail-below must be above 0, for instance 0.95");
        ensure!(self.spread_max > 0.0, "--spread-max must be above 0");
        Ok(())
    }
}
