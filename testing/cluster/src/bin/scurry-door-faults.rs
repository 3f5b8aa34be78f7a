//! `scurry-door-faults`: doors of a protocol of charging before a group, under load and under faults, and the numbers of the
//! run.

use anyhow::Result;
use clap::{Parser, ValueEnum};
use scurry_cluster_test::group::{DoorSettings, diameter_faults, nchf_faults};
use scurry_cluster_test::{enter_network, interrupted};
use scurry_crash::Binary;
use std::time::Duration;

/// Two doors before a group of three servers, under load and under faults: is each request charged once?
#[derive(Parser)]
struct Arguments {
    /// What clients and doors speak
    protocol: Protocol,
    /// Seconds with faults
    #[arg(long, default_value_t = 600)]
    seconds: u64,
    /// Sessions and events that begin in a second
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    rate: u32,
    /// Seed of the load and of the faults
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

#[derive(Clone, Copy, ValueEnum)]
enum Protocol {
    /// Credit control (RFC 8506)
    Diameter,
    /// Nchf over HTTP/2 (TS 32.291)
    Nchf,
}

fn main() -> Result<()> {
    let Arguments { protocol, seconds, rate, seed } = Arguments::parse();
    let binary = Binary::find()?;
    let no_network = enter_network(("SCURRY_BIN", binary.path()))?;
    if let Some(why) = &no_network {
        eprintln!("no links are cut: {why}");
    }
    let directory = tempfile::tempdir()?;
    let settings = DoorSettings {
        seed,
        time: Duration::from_secs(seconds),
        rate,
        no_network,
        lies: false,
        directory: directory.path().to_owned(),
        interrupted: interrupted()?,
    };
    let outcome = match protocol {
        Protocol::Diameter => diameter_faults(&binary, &settings),
        Protocol::Nchf => nchf_faults(&binary, &settings),
    };
    if outcome.is_err() {
        eprintln!("the logs are in {}", directory.keep().display());
    }
    print!("{}", outcome?);
    Ok(())
}
