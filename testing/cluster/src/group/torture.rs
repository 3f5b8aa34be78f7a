//! Rounds of all faults for hours. Each pass runs one round of each fault with a new seed, and the results are written
//! after each round, so that a run can be interrupted at any moment and goes on where it stopped.

use super::Fault;
use super::report::{Report, Row};
use super::results::Results;
use super::run::{Settings, run};
use anyhow::{Context, Result, ensure};
use scurry_crash::{Binary, clock};
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Settings of a torture.
#[derive(Clone, Debug)]
pub struct TortureSettings {
    /// Settings of the rounds: the seed is that of the first pass, and each pass has one round of each fault.
    pub rounds: Settings,
    /// Time after which no other round begins.
    pub time: Duration,
    /// File of the results.
    pub file: PathBuf,
}

/// Runs rounds until the time is spent, the run is interrupted, or a round fails. Calls `tell` with each round.
pub fn torture(
    binary: &Binary,
    settings: &TortureSettings,
    results: &mut Results,
    tell: &mut dyn FnMut(&Row),
) -> Result<()> {
    let start = clock::ns();
    let is_over =
        || u128::try_from(clock::ns() - start).is_ok_and(|ns| ns >= settings.time.as_nanos());
    let mut groups = 0;
    for pass in 0.. {
        let seed = settings.rounds.seed.wrapping_add(pass);
        let mut rounds = 0;
        for &fault in &settings.rounds.faults {
            if results.has(seed, fault) {
                rounds += 1;
                continue;
            }
            if is_over() || settings.rounds.interrupted.load(Ordering::Relaxed) {
                return Ok(());
            }
            let own = Settings {
                seed,
                rounds: 1,
                faults: vec![fault],
                // Each second pass, if not all.
                tls: settings.rounds.tls || pass % 2 == 1,
                directory: settings.rounds.directory.join(format!("{seed}-{}", fault.name())),
                groups_before: groups,
                ..settings.rounds.clone()
            };
            groups += 1;
            let outcome = run_one(binary, &own, fault, results, tell);
            results.write(&settings.file)?;
            rounds += outcome?;
        }
        ensure!(rounds > 0, "none of these faults can be caused here:\n{results}");
    }
    Ok(())
}

/// Runs one round and adds it to the results. Returns the number of rounds: none if it was skipped or interrupted.
fn run_one(
    binary: &Binary,
    settings: &Settings,
    fault: Fault,
    results: &mut Results,
    tell: &mut dyn FnMut(&Row),
) -> Result<u64> {
    let (mut report, start, seed) = (Report::default(), clock::ns(), settings.seed);
    let outcome = run(binary, settings, &mut report, tell);
    let spent_ms = u64::try_from((clock::ns() - start) / 1_000_000)?;
    if outcome.is_err() && settings.interrupted.load(Ordering::Relaxed) {
        // It is run again with the same seed.
        return Ok(0);
    }
    let directory = settings.directory.display();
    let outcome = outcome.with_context(|| {
        format!("a round of {}, seed {seed}: what is left of it is in {directory}", fault.name())
    });
    if let Err(error) = outcome {
        results.fail(seed, fault, format!("{error:#}"), spent_ms);
        return Err(error);
    }
    let row = report.rows.pop().context("a round without a row")?;
    let rounds = row.rounds;
    results.pass(seed, report.calls, row, spent_ms);
    fs::remove_dir_all(&settings.directory).with_context(|| format!("{directory}"))?;
    Ok(rounds)
}
