//! `scurry-http2-fuzz`: a run against a server of its own, and its numbers.

use anyhow::Result;
use clap::Parser;
use scurry_crash::Binary;
use scurry_http2_fuzz::{GRANT, Sample, Server, Settings, run};
use std::time::Duration;

/// Hostile clients of HTTP/2 at a server, and good ones beside them.
#[derive(Parser)]
struct Arguments {
    /// Seconds with hostile clients
    #[arg(long, default_value_t = 900)]
    seconds: u64,
    /// Seed of all that they do
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Hostile clients at a time
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u64).range(1..=16))]
    workers: u64,
    /// Most memory that the server may have, MiB
    #[arg(long, default_value_t = 256)]
    memory_mib: u64,
    /// Only the hostile connection of this seed, as a failure names it
    #[arg(long)]
    connection: Option<u64>,
}

fn main() -> Result<()> {
    let Arguments { seconds, seed, workers, memory_mib, connection } = Arguments::parse();
    let directory = tempfile::tempdir()?;
    let mut server = Server::start(&Binary::find()?, directory.path())?;
    let settings = Settings {
        seed,
        time: Duration::from_secs(seconds),
        workers: if connection.is_some() { 1 } else { workers },
        most: Sample { memory: memory_mib << 20, ..Sample::MOST },
        grant: GRANT,
        only: connection,
    };
    let mut next = 0;
    let outcome = run(&mut server, &settings, &mut |_, report| {
        if report.connections() >= next {
            next = report.connections() + 5_000;
            eprintln!("{} hostile connections", report.connections());
        }
    });
    if outcome.is_err() {
        eprintln!("the log of the server is in {}", directory.keep().display());
    }
    print!("{}", outcome?);
    Ok(())
}
