//! The flags of `scurry-lab report`.

use std::path::PathBuf;

use clap::Args;

/// `scurry-lab report`.
#[derive(Debug, Args)]
pub struct ReportArguments {
    /// Files of results: what `run` and `compare` wrote with --json.
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
