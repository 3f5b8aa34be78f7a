//! `scurry-lab report`.

use std::path::PathBuf;

use clap::Args;

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
}
