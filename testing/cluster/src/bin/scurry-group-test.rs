//! `scurry-group-test`: as many rounds of each fault as are asked for, and a table.

use anyhow::Result;
use clap::{Parser, ValueEnum};
use scurry_cluster_test::group::{Fault, Report, Settings, run};
use scurry_cluster_test::{enter, inside, possible};
use scurry_crash::Binary;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A real group of three `scurry serve` under load and under faults: does it keep what it promises?
#[derive(Parser)]
struct Arguments {
    /// One round each of a leader that is killed and one that is stopped
    #[arg(long)]
    short: bool,
    /// Rounds of each fault [default: 3, 1 when short]
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    rounds: Option<u64>,
    /// The plan of the whole run
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Only these faults, separated by commas
    #[arg(long, value_delimiter = ',')]
    kinds: Vec<Fault>,
    /// An empty directory for the nodes [default: one that vanishes when all went well]
    #[arg(long)]
    dir: Option<PathBuf>,
}

fn main() -> Result<()> {
    let Arguments { short, rounds, seed, kinds, dir } = Arguments::parse();
    let faults = match (kinds.is_empty(), short) {
        (false, _) => kinds,
        (true, true) => Fault::SHORT.to_vec(),
        (true, false) => Fault::value_variants().to_vec(),
    };
    let binary = Binary::find()?;
    let mut no_network = None;
    if !inside() {
        match possible() {
            Ok(way) => return Err(enter(way, ("SCURRY_BIN", binary.path()))),
            Err(why) => no_network = Some(format!("{why:#}")),
        }
    }
    let interrupted = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        signal_hook::flag::register(signal, interrupted.clone())?;
    }
    let own = if dir.is_none() { Some(tempfile::tempdir()?) } else { None };
    let directory = dir.or_else(|| own.as_ref().map(|own| own.path().to_owned()));
    let rounds = rounds.unwrap_or(if short { 1 } else { 3 });
    let directory = directory.unwrap_or_default();
    let interrupted_too = interrupted.clone();
    let settings =
        Settings { seed, rounds, faults, no_network, directory, interrupted: interrupted_too };
    let mut report = Report::default();
    let outcome = run(&binary, &settings, &mut report, &mut |row| {
        let (name, acknowledged, resent) = (row.fault.name(), row.acknowledged, row.resent);
        let (all, one, remarks) = (row.gap_ms, row.client_gap_ms, row.remarks.join("; "));
        let whole = row.whole_ms;
        eprintln!(
            "{name}: {acknowledged} answers, {resent} sent again, none for {all} ms, for one client {one} ms, whole \
             after {whole} ms. {remarks}"
        );
    });
    print!("{report}");
    if outcome.is_err() && !interrupted.load(Ordering::Relaxed) {
        // What was found stays where the error says.
        own.map(tempfile::TempDir::keep);
    }
    outcome
}
