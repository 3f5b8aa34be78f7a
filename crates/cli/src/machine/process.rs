//! A process, identified by its pid and its start time, so that a later process with the same pid is never taken for
//! it.

use super::POLL_EVERY;
use anyhow::{Context, Result, bail, ensure};
use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;

/// Bound of polls for the end of a process: ten seconds.
const STOP_POLLS: u32 = 200;
const LOG: &str = "log";
const LOG_TAIL: usize = 600;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Process {
    pid: i32,
    /// Start time in clock ticks since boot.
    began: u64,
}

impl Process {
    /// Returns the process that has this pid now.
    pub(crate) fn with_pid(pid: u32) -> Result<Process> {
        let pid = i32::try_from(pid).context("the number of a process")?;
        let began = began(pid).with_context(|| format!("process {pid} has ended at once"))?;
        Ok(Process { pid, began })
    }

    pub(crate) fn pid(self) -> i32 {
        self.pid
    }

    /// Reports whether the process still runs.
    pub(crate) fn is_alive(self) -> bool {
        began(self.pid) == Some(self.began)
    }

    /// Sends a signal. Does nothing if the process has ended.
    pub(crate) fn signal(self, signal: Signal) -> Result<()> {
        if !self.is_alive() {
            return Ok(());
        }
        match kill(Pid::from_raw(self.pid), signal) {
            Ok(()) | Err(Errno::ESRCH) => Ok(()),
            Err(error) => bail!("process {} cannot be stopped: {error}", self.pid),
        }
    }
}

/// Starts a program in a directory and writes its log there.
pub(crate) fn start(command: &mut Command, home: &Path) -> Result<Process> {
    let log = File::create(home.join(LOG))?;
    // A separate process group: Ctrl-C reaches only this program, which then stops the processes that it has started.
    let child = command
        .current_dir(home)
        .stdin(Stdio::null())
        .stdout(log.try_clone()?)
        .stderr(log)
        .process_group(0)
        .spawn()
        .with_context(|| format!("{} cannot be started", command.get_program().display()))?;
    Process::with_pid(child.id()).with_context(|| log_tail(home))
}

/// Returns the end of a program's log.
pub(crate) fn log_tail(home: &Path) -> String {
    let log = fs::read(home.join(LOG)).unwrap_or_default();
    let text = last_lines(&String::from_utf8_lossy(&log));
    if text.is_empty() { "it logged nothing".to_owned() } else { text }
}

/// Returns the last lines of a log that fit in [`LOG_TAIL`] bytes, and at least the last line.
fn last_lines(log: &str) -> String {
    let mut bytes = 0;
    let fits = |line: &&str| {
        let is_first = bytes == 0;
        bytes += line.len() + 1;
        is_first || bytes <= LOG_TAIL
    };
    let mut lines: Vec<&str> = log.trim().lines().rev().take_while(fits).collect();
    lines.reverse();
    lines.join("\n")
}

/// Stops the processes that run and waits for their end. Returns how many were running.
pub(crate) fn stop(processes: impl Iterator<Item = Process>) -> Result<usize> {
    let alive: Vec<Process> = processes.filter(|process| process.is_alive()).collect();
    for process in &alive {
        process.signal(Signal::SIGTERM)?;
        // A stopped process handles SIGTERM only after it continues.
        process.signal(Signal::SIGCONT)?;
    }
    for round in 0..=2 * STOP_POLLS {
        let left: Vec<&Process> = alive.iter().filter(|process| process.is_alive()).collect();
        if left.is_empty() {
            break;
        }
        if round == STOP_POLLS {
            for process in &left {
                eprintln!("process {} does not end: it is killed", process.pid());
                process.signal(Signal::SIGKILL)?;
            }
        }
        ensure!(round < 2 * STOP_POLLS, "process {} does not end", left[0].pid());
        thread::sleep(POLL_EVERY); // tidy: allow (only its parent can wait for a process)
    }
    Ok(alive.len())
}

/// Returns the start time of a process. None if it has ended, even if it is still a zombie.
fn began(pid: i32) -> Option<u64> {
    began_in(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// Returns the start time in a text of `/proc/PID/stat`. A zombie has ended when it has no further threads: until then
/// one of these may hold its ports.
fn began_in(stat: &str) -> Option<u64> {
    // The name may contain anything, also blanks and brackets, so fields are counted after its closing bracket.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let state = fields.next()?;
    let threads: u32 = fields.nth(16)?.parse().ok()?;
    if (state == "Z" || state == "X") && threads <= 1 {
        return None;
    }
    fields.nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_has_ended_when_its_last_thread_has() {
        let stat = |state, threads| {
            format!("7 (a b) c) {state} 1 7 7 0 -1 4 0 0 0 0 0 0 0 0 20 0 {threads} 0 4711 0 0")
        };
        assert_eq!(began_in(&stat('S', 1)), Some(4711));
        assert_eq!(began_in(&stat('Z', 3)), Some(4711), "another thread may hold the ports");
        assert_eq!(began_in(&stat('Z', 1)), None);
        assert!(began(i32::try_from(std::process::id()).expect("a number")).is_some());
    }

    #[test]
    fn the_end_of_a_log_is_whole_lines() {
        let line = "x".repeat(LOG_TAIL / 2);
        assert_eq!(last_lines(""), "");
        assert_eq!(last_lines(&format!("{line}\n{line}1\nend\n")), format!("{line}1\nend"));
        let long = "y".repeat(2 * LOG_TAIL);
        assert_eq!(last_lines(&format!("{line}\n{long}\n")), long);
    }

    #[test]
    fn a_process_is_known_by_its_beginning_and_another_one_is_left_alone() {
        let _lock = crate::machine::CHILDREN.lock().expect("no test has failed");
        let mut child = Command::new("sleep").arg("60").spawn().expect("it starts");
        let process = Process::with_pid(child.id()).expect("it runs");
        let another = Process { began: process.began + 1, ..process };
        assert!(process.is_alive() && !another.is_alive());
        another.signal(Signal::SIGKILL).expect("nothing to do");
        assert_eq!(child.try_wait().expect("its state"), None, "it goes on");
        process.signal(Signal::SIGKILL).expect("it is sent");
        child.wait().expect("it ends");
        assert!(!process.is_alive());
    }
}
