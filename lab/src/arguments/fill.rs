//! The flags of `scurry-lab fill`.

use anyhow::{Result, ensure};
use clap::Args;

use super::CommonArguments;
use super::common::seconds;
use crate::names::ACCOUNTS_MAX;

/// Most buckets of an account, the default bound of the server.
const BUCKETS_MAX: u32 = 32;
const SECONDS_MAX: f64 = 3_600.0;

/// `scurry-lab fill`.
#[derive(Clone, Debug, Args)]
pub struct FillArguments {
    /// Accounts to create.
    #[arg(long, value_name = "N", default_value_t = 20_000_000)]
    pub accounts: u32,

    /// Buckets of each account.
    #[arg(long, value_name = "N", default_value_t = 2)]
    pub buckets: u32,

    /// Fill a second store with this many accounts and compare.
    #[arg(long, value_name = "N")]
    pub compare: Option<u32>,

    /// Seconds of moaf-scur on the accounts.
    #[arg(long, value_name = "S", default_value_t = 10.0)]
    pub seconds: f64,

    /// Keep what is filled on the device (`fsync`), write a snapshot under the load, kill the server and
    /// start it again, beside what the disk alone does with as many bytes. Says before whether there is room.
    #[arg(long)]
    pub recovery: bool,

    /// The server and the output.
    #[command(flatten)]
    pub common: CommonArguments,
}

impl FillArguments {
    /// Returns the number of accounts of each store.
    ///
    /// # Errors
    /// The first bound that does not hold, in words.
    pub fn stores(&self) -> Result<Vec<u32>> {
        let stores: Vec<u32> = std::iter::once(self.accounts).chain(self.compare).collect();
        ensure!(
            stores.iter().all(|accounts| (1..=ACCOUNTS_MAX).contains(accounts)),
            "--accounts and --compare must be 1 to {ACCOUNTS_MAX}"
        );
        ensure!((1..=BUCKETS_MAX).contains(&self.buckets), "--buckets must be 1 to {BUCKETS_MAX}");
        seconds("--seconds", self.seconds, SECONDS_MAX)?;
        Ok(stores)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::{LabCommand, parse_words};

    fn parse(line: &str) -> Result<Vec<u32>> {
        let LabCommand::Fill(found) = parse_words(&format!("fill {line}"))? else {
            anyhow::bail!("not fill");
        };
        found.stores()
    }

    #[test]
    fn one_store_or_two_are_filled() {
        assert_eq!(parse("").unwrap(), [20_000_000]);
        assert_eq!(parse("--accounts 50 --compare 10").unwrap(), [50, 10]);
    }

    #[test]
    fn mistakes_are_refused_in_words() {
        for (line, expected) in [
            ("--accounts 0", "--accounts and --compare"),
            ("--compare 0", "--accounts and --compare"),
            ("--buckets 33", "--buckets must be"),
            ("--seconds 0", "--seconds must be"),
        ] {
            let error = parse(line).unwrap_err().to_string();
            assert!(error.contains(expected), "{line}: {error}");
        }
    }
}
