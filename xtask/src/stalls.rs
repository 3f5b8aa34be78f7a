//! Runs the tests of a merge while single processes and threads of theirs are stopped for a moment, as happens on a
//! shared machine. A test fails here if its outcome depends on timing.

use crate::host::Host;
use anyhow::{Context, Result, ensure};
use nix::sys::ptrace;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid, waitpid};
use nix::unistd::Pid;
use std::collections::BTreeMap;
use std::fs;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Interval at which one process or thread is stopped.
const EVERY: Duration = Duration::from_millis(60);
/// Most steps for which one is stopped: longer than any timer of a server or a client, shorter than the timeout of any
/// test.
const STEPS_MAX: u64 = 24;
/// Most that are stopped at the same time.
const STOPPED_MAX: usize = 3;
/// Build programs, which are never stopped: no test has a timeout on them.
const BUILDERS: [&str; 6] = ["cargo", "cargo-nextest", "rustc", "cc", "ld", "strace"];
const SEED: u64 = 0x5741_4C4C_0001;

/// Runs the command to its end, while it stops and resumes the processes below it and their threads.
pub(crate) fn beside(host: &Host, mut command: Command) -> Result<()> {
    command.current_dir(&host.root).stdin(Stdio::null());
    let mut child = command.spawn().context("starting the tests")?;
    let stopped = stop_and_continue(&mut child);
    let status = child.wait()?;
    let [processes, threads] = stopped?;
    println!("{processes} times a process stood still, and {threads} times a thread");
    ensure!(status.success(), "a test depends on who is on time: {status}");
    Ok(())
}

/// Stopped processes and threads. All are resumed when it is dropped.
#[derive(Default)]
struct Stopped {
    /// Step in which each process resumes.
    processes: BTreeMap<i32, u64>,
    /// Step in which each thread resumes; the other threads of its process keep running (ptrace(2)).
    threads: BTreeMap<i32, u64>,
}

impl Stopped {
    fn len(&self) -> usize {
        self.processes.len() + self.threads.len()
    }

    fn stop_process(&mut self, process: i32, until: u64) -> nix::Result<()> {
        kill(Pid::from_raw(process), Signal::SIGSTOP)?;
        self.processes.insert(process, until);
        Ok(())
    }

    /// Stops a thread. Fails for a thread that is gone or already traced, and where the machine does not permit tracing
    /// (EPERM).
    fn stop_thread(&mut self, thread: i32, until: u64) -> nix::Result<()> {
        let id = Pid::from_raw(thread);
        ptrace::seize(id, ptrace::Options::empty())?;
        // The thread may end before it stops, which the next step sees.
        let _ = ptrace::interrupt(id);
        self.threads.insert(thread, until);
        Ok(())
    }

    fn go_on(&mut self, step: u64) {
        self.processes.retain(|process, until| {
            let is_over = *until <= step;
            if is_over {
                // The process may have been killed meanwhile.
                let _ = kill(Pid::from_raw(*process), Signal::SIGCONT);
            }
            !is_over
        });
        let flags = WaitPidFlag::__WALL | WaitPidFlag::WNOHANG;
        let look = flags | WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT;
        self.threads.retain(|thread, until| {
            let id = Pid::from_raw(*thread);
            match waitid(Id::Pid(id), look) {
                // Reap an ended thread: otherwise a wait for its process would never return.
                Ok(WaitStatus::Exited(..) | WaitStatus::Signaled(..)) => {
                    let _ = waitpid(id, Some(flags));
                    false
                }
                Ok(_) if *until > step => true,
                // It has not stopped yet: try again in the next step.
                Ok(WaitStatus::StillAlive) => true,
                // A signal arrived first, and is delivered now.
                Ok(WaitStatus::PtraceEvent(_, signal, 0)) => ptrace::detach(id, signal).is_err(),
                Ok(_) => ptrace::detach(id, None).is_err(),
                Err(_) => false,
            }
        });
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        // A thread that has not stopped yet resumes when its tracer ends.
        self.go_on(u64::MAX);
    }
}

