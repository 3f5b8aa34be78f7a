//! `scurry-crash`: runs the requested rounds and shows the progress.

use anyhow::Result;
use clap::Parser;
use scurry_crash::{Binary, Settings, run};
use std::io::{IsTerminal, Write, stderr};
use std::path::PathBuf;

/// Kills the server under load, again and again, and checks what it still knows.
#[derive(Parser)]
struct Arguments {
    /// Kills under load
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u64).range(1..))]
    rounds: u64,
    /// The plan of the whole run
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Load before a kill at most, ms
    #[arg(long, default_value_t = 700, value_parser = clap::value_parser!(i64).range(5..))]
    load_ms: i64,
    /// Where to keep the store and the histories; what is there is kept [default: a directory
    /// that vanishes when all went well]
    #[arg(long)]
    dir: Option<PathBuf>,
}

fn main() -> Result<()> {
    let Arguments { rounds, seed, load_ms, dir } = Arguments::parse();
    let own = if dir.is_none() { Some(tempfile::tempdir()?) } else { None };
    let given = dir.or_else(|| own.as_ref().map(|own| own.path().to_owned()));
    let directory = given.unwrap_or_default();
    let settings = Settings { seed, rounds, load_ms_max: load_ms, directory };
    let live = stderr().is_terminal();
    let mut done = 0;
    let outcome = run(&Binary::find()?, &settings, &mut |line| {
        done += 1;
        if live {
            eprint!("\r\x1b[K{done}/{rounds}");
            // A failure to show progress is no reason to stop.
            let _ = stderr().flush();
        } else if done % 10 == 0 || done == rounds {
            eprintln!("{done}/{rounds}: {line}");
        }
    });
    if live {
        eprintln!();
    }
    if outcome.is_err() {
        // Keeps the directory that the error message names.
        own.map(tempfile::TempDir::keep);
    }
    println!("{}", outcome?);
    Ok(())
}
