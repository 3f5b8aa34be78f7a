//! The process of a node: known again by its number and the moment at which it began, so that
//! another one that got its number is never taken for it.

use anyhow::{Context, Result, bail};
use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde::{Deserialize, Serialize};
use std::fs;

/// A process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Process {
    pid: i32,
    /// In the kernel's ticks since the machine started.
    began: u64,
}

impl Process {
    /// The one that has this number now.
    pub(super) fn of(pid: u32) -> Result<Process> {
        let pid = i32::try_from(pid).context("the number of a process")?;
        let began = began(pid).with_context(|| format!("process {pid} has ended at once"))?;
        Ok(Process { pid, began })
    }

    pub(super) fn pid(self) -> i32 {
        self.pid
    }

    /// True while it runs.
    pub(super) fn is_alive(self) -> bool {
        began(self.pid) == Some(self.began)
    }

    /// Sends it a signal; nothing where it has ended.
    pub(super) fn signal(self, signal: Signal) -> Result<()> {
        if !self.is_alive() {
            return Ok(());
        }
        match kill(Pid::from_raw(self.pid), signal) {
            Ok(()) | Err(Errno::ESRCH) => Ok(()),
            Err(error) => bail!("process {} cannot be stopped: {error}", self.pid),
        }
    }
}

/// When a process began; none for one that has ended, also when nobody has asked how.
fn began(pid: i32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name may hold anything, also spaces: fields are counted behind it.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let state = fields.next()?;
    if state == "Z" || state == "X" {
        return None;
    }
    fields.nth(18)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn a_process_is_known_by_its_beginning_and_another_one_is_left_alone() {
        let _alone = crate::cluster::CHILDREN.lock().expect("no test has failed");
        let mut child = Command::new("sleep").arg("60").spawn().expect("it starts");
        let process = Process::of(child.id()).expect("it runs");
        let another = Process { began: process.began + 1, ..process };
        assert!(process.is_alive() && !another.is_alive());
        another.signal(Signal::SIGKILL).expect("nothing to do");
        assert_eq!(child.try_wait().expect("its state"), None, "it goes on");
        process.signal(Signal::SIGKILL).expect("it is sent");
        child.wait().expect("it ends");
        assert!(!process.is_alive());
    }
}
