//! Options shared by the programs of this crate.

use anyhow::Result;
use clap::{Args, ValueEnum};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use tempfile::TempDir;

/// The size of a run.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// One round each of two or three faults, which are a sample of all
    #[arg(long)]
    short: bool,
    /// Rounds of each fault [default: 3, 1 when short]
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    rounds: Option<u64>,
    /// The plan of the whole run
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// An empty directory for the nodes [default: one that vanishes when all went well]
    #[arg(long)]
    dir: Option<PathBuf>,
}

impl Options {
    /// Returns the named faults, otherwise the short list or all.
    pub fn faults<F: ValueEnum + Clone>(&self, named: Vec<F>, short: &[F]) -> Vec<F> {
        match (named.is_empty(), self.short) {
            (false, _) => named,
            (true, true) => short.to_vec(),
            (true, false) => F::value_variants().to_vec(),
        }
    }

    /// Returns the rounds of each fault.
    pub fn rounds(&self) -> u64 {
        self.rounds.unwrap_or(if self.short { 1 } else { 3 })
    }

    /// Returns the directory for the nodes, and the guard that removes it if it is a temporary one.
    pub fn directory(&self) -> Result<(PathBuf, Option<TempDir>)> {
        if let Some(named) = &self.dir {
            return Ok((named.clone(), None));
        }
        let own = tempfile::tempdir()?;
        Ok((own.path().to_owned(), Some(own)))
    }
}

/// Parses a number of hours, also `0.5`.
pub fn hours(text: &str) -> Result<Duration, String> {
    let hours: f64 = text.parse().map_err(|_| format!("`{text}` is no number of hours"))?;
    Duration::try_from_secs_f64(hours * 3_600.0).map_err(|error| error.to_string())
}

/// Returns a flag that SIGINT and SIGTERM set.
pub fn interrupted() -> Result<Arc<AtomicBool>> {
    let interrupted = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        signal_hook::flag::register(signal, interrupted.clone())?;
    }
    Ok(interrupted)
}
