//! The machine and the build of a measured row.

use std::fs;
use std::process::Command;

use serde::{Deserialize, Serialize};

/// Machine and build.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Host {
    /// Kernel release.
    pub kernel: String,
    /// CPU model.
    pub cpu: String,
    /// Number of cores that this process may use.
    pub cores: usize,
    /// Commit of the working directory, with `+changes` when more than documents had changed; empty when the lab does
    /// not run in a git checkout.
    pub git_commit: String,
}

impl Host {
    /// Reads the facts from the system.
    pub fn look() -> Host {
        let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
        let cpus = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        Host {
            kernel: kernel.trim().to_owned(),
            cpu: cpu_model(&cpus).unwrap_or("unknown").to_owned(),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            git_commit: commit().unwrap_or_default(),
        }
    }
}

fn cpu_model(cpus: &str) -> Option<&str> {
    let line = cpus.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim())
}

/// Paths on which figures depend: everything but the documents, into which `make figures` writes its tables.
const MEASURED: &[&str] = &[":(top)", ":(top,exclude)docs", ":(top,exclude)README.md"];

fn commit() -> Option<String> {
    let measured = |words: &[&str]| git(&[words, MEASURED].concat());
    let newest = measured(&["log", "-1", "--format=%h", "--abbrev=12", "--"])?;
    let changes = measured(&["status", "--porcelain", "--untracked-files=no", "--"])?;
    Some(if changes.is_empty() { newest } else { format!("{newest}+changes") })
}

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cpu_model_is_found() {
        assert_eq!(
            cpu_model("processor : 0\nmodel name\t: Some CPU @ 2 GHz\n"),
            Some("Some CPU @ 2 GHz")
        );
        assert_eq!(cpu_model(""), None);
    }
}
