//! `scurry-soak`: a piece of a soak of a group, and a table of all pieces at this commit. docs/torture.md.

use anyhow::{Context, Result, bail};
use clap::Parser;
use scurry_cluster_test::group::{SoakResults, SoakSettings, soak};
use scurry_cluster_test::{enter_network, hours};
use scurry_crash::Binary;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag::{register, register_conditional_shutdown};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Hours of load on a real group of three `scurry serve` with everything on, and a fault every few minutes
#[derive(Parser)]
struct Arguments {
    /// Time of this piece under load, also 0.5
    #[arg(long, value_parser = hours, default_value = "1")]
    hours: Duration,
    /// Accounts of a group that begins
    #[arg(long, default_value_t = 10_000_000, value_parser = clap::value_parser!(u32).range(1..))]
    accounts: u32,
    /// Requests a second, by the clock [default: 70 % of what a closed run of 30 s shows, which later pieces keep]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    rate: Option<u32>,
    /// Seconds from one fault to the next
    #[arg(long, value_name = "SECONDS", default_value_t = 300)]
    every: u64,
    /// Seconds from one backup to the next
    #[arg(long, value_name = "SECONDS", default_value_t = 600)]
    backup_every: u64,
    /// Growth of a thread's log after which it writes a snapshot
    #[arg(long, value_name = "SIZE", default_value = "512mb")]
    snapshot_log: String,
    /// Directory of the group, from which the next piece goes on [default: `group` beside the results]
    #[arg(long)]
    dir: Option<PathBuf>,
    /// Seed of the load and of the faults
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The file to which the piece is added
    #[arg(long, default_value = "target/soak/results.json")]
    results: PathBuf,
    /// The commit of the binary: results of another one are kept beside the file
    #[arg(long, default_value = "unknown")]
    commit: String,
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let binary = Binary::find()?;
    let no_network = enter_network(("SCURRY_BIN", binary.path()))?;
    let interrupted = interrupted()?;
    let directory = arguments.dir.unwrap_or_else(|| arguments.results.with_file_name("group"));
    // Programs of other directories get its name.
    std::fs::create_dir_all(&directory).with_context(|| format!("{}", directory.display()))?;
    let settings = SoakSettings {
        time: arguments.hours,
        accounts: arguments.accounts,
        rate: arguments.rate,
        every: Duration::from_secs(arguments.every),
        backup_every: Duration::from_secs(arguments.backup_every),
        snapshot_log: arguments.snapshot_log,
        directory: directory.canonicalize()?,
        seed: arguments.seed,
        no_network,
        interrupted: interrupted.clone(),
    };
    settings.ensure_usable()?;
    let mut results = SoakResults::open(&arguments.results, &arguments.commit)?;
    let outcome = soak(&binary, &settings);
    let kept = || format!("what is left of the group is in {}", settings.directory.display());
    match outcome {
        Ok(Some(piece)) => results.add(settings.seed, Ok(piece)),
        Ok(None) => {
            bail!("interrupted before the load began: remove {}", settings.directory.display())
        }
        Err(error) => {
            results.add(settings.seed, Err(format!("{error:#}")));
            results.write(&arguments.results)?;
            print!("{results}");
            return Err(error).with_context(kept);
        }
    }
    results.write(&arguments.results)?;
    print!("{results}");
    Ok(())
}

/// Returns a flag that SIGINT and SIGTERM set. A second signal ends the program at once.
fn interrupted() -> Result<Arc<AtomicBool>> {
    let interrupted = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        register_conditional_shutdown(signal, 1, interrupted.clone())?;
        register(signal, interrupted.clone())?;
    }
    Ok(interrupted)
}
