//! The binary, and groups that are stopped however the test ends.

use crate::nodes::free_ports;
use crate::said::{Said, scurry};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use scurry_cluster_client::redis::{Cmd, Value};
use scurry_cluster_client::{Address, ClientError, Node};
use std::time::Duration;
use tempfile::TempDir;

const LOOK_EVERY: Duration = Duration::from_millis(100);
const LOOKS_MAX: u32 = 600;
/// Nodes of a group.
const NODES: u16 = 3;

/// A line of `scurry replica status`.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    pub(crate) port: u16,
    pub(crate) process: i32,
    pub(crate) role: String,
    pub(crate) id: String,
}

/// A group of three nodes on this machine.
pub(crate) struct Group {
    pub(crate) dir: TempDir,
    threads: u16,
}

impl Group {
    pub(crate) fn up(threads: u16) -> Group {
        let group = Group { dir: TempDir::new().expect("a directory"), threads };
        // Its ports are reserved: no other process binds them while the group is down.
        let port = free_ports(NODES * (threads + 2)).to_string();
        let threads = threads.to_string();
        scurry(&["replica", "up", "--dir", group.path(), "--threads", &threads, "--port", &port])
            .well();
        group
    }

    pub(crate) fn up_again(&self) -> Said {
        let threads = self.threads.to_string();
        scurry(&["replica", "up", "--dir", self.path(), "--threads", &threads])
    }

    pub(crate) fn down(&self) -> Said {
        scurry(&["replica", "down", "--dir", self.path()])
    }

    pub(crate) fn path(&self) -> &str {
        self.dir.path().to_str().expect("text")
    }

    pub(crate) fn status(&self) -> String {
        scurry(&["replica", "status", "--dir", self.path()]).well()
    }

    /// Returns the nodes, in the order of their ports, once all running ones answer: the machine may stall for a while.
    pub(crate) fn nodes(&self) -> Vec<Line> {
        let mut status = self.status();
        for _ in 0..LOOKS_MAX {
            if !status.contains("no answer") {
                break;
            }
            status = self.status();
        }
        let lines = status.lines().filter_map(|line| line.strip_prefix("127.0.0.1:"));
        let line = |line: &str| {
            let mut words = line.split_whitespace();
            let mut next = || words.next().unwrap_or_default().to_owned();
            let (port, process) = (next(), next());
            let process = process.parse().expect("a process");
            Line { port: port.parse().expect("a port"), process, role: next(), id: next() }
        };
        lines.map(line).collect()
    }

    /// Waits until the output of `status` has all of these texts.
    #[track_caller]
    pub(crate) fn wait_for(&self, words: &[&str]) -> String {
        let mut status = String::new();
        for _ in 0..LOOKS_MAX {
            status = self.status();
            if words.iter().all(|word| status.contains(word)) {
                return status;
            }
            std::thread::sleep(LOOK_EVERY); // tidy: allow (the condition has no event to wait for)
        }
        panic!("{words:?} did not come about: {status}");
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = self.down();
    }
}

/// Kills a process that is no child of the test, and waits until it has closed its ports.
pub(crate) fn end(process: i32) {
    kill(Pid::from_raw(process), Signal::SIGKILL).expect("it runs");
    for _ in 0..LOOKS_MAX {
        let stat = std::fs::read_to_string(format!("/proc/{process}/stat"));
        // A zombie without further threads has closed all its files. The first thread may be one before the others.
        let threads = std::fs::read_dir(format!("/proc/{process}/task")).map_or(0, Iterator::count);
        if stat.is_err() || threads <= 1 && stat.is_ok_and(|stat| stat.contains(") Z ")) {
            return;
        }
        std::thread::sleep(LOOK_EVERY); // tidy: allow (the end of another's child has no event to wait for)
    }
    panic!("process {process} does not end");
}

/// Sends a command to a local port.
#[track_caller]
pub(crate) fn ask(port: u16, line: &str) -> Value {
    try_ask(port, line).expect(line)
}

fn try_ask(port: u16, line: &str) -> Result<Value, ClientError> {
    let address = Address::new(&format!("127.0.0.1:{port}"), None, None);
    let mut command = Cmd::new();
    line.split(' ').for_each(|word| {
        command.arg(word);
    });
    Node::connect(&address).and_then(|mut node| node.ask(&command))
}

/// Returns the reply as text; an error as its message.
#[track_caller]
pub(crate) fn said(port: u16, line: &str) -> String {
    match try_ask(port, line) {
        Ok(Value::BulkString(bytes)) => String::from_utf8_lossy(&bytes).into_owned(),
        Ok(Value::SimpleString(text)) => text,
        Ok(Value::VerbatimString { text, .. }) => text,
        Ok(Value::Okay) => "OK".to_owned(),
        Ok(Value::Int(number)) => number.to_string(),
        Ok(other) => format!("{other:?}"),
        Err(ClientError::Failed(_, error)) => {
            format!("{} {}", error.code().unwrap_or_default(), error.detail().unwrap_or_default())
        }
        Err(error) => panic!("{line}: {error}"),
    }
}