/// Stops and resumes until the child has ended. Returns how often a process and how often a thread was stopped.
fn stop_and_continue(child: &mut Child) -> Result<[u64; 2]> {
    let root = i32::try_from(child.id()).context("a process id")?;
    let mut stopped = Stopped::default();
    let mut random = SEED;
    let mut counts = [0; 2];
    for step in 0.. {
        if child.try_wait()?.is_some() {
            break;
        }
        stopped.go_on(step);
        if stopped.len() < STOPPED_MAX {
            let all = runnable_below(root, &processes()?);
            // Marsaglia, Xorshift RNGs, 2003.
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            let until = step + 1 + random % STEPS_MAX;
            if let Some(&process) = one_of(&all, random >> 32) {
                let threads = threads(process);
                // Stopping the only thread of a process equals stopping the process.
                let several = (threads.len() > 1 && random >> 31 & 1 == 0).then_some(&threads);
                let outcome = match several.and_then(|threads| one_of(threads, random >> 48)) {
                    Some(&thread) => stopped.stop_thread(thread, until),
                    None => stopped.stop_process(process, until),
                };
                counts[usize::from(several.is_some())] += u64::from(outcome.is_ok());
            }
        }
        std::thread::sleep(EVERY); // tidy: allow (the pace of the stops)
    }
    Ok(counts)
}

fn one_of(all: &[i32], random: u64) -> Option<&i32> {
    let at = usize::try_from(random).unwrap_or(0).checked_rem(all.len())?;
    all.get(at)
}

/// Returns the threads of a process; empty when it is gone.
fn threads(process: i32) -> Vec<i32> {
    let entries = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// Process of this machine.
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

/// Parses a line of /proc/PID/stat (proc_pid_stat(5)); the name may contain any character.
fn read(text: &str) -> Option<Process> {
    let (id, rest) = text.split_once(" (")?;
    let (name, rest) = rest.rsplit_once(") ")?;
    let mut fields = rest.split(' ');
    let is_stopped = ["T", "t", "Z"].contains(&fields.next()?);
    let parent = fields.next()?.parse().ok()?;
    Some(Process { id: id.parse().ok()?, parent, name: name.to_owned(), is_stopped })
}

/// Returns the running processes below the root that are not part of a build.
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
    use nix::errno::Errno;
    use std::io::{BufRead, BufReader};

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
    fn a_thread_stands_still_goes_on_and_ends() {
        let mut parent = Command::new("sh");
        parent.args(["-c", "sleep 600 & echo $!; wait $!; exit $?"]).stdout(Stdio::piped());
        let mut parent = parent.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(parent.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let process: i32 = line.trim_end().parse().unwrap();
        assert_eq!(threads(process), [process]);
        let until = |is_stopped: bool| {
            let stat = format!("/proc/{process}/stat");
            while read(&fs::read_to_string(&stat).unwrap()).unwrap().is_stopped != is_stopped {
                std::thread::yield_now();
            }
        };
        let mut stopped = Stopped::default();
        for step in [10, 20] {
            match stopped.stop_thread(process, step) {
                Err(Errno::EPERM | Errno::ENOSYS) => {
                    eprintln!("not tested: this machine lets nobody trace");
                    kill(Pid::from_raw(process), Signal::SIGKILL).unwrap();
                    parent.wait().unwrap();
                    return;
                }
                outcome => outcome.unwrap(),
            }
            until(true);
            stopped.go_on(step - 1);
            assert_eq!(stopped.len(), 1, "before its time");
            stopped.go_on(step);
            assert_eq!(stopped.len(), 0);
            until(false);
        }
        // A process that is killed while it is stopped can be reaped by its parent only after the tracer has seen it.
        stopped.stop_thread(process, 30).unwrap();
        until(true);
        kill(Pid::from_raw(process), Signal::SIGKILL).unwrap();
        while stopped.len() > 0 {
            stopped.go_on(29);
        }
        assert_eq!(parent.wait().unwrap().code(), Some(128 + 9));
        assert_eq!(stopped.stop_thread(process, 30), Err(Errno::ESRCH), "it is gone");
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
