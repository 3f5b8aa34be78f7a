//! `scurry-cluster-test`: runs the requested rounds of each fault on a cluster and prints a table.

use anyhow::Result;
use clap::Parser;
use scurry_cluster_test::{
    Fault, Module, Options, Report, Settings, enter, inside, interrupted, possible, run,
};
use std::sync::atomic::Ordering;

/// A real Valkey Cluster under load and under faults: does it keep what it promises?
#[derive(Parser)]
struct Arguments {
    #[command(flatten)]
    options: Options,
    /// Only this fault; may be given several times
    #[arg(long)]
    fault: Vec<Fault>,
}

fn main() -> Result<()> {
    let Arguments { options, fault } = Arguments::parse();
    let faults = options.faults(fault, &Fault::SHORT);
    let module = Module::find()?;
    let mut no_cut = None;
    if faults.contains(&Fault::Cut) && !inside() {
        match possible() {
            Ok(way) => return Err(enter(way, ("SCURRY_MODULE", module.path()))),
            Err(why) => no_cut = Some(format!("{why:#}")),
        }
    }
    let interrupted = interrupted()?;
    let (directory, own) = options.directory()?;
    let settings = Settings {
        seed: options.seed,
        rounds: options.rounds(),
        faults,
        no_cut,
        directory,
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
        // Keeps the directory that the error message names.
        own.map(tempfile::TempDir::keep);
    }
    outcome
}
