//! Flags that several sub-commands share.

use std::path::PathBuf;

use anyhow::{Result, ensure};
use clap::Args;

/// The server that is started, and what is written.
#[derive(Clone, Debug, Args)]
pub struct CommonArguments {
    /// Where the scurry binary is [default: beside the lab, then PATH].
    #[arg(long, value_name = "PATH")]
    pub scurry_bin: Option<PathBuf>,

    /// One more argument for `scurry serve`; repeat it (`--server-arg --io --server-arg epoll`).
    #[arg(long, value_name = "ARG", allow_hyphen_values = true)]
    pub server_arg: Vec<String>,

    /// Where the servers' directories are made, and what they keep, on a disk [default: the
    /// system's directory for temporary files].
    #[arg(long, value_name = "DIR")]
    pub directory: Option<PathBuf>,

    /// Write the results there as JSON (docs/lab.md has the fields).
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,

    /// Show no progress.
    #[arg(long)]
    pub quiet: bool,
}

/// Parses a duration in seconds from the command line.
///
/// # Errors
/// When the value is out of range; the message names the flag and the bounds.
pub(super) fn seconds(flag: &str, value: f64, max: f64) -> Result<f64> {
    ensure!(value > 0.0 && value <= max, "{flag} must be above 0 and at most {max}");
    Ok(value)
}
