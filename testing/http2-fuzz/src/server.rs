//! A real server process, and what the system says of it.

use anyhow::{Context, Result, bail, ensure};
use scurry_crash::Binary;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Bound of polls until a server listens.
const START_TRIES_MAX: u32 = 30_000;

/// A running `scurry serve` with its door over HTTP; killed when dropped.
pub struct Server {
    child: Child,
    log: PathBuf,
    /// Of HTTP.
    pub(crate) port: u16,
}

/// What the server has of a resource, at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    /// Resident memory, bytes.
    pub memory: u64,
    /// Connections of its door over HTTP that it has not closed.
    pub connections: u64,
    /// Threads.
    pub threads: u64,
}

impl Sample {
    /// Most that a server may have under attack of a few clients at a time. A connection at all its bounds has
    /// some 50 MiB, but few get there.
    pub const MOST: Sample = Sample { memory: 256 << 20, connections: 100, threads: 50 };

    /// Returns the greater of each.
    pub(crate) fn most(self, other: Sample) -> Sample {
        Sample {
            memory: self.memory.max(other.memory),
            connections: self.connections.max(other.connections),
            threads: self.threads.max(other.threads),
        }
    }
}

impl Server {
    /// Starts a server in this directory and waits until it listens.
    pub fn start(binary: &Binary, home: &Path) -> Result<Server> {
        let log = home.join("stderr");
        let mut command = Command::new(binary.path());
        command.args(["serve", "--listen", "127.0.0.1:0", "--http-listen", "127.0.0.1:0"]);
        command.args(["--log", "info", "--durability", "write", "--dir"]).arg(home.join("store"));
        command.env_remove("SCURRY_PASSWORD").env_remove("SCURRY_REQUIREPASS");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(File::create(&log)?);
        let child = command.spawn().with_context(|| format!("{}", binary.path().display()))?;
        let mut server = Server { child, log, port: 0 };
        for _ in 0..START_TRIES_MAX {
            let said = server.said();
            let line = said
                .split_inclusive('\n')
                .filter(|line| line.ends_with('\n'))
                .find_map(|line| line.split_once("http://127.0.0.1:"));
            if let Some((_, rest)) = line {
                let digits = rest.split(|next: char| !next.is_ascii_digit()).next();
                server.port = digits.unwrap_or_default().parse().context("not a port")?;
                return Ok(server);
            }
            if let Some(status) = server.child.try_wait()? {
                bail!("the server has ended with {status}: {said}");
            }
            std::thread::sleep(Duration::from_millis(1)); // tidy: allow (its log is a file)
        }
        bail!("the server does not listen: {}", server.said())
    }

    /// Returns its whole log.
    fn said(&self) -> String {
        let bytes = std::fs::read(&self.log).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Ends the process at once.
    pub fn kill(&mut self) -> Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }

    /// Returns what it has; an error if it has ended or panicked.
    pub(crate) fn sample(&mut self) -> Result<Sample> {
        if let Some(status) = self.child.try_wait()? {
            bail!("the server has ended with {status}: {}", self.said());
        }
        if let Some(line) = panicked(&self.said()) {
            bail!("a thread of the server has panicked: {line}");
        }
        let process = PathBuf::from(format!("/proc/{}", self.child.id()));
        let status = std::fs::read_to_string(process.join("status"))?;
        let number = |name: &str| -> Result<u64> {
            let line = status.lines().find_map(|line| line.strip_prefix(name));
            let digits = line.and_then(|rest| rest.split_whitespace().next());
            digits.and_then(|digits| digits.parse().ok()).with_context(|| format!("no {name}"))
        };
        let connections = connections(&std::fs::read_to_string("/proc/net/tcp")?, self.port);
        let (memory, threads) = (number("VmRSS:")? * 1024, number("Threads:")?);
        ensure!(memory > 0, "the server has no memory");
        Ok(Sample { memory, connections, threads })
    }
}

/// Returns the number of connections in the system's table that a server on this port has not closed: established, or closed
/// by the client alone.
fn connections(table: &str, port: u16) -> u64 {
    let port = format!(":{port:04X}");
    let is_open = |line: &&str| {
        let mut words = line.split_whitespace().skip(1);
        let is_local = words.next().is_some_and(|local| local.ends_with(&port));
        is_local && matches!(words.nth(1), Some("01" | "08"))
    };
    table.lines().filter(is_open).count() as u64
}

/// Returns the line of a log that tells of a panic.
fn panicked(log: &str) -> Option<&str> {
    log.lines().find(|line| line.contains("panicked at"))
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended already; in both cases it is gone afterwards.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_that_the_server_has_not_closed_are_counted() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr\n\
            0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000\n\
            1: 0100007F:1F90 0100007F:C001 01 00000000:00000000 00:00000000\n\
            2: 0100007F:1F90 0100007F:C002 08 00000000:00000000 00:00000000\n\
            3: 0100007F:1F90 0100007F:C003 06 00000000:00000000 00:00000000\n\
            4: 0100007F:C001 0100007F:1F90 01 00000000:00000000 00:00000000\n";
        assert_eq!(connections(table, 8_080), 2);
        assert_eq!(connections(table, 8_081), 0);
    }

    #[test]
    fn a_panic_is_seen_in_the_log() {
        let said = "listening\nthread 'http' (7) panicked at crates/http/src/http2.rs:1:1:\nboom\n";
        assert!(panicked(said).is_some_and(|line| line.contains("http2.rs:1:1")));
        assert_eq!(panicked("listening\na client broke the rules\n"), None);
    }
}
