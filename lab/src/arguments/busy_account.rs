//! The flags of `scurry-lab busy-account`.

use anyhow::{Result, ensure};
use clap::Args;

use super::{CommonArguments, HealthyArguments};
use crate::busy_account::{BusyAccount, TARGETS};
use crate::target::Target;

/// Of sessions, as the server's default has it.
const OPEN_MAX: u32 = 1_000_000;
/// Of transactions: one more is debited.
const REMEMBERED_MAX: u32 = 3_999_999;
const RUNS_MAX: u32 = 100;

/// `scurry-lab busy-account`.
#[derive(Clone, Debug, Args)]
pub struct BusyAccountArguments {
    /// A system; repeat it for several [default: all of them].
    #[arg(long = "target", value_name = "TARGET", value_parser = TARGETS.map(Target::name))]
    pub targets: Vec<String>,

    /// Open sessions of the account.
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    pub open: u32,

    /// Transactions that it remembers.
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    pub remembered: u32,

    /// Runs of each target, each on a fresh server.
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub runs: u32,

    /// The healthy client.
    #[command(flatten)]
    pub healthy: HealthyArguments,

    /// The server and the output.
    #[command(flatten)]
    pub common: CommonArguments,
}

impl BusyAccountArguments {
    /// The systems in their order, each once.
    pub fn chosen(&self) -> impl Iterator<Item = Target> {
        let is_chosen = |target: &Target| self.targets.iter().any(|name| name == target.name());
        TARGETS.into_iter().filter(move |target| self.targets.is_empty() || is_chosen(target))
    }

    /// Checks every bound.
    ///
    /// # Errors
    /// The first that does not hold, in words.
    pub fn size(&self) -> Result<BusyAccount> {
        let BusyAccountArguments { open, remembered, runs, .. } = *self;
        ensure!((1..=OPEN_MAX).contains(&open), "--open must be 1 to {OPEN_MAX}");
        ensure!(
            (1..=REMEMBERED_MAX).contains(&remembered),
            "--remembered must be 1 to {REMEMBERED_MAX}"
        );
        ensure!((1..=RUNS_MAX).contains(&runs), "--runs must be 1 to {RUNS_MAX}");
        Ok(BusyAccount { open, remembered })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::{LabCommand, parse_words};

    fn parse(line: &str) -> Result<BusyAccountArguments> {
        let LabCommand::BusyAccount(found) = parse_words(&format!("busy-account {line}"))? else {
            anyhow::bail!("not busy-account");
        };
        Ok(found)
    }

    fn size(line: &str) -> Result<BusyAccount> {
        parse(line)?.size()
    }

    #[test]
    fn all_systems_are_measured_unless_some_are_named() {
        assert_eq!(parse("").unwrap().chosen().collect::<Vec<_>>(), TARGETS);
        let one = parse("--target scurry").unwrap();
        assert_eq!(one.chosen().collect::<Vec<_>>(), [Target::Scurry]);
        assert!(parse("--target redis").unwrap_err().to_string().contains("valkey+module, scurry"));
    }

    #[test]
    fn the_account_is_as_large_as_it_may_be_asked_to_be() {
        assert_eq!(size("").unwrap(), BusyAccount { open: 100_000, remembered: 1_000_000 });
        for (line, expected) in [
            ("--open 0", "--open must be"),
            ("--remembered 4000000", "--remembered must be"),
            ("--runs 0", "--runs must be"),
        ] {
            let error = size(line).unwrap_err().to_string();
            assert!(error.contains(expected), "{line}: {error}");
        }
    }
}
