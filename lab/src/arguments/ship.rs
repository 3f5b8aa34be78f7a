//! The flags of `scurry-lab ship`.

use anyhow::{Result, ensure};
use clap::{Args, ValueEnum};

use super::CommonArguments;
use super::common::seconds;
use crate::scenario::SESSIONS_MAX;
use crate::target::Durability;

/// Most runs of each measurement.
const RUNS_MAX: u32 = 100;
/// Most accounts that are charged.
const ACCOUNTS_MAX: u32 = 10_000_000;
/// Longest load, seconds.
const SECONDS_MAX: f64 = 3_600.0;

/// `scurry-lab ship`.
#[derive(Clone, Debug, Args)]
pub struct ShipArguments {
    /// Runs of each measurement; a figure is their median.
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub runs: u32,

    /// Seconds of each load that is measured.
    #[arg(long, value_name = "S", default_value_t = 10.0)]
    pub seconds: f64,

    /// Seconds of charging at full rate that make the log which is shipped: millions of events in each few seconds.
    #[arg(long, value_name = "S", default_value_t = 4.0)]
    pub log_seconds: f64,

    /// Accounts that are charged.
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    pub accounts: u32,

    /// Sessions at a time, on 50 connections at most.
    #[arg(long, value_name = "N", default_value_t = 3_200)]
    pub sessions: u32,

    /// Durability of the store.
    #[arg(long, value_name = "WORD", default_value = "write")]
    pub durability: LogDurability,

    /// The server and the output.
    #[command(flatten)]
    pub common: CommonArguments,
}

/// A durability with a log.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum LogDurability {
    /// In the page cache.
    Write,
    /// On the device.
    Fsync,
}

impl ShipArguments {
    /// Checks the numbers.
    ///
    /// # Errors
    /// When one is out of range.
    pub fn check(&self) -> Result<()> {
        ensure!((1..=RUNS_MAX).contains(&self.runs), "--runs must be 1 to {RUNS_MAX}");
        seconds("--seconds", self.seconds, SECONDS_MAX)?;
        seconds("--log-seconds", self.log_seconds, SECONDS_MAX)?;
        ensure!(
            (1..=ACCOUNTS_MAX).contains(&self.accounts),
            "--accounts must be 1 to {ACCOUNTS_MAX}"
        );
        ensure!(
            (1..=SESSIONS_MAX).contains(&self.sessions),
            "--sessions must be 1 to {SESSIONS_MAX}"
        );
        Ok(())
    }
}

impl From<LogDurability> for Durability {
    fn from(durability: LogDurability) -> Durability {
        match durability {
            LogDurability::Write => Durability::Write,
            LogDurability::Fsync => Durability::Fsync,
        }
    }
}
