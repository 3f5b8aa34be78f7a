//! `scurry-cluster-test`: as many rounds of each fault as are asked for, and a table.

use anyhow::Result;
use clap::{Parser, ValueEnum};
use scurry_cluster_test::{Fault, Module, Report, Settings, enter, inside, possible, run};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A real Valkey Cluster under load and under faults: does it keep what it promises?
#[derive(Parser)]
struct Arguments {
    /// One round each of killing, pausing and migrating
    #[arg(long)]
    short: bool,
    /// Rounds of each fault [default: 3, 1 when short]
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    rounds: Option<u64>,
    /// The plan of the whole run
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Only this fault; may be given several times
    #[arg(long)]
    fault: Vec<Fault>,
    /// An empty directory for the nodes [default: one that vanishes when all went well]
    #[arg(long)]
    dir: Option<PathBuf>,
}

fn main() -> Result<()> {
    let Arguments { short, rounds, seed, fault, dir } = Arguments::parse();
    let faults = match (fault.is_empty(), short) {
        (false, _) => fault,
        (true, true) => Fault::SHORT.to_vec(),
        (true, false) => Fault::value_variants().to_vec(),
    };
    let module = Module::find()?;
    let mut no_cut = None;
    if faults.contains(&Fault::Cut) && !inside() {
        match possible() {
            Ok(way) => return Err(enter(way, ("SCURRY_MODULE", module.path()))),
            Err(why) => no_cut = Some(format!("{why:#}")),
        }
    }
    let interrupted = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        signal_hook::flag::register(signal, interrupted.clone())?;
    }
    let own = if dir.is_none() { Some(tempfile::tempdir()?) } else { None };
    let directory = dir.or_else(|| own.as_ref().map(|own| own.path().to_owned()));
    let settings = Settings {
        seed,
        rounds: rounds.unwrap_or(if short { 1 } else { 3 }),
        faults,
        no_cut,
        directory: directory.unwrap_or_default(),
        interrupted: interrupted.clone(),
    };
    let mut report = Report::default();
    let outcome = run(&module, &settings, &mut report, &mut |row| {
        let (name, all, one) = (row.fault.name(), row.acknowledged_all, row.acknowledged_one);
        let (lost, gap_ms) = (row.lost_one, row.gap_ms);
        eprintln!("{name}: {all} on all copies, {one} on one and {lost} of them lost, {gap_ms} ms");
    });
    print!("{report}");
    if outcome.is_err() && !interrupted.load(Ordering::Relaxed) {
        // What was found stays where the error says.
        own.map(tempfile::TempDir::keep);
    }
    outcome
}
