//! A running `scurry ship files`, on one core.

use std::ffi::OsString;
use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::setting::ShipSetting;
use crate::client::Client;
use crate::clock::Clock;
use crate::process::{ServerCommand, ServerProcess};
use crate::sampler::cpu_seconds;
use crate::wire::Wire;

/// Time between two samples of its memory.
const SAMPLE: Duration = Duration::from_millis(10);
/// Longest time in which it ends after a signal: it delivers what it has read.
const STOP_TIMEOUT: Duration = Duration::from_secs(60);
/// Longest time in which it delivers what is there.
const CATCH_UP_TIMEOUT: Duration = Duration::from_secs(600);
/// Directory of the files, in the directory of the process.
const DIRECTORY: &str = "events";

/// Where the events come from.
pub(super) enum Source {
    Server(SocketAddr),
    /// A data directory or a backup.
    Files(PathBuf),
}

/// A shipper.
pub(super) struct Shipper {
    process: ServerProcess,
    clock: Clock,
    memory: Memory,
}

/// Resident memory, bytes.
#[derive(Clone, Copy, Debug, Default)]
struct Memory {
    last: u64,
    most: u64,
}

/// What a shipper has done.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Shipped {
    pub(super) events: u64,
    /// Bytes of the payloads.
    pub(super) bytes: u64,
    /// From the start of the process to its end.
    pub(super) seconds: f64,
    pub(super) cpu_seconds: f64,
    pub(super) memory_last: u64,
    pub(super) memory_most: u64,
}

impl Shipper {
    /// Starts one that ships the events in this form, with further options.
    pub(super) fn start(
        setting: &ShipSetting<'_>,
        source: &Source,
        format: &str,
        options: &[&str],
    ) -> Result<Shipper> {
        let mut arguments: Vec<OsString> = ["ship", "files", DIRECTORY].map(OsString::from).into();
        arguments.extend(match source {
            Source::Server(address) => ["--from".into(), address.to_string().into()],
            Source::Files(path) => ["--backup".into(), path.as_os_str().to_owned()],
        });
        arguments.extend(["--format", format, "--log", "warn"].map(OsString::from));
        arguments.extend(options.iter().map(OsString::from));
        let command = ServerCommand {
            program: setting.testbed.program.clone(),
            arguments,
            cores: setting.shipper_cores(),
            // It listens nowhere.
            address: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            wire: Wire::Foreign,
            place: setting.testbed.place.path.clone(),
            files: &[],
        };
        let process = ServerProcess::start_client(&command)?;
        Ok(Shipper { process, clock: Clock::start(), memory: Memory::default() })
    }

    /// Waits until it ends by itself.
    pub(super) fn wait(&mut self, setting: &ShipSetting<'_>) -> Result<Shipped> {
        loop {
            setting.testbed.go_on()?;
            self.sample();
            if self.process.ends_within(SAMPLE) {
                return self.outcome();
            }
        }
    }

    /// Waits until everything that the store has now is in complete files.
    pub(super) fn catch_up(&mut self, setting: &ShipSetting<'_>, server: SocketAddr) -> Result<()> {
        let end = Client::connect(server)?.call(&["SCUR.WATCH", "$", "COUNT", "1"])?;
        let end = end.entry("end").text().and_then(|at| at.rsplit_once(':')?.1.parse().ok());
        let end: u64 = end.context("SCUR.WATCH answers without `end`")?;
        let clock = Clock::start();
        while self.files()?.iter().filter_map(|path| ends_at(path)).max() < Some(end) {
            setting.testbed.go_on()?;
            ensure!(!self.process.ends_within(SAMPLE), "a shipper has ended: {}", self.tail());
            ensure!(clock.elapsed() < CATCH_UP_TIMEOUT, "a shipper does not reach {end}");
        }
        Ok(())
    }

    /// Ends it.
    pub(super) fn stop(&mut self) -> Result<Shipped> {
        self.sample();
        ensure!(self.process.stop(STOP_TIMEOUT), "a shipper does not end: {}", self.tail());
        self.outcome()
    }

    /// Returns the complete files.
    pub(super) fn files(&self) -> Result<Vec<PathBuf>> {
        let entries = fs::read_dir(self.process.directory().join(DIRECTORY))?;
        let paths = entries.map(|entry| Ok(entry?.path()));
        let mut paths: Vec<PathBuf> = paths.collect::<Result<_>>()?;
        paths.retain(|path| path.extension().is_some_and(|end| end == "jsonl"));
        Ok(paths)
    }

    fn tail(&self) -> String {
        self.process.output_tail()
    }

    fn sample(&mut self) {
        let path = format!("/proc/{}/status", self.process.pid());
        // It may have ended.
        let status = fs::read_to_string(path).unwrap_or_default();
        if let Some((last, most)) = kilobytes(&status, "VmRSS:").zip(kilobytes(&status, "VmHWM:")) {
            self.memory = Memory { last: last * 1_024, most: most * 1_024 };
        }
    }

    fn outcome(&self) -> Result<Shipped> {
        let seconds = self.clock.elapsed().as_secs_f64();
        // The process has ended and is not reaped: the kernel still has its CPU time.
        let cpu_seconds = cpu_seconds(&[self.process.pid()])?;
        let tail = self.tail();
        let told = tail.lines().last().and_then(read_last_line);
        let (events, bytes) = told.with_context(|| format!("a shipper has failed: {tail}"))?;
        let Memory { last, most } = self.memory;
        Ok(Shipped { events, bytes, seconds, cpu_seconds, memory_last: last, memory_most: most })
    }
}

impl Shipped {
    /// Returns the delivered events per second.
    pub(super) fn rate(&self) -> f64 {
        if self.seconds > 0.0 { self.events as f64 / self.seconds } else { 0.0 }
    }

    /// Returns its CPU time for one event, microseconds.
    pub(super) fn cpu_us(&self) -> f64 {
        self.cpu_seconds * 1e6 / self.events.max(1) as f64
    }
}

fn kilobytes(status: &str, name: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}

/// Returns the sequence after a file, the end of its name: `...-00000000000000004711.0.jsonl`.
fn ends_at(path: &Path) -> Option<u64> {
    let (_, end) = path.file_stem()?.to_str()?.rsplit_once('-')?;
    end.split_once('.')?.0.parse().ok()
}

/// Parses the events and the bytes in the last line that a shipper prints: `7 events (2100 bytes) in 0.1 s`.
fn read_last_line(line: &str) -> Option<(u64, u64)> {
    let (events, rest) = line.split_once(" events (")?;
    let (bytes, _) = rest.split_once(" bytes) in ")?;
    Some((events.parse().ok()?, bytes.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_file_is_read() {
        let name =
            "events-00c0ffee00c0ffee-1.0-00000000000000000001.0-00000000000000004711.3.jsonl";
        assert_eq!(ends_at(Path::new(name)), Some(4_711));
    }

    #[test]
    fn the_last_line_of_a_shipper_is_read() {
        assert_eq!(read_last_line("7 events (2100 bytes) in 0.1 s"), Some((7, 2_100)));
        assert_eq!(read_last_line("Error: the store is away"), None);
    }
}
