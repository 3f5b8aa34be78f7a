//! How should a log be written and synced? One writer per way, on files that were prepared in
//! different ways, with batches of several sizes. Results and the decision:
//! docs/adr/0014-log-io.md.

mod cell;
mod clock;
mod ground;
mod memory;
mod prepare;
mod report;
mod ring;
mod thread;
mod way;

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use clap::Parser;
use tempfile::TempDir;

use cell::Cell;
use ground::Ground;
use report::Report;
use way::Way;

/// Sizes of a batch, bytes, and how often each is written in a round. The first is one small
/// answer; the others are multiples of a block.
const BATCHES: &[(usize, usize)] =
    &[(700, 400), (4_096, 400), (32_768, 300), (131_072, 160), (524_288, 80)];

/// Compares ways to write a log.
#[derive(Debug, Parser)]
#[command(name = "scurry-log-bench")]
struct Arguments {
    /// Directory for the files, on the disk in question; without it a temporary one.
    #[arg(long)]
    directory: Option<PathBuf>,
    /// Ways to write, separated by commas; without it all.
    #[arg(long, value_enum, value_delimiter = ',')]
    ways: Vec<Way>,
    /// What the file is before it is written, separated by commas; without it all.
    #[arg(long, value_enum, value_delimiter = ',')]
    grounds: Vec<Ground>,
    /// Writers at once, each with a thread and a file.
    #[arg(long, default_value_t = 1)]
    writers: usize,
    /// Rounds; in each everything is measured once.
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// Batches of a round, in percent of the usual; at least one.
    #[arg(long, default_value_t = 100)]
    percent: usize,
    /// File for the results as JSON. Rounds that are in it already stay, and count.
    #[arg(long)]
    json: Option<PathBuf>,
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    ensure!(arguments.writers > 0 && arguments.rounds > 0, "writers and rounds: at least one");
    let temporary = match &arguments.directory {
        Some(directory) => TempDir::new_in(directory),
        None => TempDir::new(),
    }
    .context("making a directory for the files")?;
    let cells = cells(&arguments);
    let mut report = match &arguments.json {
        Some(path) if path.exists() => Report::read(path)?,
        _ => Report::of_this_machine(),
    };
    for round in 1..=arguments.rounds {
        eprintln!("round {round} of {}", arguments.rounds);
        for cell in &cells {
            report.rows.push(cell.measure(temporary.path())?);
        }
        report.preparing.extend(prepare::measure(temporary.path())?);
    }
    if let Some(path) = &arguments.json {
        report.save(path)?;
    }
    print!("{}", report.table(&cells));
    Ok(())
}

fn cells(arguments: &Arguments) -> Vec<Cell> {
    let mut cells = Vec::new();
    for &(batch_len, batches) in BATCHES {
        for way in chosen(&arguments.ways) {
            for ground in chosen(&arguments.grounds) {
                if way.is_direct() && ground == Ground::RecycledCold {
                    continue; // It does not look at the cache.
                }
                let batches = (batches * arguments.percent / 100).max(1);
                cells.push(Cell { way, ground, batch_len, batches, writers: arguments.writers });
            }
        }
    }
    cells
}

fn chosen<T: clap::ValueEnum>(asked: &[T]) -> Vec<T> {
    if asked.is_empty() { T::value_variants().to_vec() } else { asked.to_vec() }
}
