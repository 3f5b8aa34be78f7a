//! `scurry-group-test`: runs the requested rounds of each fault on a group and prints a table; with `--hours`, passes of
//! all faults for that time, and a table of everything that was run at this commit.

use anyhow::Result;
use clap::Parser;
use scurry_cluster_test::group::{
    Fault, Report, Results, Row, Settings, TortureSettings, run, torture,
};
use scurry_cluster_test::{Options, enter_network, hours, interrupted};
use scurry_crash::Binary;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// A real group of three `scurry serve` under load and under faults: does it keep what it promises?
#[derive(Parser)]
struct Arguments {
    #[command(flatten)]
    options: Options,
    /// Only these faults, separated by commas
    #[arg(long, value_delimiter = ',')]
    kinds: Vec<Fault>,
    /// Nodes speak TLS with each other and with clients; with --hours they do in each second pass anyway
    #[arg(long)]
    tls: bool,
    /// One round of each fault, again and again with other seeds, until this time is over; --rounds does not count
    #[arg(long, value_parser = hours)]
    hours: Option<Duration>,
    /// The file to which the rounds of --hours are added
    #[arg(long, default_value = "target/torture/results.json")]
    results: PathBuf,
    /// The commit of the binary: results of another one are kept beside the file
    #[arg(long, default_value = "unknown")]
    commit: String,
}

fn main() -> Result<()> {
    let Arguments { options, kinds, tls, hours, results: file, commit } = Arguments::parse();
    let faults = options.faults(kinds, &Fault::SHORT);
    let binary = Binary::find()?;
    let no_network = enter_network(("SCURRY_BIN", binary.path()))?;
    let interrupted = interrupted()?;
    let (directory, own) = options.directory()?;
    let rounds = Settings {
        seed: options.seed,
        rounds: options.rounds(),
        faults,
        tls,
        no_network,
        directory,
        groups_before: 0,
        interrupted: interrupted.clone(),
    };
    let outcome = match hours {
        Some(time) => {
            let mut results = Results::open(&file, &commit)?;
            let settings = TortureSettings { rounds, time, file };
            let outcome = torture(&binary, &settings, &mut results, &mut tell);
            print!("{results}");
            outcome
        }
        None => {
            let mut report = Report::default();
            let outcome = run(&binary, &rounds, &mut report, &mut tell);
            print!("{report}");
            outcome
        }
    };
    if outcome.is_err() && !interrupted.load(Ordering::Relaxed) {
        // Keeps the directory that the error message names.
        own.map(tempfile::TempDir::keep);
    }
    outcome
}

/// Prints a round when it is over.
fn tell(row: &Row) {
    let (name, acknowledged, resent) = (row.fault.name(), row.acknowledged, row.resent);
    let (all, one, remarks) = (row.gap_ms, row.client_gap_ms, row.remarks.join("; "));
    let whole = row.whole_ms;
    eprintln!(
        "{name}: {acknowledged} answers, {resent} sent again, none for {all} ms, for one client {one} ms, whole after \
         {whole} ms. {remarks}"
    );
}
