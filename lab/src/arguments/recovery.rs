//! The flags of `scurry-lab recovery`.

use std::path::PathBuf;

use anyhow::{Result, ensure};
use clap::Args;

use crate::names::ACCOUNTS_MAX;

const RUNS_MAX: u32 = 100;
const RECORDS_MAX: u64 = 1_000_000_000;

/// `scurry-lab recovery`.
#[derive(Clone, Debug, Args)]
pub struct RecoveryArguments {
    /// Changes in the log.
    #[arg(long, value_name = "N", default_value_t = 5_000_000)]
    pub records: u64,

    /// Accounts that they are of.
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    pub accounts: u32,

    /// Accounts in the snapshot that is restored by itself, with two buckets each; 0 for none.
    #[arg(long, value_name = "N", default_value_t = 10_000_000)]
    pub snapshot_accounts: u32,

    /// How often each is recovered.
    #[arg(long, default_value_t = 3)]
    pub runs: u32,

    /// Where the files are made [default: the system's directory for temporary files].
    #[arg(long, value_name = "DIR")]
    pub directory: Option<PathBuf>,

    /// Write the results there as JSON (docs/lab.md has the fields).
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}

impl RecoveryArguments {
    /// Checks every bound.
    ///
    /// # Errors
    /// The first that does not hold, in words.
    pub fn check(&self) -> Result<()> {
        ensure!((1..=RECORDS_MAX).contains(&self.records), "--records must be 1 to {RECORDS_MAX}");
        ensure!(
            (1..=ACCOUNTS_MAX).contains(&self.accounts) && self.snapshot_accounts <= ACCOUNTS_MAX,
            "--accounts and --snapshot-accounts must be at most {ACCOUNTS_MAX}, and --accounts \
             at least 1"
        );
        ensure!((1..=RUNS_MAX).contains(&self.runs), "--runs must be 1 to {RUNS_MAX}");
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::{LabCommand, parse_words};

    fn parse(line: &str) -> Result<RecoveryArguments> {
        let LabCommand::Recovery(found) = parse_words(&format!("recovery {line}"))? else {
            anyhow::bail!("not recovery");
        };
        found.check()?;
        Ok(found)
    }

    #[test]
    fn five_million_changes_and_ten_million_accounts_unless_told_otherwise() {
        let found = parse("").unwrap();
        assert_eq!((found.records, found.accounts), (5_000_000, 1_000_000));
        assert_eq!((found.snapshot_accounts, found.runs), (10_000_000, 3));
    }

    #[test]
    fn mistakes_are_refused_in_words() {
        for (line, expected) in [
            ("--records 0", "--records must be"),
            ("--accounts 0", "--accounts and"),
            ("--runs 0", "--runs must be"),
        ] {
            let error = parse(line).unwrap_err().to_string();
            assert!(error.contains(expected), "{line}: {error}");
        }
    }
}
