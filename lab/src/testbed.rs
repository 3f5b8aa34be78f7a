//! What filling a store needs, and what all sub-commands share: the program, the cores, the signals, the JSON.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result, ensure};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde::Serialize;

use crate::arguments::CommonArguments;
use crate::cores::Cores;
use crate::data_directory::DataDirectory;
use crate::host::Host;
use crate::scenario::ScenarioKind;
use crate::target::{ScurryOptions, Target};

/// Machine, and how a server is started on it.
#[derive(Debug)]
pub struct Testbed {
    /// Path of the scurry binary.
    pub program: PathBuf,
    /// Cores to use; None binds nothing.
    pub cores: Option<Cores>,
    /// Machine of the measurement.
    pub host: Host,
    /// Options of scurry.
    pub scurry: ScurryOptions,
    /// Directory for the data of servers.
    pub place: DataDirectory,
    /// Set by Ctrl-C.
    pub interrupted: Arc<AtomicBool>,
    /// True to show no live line.
    pub quiet: bool,
}

impl Testbed {
    /// Finds the binary, the cores and the directories.
    ///
    /// # Errors
    /// When the scurry binary is missing, or the results cannot be written.
    pub fn prepare(common: &CommonArguments) -> Result<Testbed> {
        common.json.as_deref().map_or(Ok(()), check_json)?;
        Ok(Testbed {
            program: Target::Scurry.locate(ScenarioKind::Charging, common.scurry_bin.as_deref())?,
            cores: Cores::choose(1)?,
            host: Host::look(),
            scurry: ScurryOptions { threads: None, arguments: common.server_arg.clone() },
            place: DataDirectory::find(common.directory.as_deref())?,
            interrupted: catch_signals()?,
            quiet: common.quiet,
        })
    }

    /// Returns an error after Ctrl-C, to end a long loop.
    ///
    /// # Errors
    /// When the run was interrupted.
    pub fn go_on(&self) -> Result<()> {
        ensure!(!self.interrupted.load(Ordering::Relaxed), "interrupted");
        Ok(())
    }
}

/// Returns a flag that Ctrl-C and SIGTERM set.
///
/// # Errors
/// When the kernel refuses.
pub fn catch_signals() -> Result<Arc<AtomicBool>> {
    let interrupted = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&interrupted))?;
    }
    Ok(interrupted)
}

/// Raises the limit of open files where it is too low; the servers inherit it.
///
/// # Errors
/// When the hard limit is lower.
pub fn allow_files(needed: u64) -> Result<()> {
    let limit = getrlimit(Resource::Nofile);
    if limit.current.is_none_or(|current| current >= needed) {
        return Ok(());
    }
    ensure!(
        limit.maximum.is_none_or(|maximum| maximum >= needed),
        "{needed} open files are needed: raise the limit (ulimit -n) or lower the number of \
         connections"
    );
    let raised = Rlimit { current: limit.maximum, maximum: limit.maximum };
    setrlimit(Resource::Nofile, raised).context("raising the limit of open files")
}

/// Checks before the measurement that the results can be written.
fn check_json(path: &Path) -> Result<()> {
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    ensure!(
        directory.is_none_or(Path::is_dir) && !path.is_dir(),
        "{} cannot be written: name a file in a directory that is there",
        path.display()
    );
    Ok(())
}

/// Writes a result as JSON, if a path is given.
///
/// # Errors
/// When it cannot be written.
pub fn write_json(path: Option<&Path>, result: &impl Serialize) -> Result<()> {
    let Some(path) = path else { return Ok(()) };
    let json = serde_json::to_string_pretty(result)?;
    std::fs::write(path, json + "\n").with_context(|| format!("writing {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_without_a_place_are_told_before_anything_is_measured() {
        for path in ["rows.json", "/tmp/rows.json"] {
            check_json(Path::new(path)).unwrap();
        }
        for path in ["/tmp", "/no-such-directory/rows.json"] {
            let error = check_json(Path::new(path)).unwrap_err().to_string();
            assert!(error.starts_with(path) && error.contains("name a file"), "{error}");
        }
    }
}
