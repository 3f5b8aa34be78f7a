//! Explores seeds: `cargo xtask diameter-sim [--seeds N] [--seed S]`; with a seed alone it replays that run.

use scurry_diameter_sim::{Report, run};
use std::panic::catch_unwind;
use std::process::ExitCode;

const USAGE: &str = "usage: cargo xtask diameter-sim [--seeds N] [--seed S]";
/// Default number of seeds.
const SEEDS: u64 = 3_000;

fn args() -> Option<(u64, u64)> {
    let (mut seeds, mut seed) = (None, None);
    let mut args = std::env::args().skip(1);
    while let Some(option) = args.next() {
        let value = args.next()?.parse().ok()?;
        match option.as_str() {
            "--seeds" => seeds = Some(value),
            "--seed" => seed = Some(value),
            _ => return None,
        }
    }
    let count = seeds.unwrap_or(if seed.is_some() { 1 } else { SEEDS });
    Some((seed.unwrap_or(0), count))
}

fn main() -> ExitCode {
    let Some((first, count)) = args() else {
        eprintln!("{USAGE}");
        return ExitCode::FAILURE;
    };
    let mut total = Report::default();
    for seed in first..first.saturating_add(count) {
        // The panic has already printed what went wrong.
        let Ok(report) = catch_unwind(|| run(seed)) else {
            println!("replay: cargo xtask diameter-sim --seed {seed}");
            return ExitCode::FAILURE;
        };
        total.add(&report);
    }
    println!("{count} seeds from {first}, nothing found: {total:?}");
    ExitCode::SUCCESS
}
