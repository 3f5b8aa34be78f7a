//! The tests of a merge while single processes of theirs stand still for a moment, as on a machine that others use too.
//! A test whose outcome depends on who is on time fails here.

use crate::host::Host;
use anyhow::{Context, Result, ensure};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::collections::BTreeMap;
use std::fs;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// How often one is stopped.
const EVERY: Duration = Duration::from_millis(60);
/// How long one stands still at most, in these steps: longer than whatever a server or a client does by itself when
/// nothing happens, shorter than the patience of any test.
const STEPS_MAX: u64 = 24;
/// How many stand still at a time at most.
const STOPPED_MAX: usize = 3;
/// Programs of the build: nothing waits for these with a patience.
const BUILDERS: [&str; 6] = ["cargo", "cargo-nextest", "rustc", "cc", "ld", "strace"];
const SEED: u64 = 0x5741_4C4C_0001;

/// Runs the command to its end while it stops and continues the processes below it.
pub(crate) fn beside(host: &Host, mut command: Command) -> Result<()> {
    command.current_dir(&host.root).stdin(Stdio::null());
    let mut child = command.spawn().context("starting the tests")?;
    let stopped = stop_and_continue(&mut child);
    let status = child.wait()?;
    println!("{} times a process stood still", stopped?);
    ensure!(status.success(), "a test depends on who is on time: {status}");
    Ok(())
}

/// Processes that stand still, each with the step in which it goes on. Dropping it lets all go on.
#[derive(Default)]
struct Stopped(BTreeMap<i32, u64>);

impl Stopped {
    fn go_on(&mut self, step: u64) {
        self.0.retain(|process, until| {
            let is_over = *until <= step;
            if is_over {
                // It may have been killed meanwhile.
                let _ = kill(Pid::from_raw(*process), Signal::SIGCONT);
            }
            !is_over
        });
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        self.go_on(u64::MAX);
    }
}

/// How often one was stopped until the child has ended.
fn stop_and_continue(child: &mut Child) -> Result<u64> {
    let root = i32::try_from(child.id()).context("a process id")?;
    let mut stopped = Stopped::default();
    let (mut random, mut count) = (SEED, 0);
    for step in 0.. {
        if child.try_wait()?.is_some() {
            break;
        }
        stopped.go_on(step);
        if stopped.0.len() < STOPPED_MAX {
            let all = runnable_below(root, &processes()?);
            // Marsaglia, Xorshift RNGs, 2003.
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            let chosen = usize::try_from(random >> 32).unwrap_or(0).checked_rem(all.len());
            if let Some(&process) = chosen.and_then(|at| all.get(at))
                && kill(Pid::from_raw(process), Signal::SIGSTOP).is_ok()
            {
                stopped.0.insert(process, step + 1 + random % STEPS_MAX);
                count += 1;
            }
        }
        std::thread::sleep(EVERY); // tidy: allow (the pace of the stops)
    }
    Ok(count)
}

/// A process of this machine.
struct Process {
    id: i32,
    parent: i32,
    name: String,
    is_stopped: bool,
}

fn processes() -> Result<Vec<Process>> {
    let entries = fs::read_dir("/proc").context("the list of processes")?.flatten();
    let text = entries.filter_map(|entry| fs::read_to_string(entry.path().join("stat")).ok());
    Ok(text.filter_map(|text| read(&text)).collect())
}

/// A line of /proc/PID/stat (proc_pid_stat(5)); the name may have any character.
fn read(text: &str) -> Option<Process> {
    let (id, rest) = text.split_once(" (")?;
    let (name, rest) = rest.rsplit_once(") ")?;
    let mut fields = rest.split(' ');
    let is_stopped = ["T", "t", "Z"].contains(&fields.next()?);
    let parent = fields.next()?.parse().ok()?;
    Some(Process { id: id.parse().ok()?, parent, name: name.to_owned(), is_stopped })
}

/// Processes below the root that run, and are no part of a build.
fn runnable_below(root: i32, all: &[Process]) -> Vec<i32> {
    let mut found = vec![];
    let mut parents = vec![root];
    while let Some(parent) = parents.pop() {
        for process in all.iter().filter(|process| process.parent == parent) {
            parents.push(process.id);
            if !process.is_stopped && !BUILDERS.contains(&process.name.as_str()) {
                found.push(process.id);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_below_the_root_are_found_whatever_their_names() {
        let lines = [
            "10 (cargo-nextest) S 1 10 10",
            "11 (a) b (c)) S 10 11 11",
            "12 (scurry) R 11 11 11",
            "13 (rustc) R 11 11 11",
            "14 (scurry) T 11 11 11",
            "15 (scurry) S 1 15 15",
        ];
        let all: Vec<Process> = lines.iter().filter_map(|line| read(line)).collect();
        assert_eq!(all[1].name, "a) b (c)");
        assert_eq!(runnable_below(10, &all), [11, 12]);
    }

    #[test]
    fn the_command_ends_with_all_that_was_stopped_and_its_failure_is_one() {
        let run = |words: &str| {
            let mut shell = Command::new("sh");
            shell.args(["-c", words]);
            beside(&Host::find().unwrap(), shell)
        };
        run("sleep 0.5 & sleep 0.3; wait").unwrap();
        let error = run("sleep 0.1; exit 3").unwrap_err().to_string();
        assert!(error.contains("depends on who is on time"), "{error}");
    }
}
