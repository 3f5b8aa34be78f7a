//! Backups beside the load: `scurry backup` of one node after another, which `scurry inspect` then checks.

use super::window::Signals;
use anyhow::{Context, Result, ensure};
use scurry_crash::Binary;
use scurry_crash::clock::ns;
use serde::{Deserialize, Serialize};
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// Interval of looking whether a backup is due.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// What became of the backups.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct BackupCounts {
    /// Backups that were made and found whole.
    pub(super) whole: u64,
    /// Backups that the program gave up, which it may.
    pub(super) given_up: u64,
    /// Why the first of these was.
    pub(super) first: Option<String>,
}

/// Makes a backup of one of these data directories at each interval, until the signals say that it is over, and removes
/// it again. Fails if one is damaged.
pub(super) fn make(
    binary: &Binary,
    stores: &[PathBuf],
    to: &Path,
    every: Duration,
    signals: &Signals,
) -> Result<BackupCounts> {
    let every_ns = i64::try_from(every.as_nanos())?;
    let (mut counts, mut due_ns) = (BackupCounts::default(), ns() + every_ns);
    let mut stores = stores.iter().cycle();
    while !signals.is_over() {
        std::thread::sleep(LOOK_EVERY); // tidy: allow (backups are made at a pace)
        if ns() < due_ns {
            continue;
        }
        due_ns += every_ns;
        let store = stores.next().context("there are no nodes")?;
        remove(to)?;
        let made = run(binary, &[Path::new("backup"), store, Path::new("--to"), to]);
        match made {
            Ok(()) => {
                run(binary, &[Path::new("inspect"), to]).context("a backup is damaged")?;
                counts.whole += 1;
            }
            Err(error) => {
                counts.given_up += 1;
                counts.first.get_or_insert(format!("{error:#}"));
            }
        }
        remove(to)?;
    }
    Ok(counts)
}

fn remove(directory: &Path) -> Result<()> {
    if directory.exists() {
        fs::remove_dir_all(directory).with_context(|| format!("{}", directory.display()))?;
    }
    Ok(())
}

/// Runs the program to its end, also when the test is interrupted.
pub(super) fn run(binary: &Binary, words: &[&Path]) -> Result<()> {
    let mut command = Command::new(binary.path());
    let output = command.args(words).stdin(Stdio::null()).process_group(0).output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    let shown = words.first().copied().unwrap_or(Path::new("")).display();
    ensure!(output.status.success(), "scurry {shown}: {}, {}", output.status, said.trim());
    Ok(())
}
