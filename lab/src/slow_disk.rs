//! A slow disk without root: strace starts the server and delays its syncs. The server with a normal disk also runs
//! under strace, with a delay of 0, so that every row includes the cost of strace itself.

use std::ffi::OsString;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};

use crate::missing::Missing;

const DELAY_MS_MAX: f64 = 1_000.0;
const MS_US: f64 = 1_000.0;

/// Options with which strace stops the process only at these calls.
const TRACE: [&str; 5] = ["-f", "-qq", "--seccomp-bpf", "-e", "trace=fdatasync,fsync"];
/// File with a line for each call, in the directory of the server.
const LINES: &str = "strace";

/// Disk of the last server of a scenario: the only one, or a follower of a group.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SlowDisk {
    /// Delay of a sync, milliseconds; with 0 strace delays nothing.
    pub delay_ms: f64,
    /// One in this many syncs is delayed.
    pub every: u16,
}

/// Syncs of a server so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Syncs {
    /// All syncs.
    pub all: u64,
    /// Syncs that were selected for the delay, even if it is 0.
    pub late: u64,
}

impl Syncs {
    /// Counts the syncs of the server in this directory.
    ///
    /// # Errors
    /// When strace has not written its file there.
    pub fn count(directory: &Path) -> Result<Syncs> {
        let lines =
            fs::read_to_string(directory.join(LINES)).context("reading what strace wrote")?;
        Ok(Syncs::read(&lines))
    }

    fn read(lines: &str) -> Syncs {
        let count = |end: &str| lines.lines().filter(|line| line.ends_with(end)).count() as u64;
        let late = count(" = 0 (DELAYED)");
        Syncs { all: count(" = 0") + late, late }
    }

    /// Returns the syncs since an earlier count.
    #[must_use]
    pub fn since(self, before: Syncs) -> Syncs {
        Syncs { all: self.all - before.all, late: self.late - before.late }
    }
}

impl SlowDisk {
    /// Checks every bound.
    ///
    /// # Errors
    /// The first bound that does not hold, in words.
    pub fn check(self) -> Result<()> {
        ensure!(
            (0.0..=DELAY_MS_MAX).contains(&self.delay_ms),
            "slow_disk.delay_ms must be 0 to {DELAY_MS_MAX}"
        );
        ensure!(self.every > 0, "slow_disk.every must be 1 to {}", u16::MAX);
        Ok(())
    }

    /// Returns the strace command line that goes before the server's. With -D the server stays the child of the lab.
    pub fn words(self) -> Vec<OsString> {
        // A number without a unit means microseconds, in every release of strace.
        let SlowDisk { delay_ms, every } = self;
        let delay = delay_ms * MS_US;
        let inject = format!("inject=fdatasync,fsync:delay_enter={delay:.0}:when={every}+{every}");
        let own = ["-o", LINES, "-e", &inject].map(OsString::from);
        ["strace", "-D"].iter().chain(&TRACE).map(OsString::from).chain(own).collect()
    }

    /// Describes the syncs for the notes of a row.
    pub fn describe(self, syncs: Syncs) -> String {
        let Syncs { all, late } = syncs;
        match self.delay_ms > 0.0 {
            true => format!(
                "{late} of {all} syncs of the last server were late by {} ms",
                self.delay_ms
            ),
            false => format!("the disk as it is, under strace as a slow one is: {all} syncs"),
        }
    }
}

/// Checks that strace works here.
///
/// # Errors
/// When strace is missing or may not trace.
pub fn check() -> Result<(), Missing> {
    let tried = Command::new("strace").args(TRACE).arg("true").output();
    let output = match tried {
        Ok(output) if output.status.success() => return Ok(()),
        Ok(output) => output,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let cure = "install it (`apt-get install strace`)".to_owned();
            return Err(Missing { why: "strace is not installed".to_owned(), cure });
        }
        Err(error) => return Err(refused(&error.to_string())),
    };
    let said = String::from_utf8_lossy(&output.stderr);
    Err(refused(said.lines().last().unwrap_or_default()))
}

fn refused(said: &str) -> Missing {
    let cure = "allow ptrace here; in a container give it SYS_PTRACE (`--cap-add SYS_PTRACE`), and \
                have strace 5.3 or newer";
    Missing { why: format!("strace may not trace ({said})"), cure: cure.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_that_is_not_slow_is_traced_alike() {
        let line = |delay_ms| {
            SlowDisk { delay_ms, every: 7 }
                .words()
                .join(&OsString::from(" "))
                .into_string()
                .unwrap()
        };
        let slow = line(2.5);
        assert!(slow.starts_with("strace -D -f "), "{slow}");
        assert!(slow.ends_with("inject=fdatasync,fsync:delay_enter=2500:when=7+7"), "{slow}");
        assert_eq!(line(0.0), slow.replace("=2500:", "=0:"));
    }

    #[test]
    fn a_sync_is_counted_once_when_it_is_done() {
        let lines = "7 fdatasync(36)                     = 0\n\
            7 fdatasync(36 <unfinished ...>\n9 fsync(4)   = -1 EIO (Input/output error)\n\
            7 <... fdatasync resumed>)            = 0 (DELAYED)\n8 fsync(12)   = 0 (DELAYED)\n";
        let syncs = Syncs::read(lines);
        assert_eq!(syncs, Syncs { all: 3, late: 2 });
        assert_eq!(syncs.since(Syncs { all: 1, late: 1 }), Syncs { all: 2, late: 1 });
    }

    #[test]
    fn a_refusal_says_what_helps() {
        let text = refused("Operation not permitted").to_string();
        assert!(text.contains("Operation not permitted") && text.contains("SYS_PTRACE"), "{text}");
    }
}
