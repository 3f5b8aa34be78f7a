//! `scurry-ship-faults`: shippers of events before a group, under load and under faults, and the numbers of the run.

use anyhow::Result;
use clap::Parser;
use scurry_cluster_test::group::{ShipSettings, ship_faults};
use scurry_cluster_test::{enter_network, interrupted};
use scurry_crash::Binary;

/// Shippers to files, usage records and streams before a group of three servers: is each event delivered once?
#[derive(Parser)]
struct Arguments {
    /// Rounds of each fault
    #[arg(long, default_value_t = 30)]
    rounds: u64,
    /// Seed of the load and of the faults
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

fn main() -> Result<()> {
    let Arguments { rounds, seed } = Arguments::parse();
    let binary = Binary::find()?;
    let no_network = enter_network(("SCURRY_BIN", binary.path()))?;
    if let Some(why) = &no_network {
        eprintln!("no links are cut, and no disk is filled: {why}");
    }
    let directory = tempfile::tempdir()?;
    let settings = ShipSettings {
        seed,
        rounds,
        no_network,
        directory: directory.path().to_owned(),
        interrupted: interrupted()?,
    };
    let outcome = ship_faults(&binary, &settings);
    if outcome.is_err() {
        eprintln!("logs and files are in {}", directory.keep().display());
    }
    print!("{}", outcome?);
    Ok(())
}
