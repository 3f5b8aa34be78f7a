//! `scurry-group-test`: runs the requested rounds of each fault on a group and prints a table.

use anyhow::Result;
use clap::Parser;
use scurry_cluster_test::group::{Fault, Report, Settings, run};
use scurry_cluster_test::{Options, enter, inside, interrupted, possible};
use scurry_crash::Binary;
use std::sync::atomic::Ordering;

/// A real group of three `scurry serve` under load and under faults: does it keep what it promises?
#[derive(Parser)]
struct Arguments {
    #[command(flatten)]
    options: Options,
    /// Only these faults, separated by commas
    #[arg(long, value_delimiter = ',')]
    kinds: Vec<Fault>,
}

fn main() -> Result<()> {
    let Arguments { options, kinds } = Arguments::parse();
    let faults = options.faults(kinds, &Fault::SHORT);
    let binary = Binary::find()?;
    let mut no_network = None;
    if !inside() {
        match possible() {
            Ok(way) => return Err(enter(way, ("SCURRY_BIN", binary.path()))),
            Err(why) => no_network = Some(format!("{why:#}")),
        }
    }
    let interrupted = interrupted()?;
    let (directory, own) = options.directory()?;
    let settings = Settings {
        seed: options.seed,
        rounds: options.rounds(),
        faults,
        no_network,
        directory,
        interrupted: interrupted.clone(),
    };
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
        // Keeps the directory that the error message names.
        own.map(tempfile::TempDir::keep);
    }
    outcome
}
