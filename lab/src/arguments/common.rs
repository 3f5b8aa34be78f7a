//! Flags that several sub-commands share.

use std::path::PathBuf;

use anyhow::{Result, ensure};
use clap::Args;

use crate::healthy::HealthyPlan;

/// Requests per second of the healthy client at most: it must stay far from any limit.
const RATE_MAX: f64 = 100_000.0;
const CONNECTIONS_MAX: u32 = 100;
/// Accounts of the healthy client at most.
const ACCOUNTS_MAX: u32 = 1_000_000;

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

/// The client whose latencies count.
#[derive(Clone, Debug, Args)]
pub struct HealthyArguments {
    /// Requests per second of the healthy client, sent by the clock whatever the answers do.
    #[arg(long, value_name = "N", default_value_t = 2_000.0)]
    pub rate: f64,

    /// Connections of the healthy client, each with one request in flight.
    #[arg(long, value_name = "N", default_value_t = 4)]
    pub connections: u32,

    /// Accounts of the healthy client.
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    pub accounts: u32,
}

impl HealthyArguments {
    /// Checks every bound.
    ///
    /// # Errors
    /// The first that does not hold, in words.
    pub fn plan(&self) -> Result<HealthyPlan> {
        let HealthyArguments { rate, connections, accounts } = *self;
        ensure!((1.0..=RATE_MAX).contains(&rate), "--rate must be 1 to {RATE_MAX}");
        ensure!(
            (1..=CONNECTIONS_MAX).contains(&connections),
            "--connections must be 1 to {CONNECTIONS_MAX}"
        );
        ensure!((1..=ACCOUNTS_MAX).contains(&accounts), "--accounts must be 1 to {ACCOUNTS_MAX}");
        Ok(HealthyPlan { rate, connections, accounts })
    }
}

/// A length of time on the command line.
///
/// # Errors
/// When it is not one, in words.
pub(super) fn seconds(flag: &str, value: f64, max: f64) -> Result<f64> {
    ensure!(value > 0.0 && value <= max, "{flag} must be above 0 and at most {max}");
    Ok(value)
}
