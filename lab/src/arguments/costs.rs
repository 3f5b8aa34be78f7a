//! The flags of `scurry-lab costs`.

use anyhow::{Result, ensure};
use clap::Args;

use super::CommonArguments;

/// Of accounts, sessions and transactions.
const COUNT_MAX: u32 = 4_000_000;
const RUNS_MAX: u32 = 100;

/// `scurry-lab costs`.
#[derive(Clone, Debug, Args)]
pub struct CostsArguments {
    /// Accounts that each command goes to in a run; for chains, hash slots of three accounts
    #[arg(long, value_name = "N", default_value_t = 30_000)]
    pub accounts: u32,

    /// Open sessions of the busy account
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    pub open: u32,

    /// Transactions that the busy account remembers
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    pub remembered: u32,

    /// Runs of each side, in turn
    #[arg(long, value_name = "N", default_value_t = 7)]
    pub runs: u32,

    /// The server and the output.
    #[command(flatten)]
    pub common: CommonArguments,
}

impl CostsArguments {
    /// # Errors
    /// The first bound that does not hold, in words.
    pub fn check(&self) -> Result<()> {
        for (name, count) in
            [("accounts", self.accounts), ("open", self.open), ("remembered", self.remembered)]
        {
            ensure!((1..=COUNT_MAX).contains(&count), "--{name} must be 1 to {COUNT_MAX}");
        }
        ensure!((1..=RUNS_MAX).contains(&self.runs), "--runs must be 1 to {RUNS_MAX}");
        Ok(())
    }
}
