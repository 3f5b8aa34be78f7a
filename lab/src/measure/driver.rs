//! The load of a target with its own client in another process. That process, the driver, runs the load and reports
//! progress; the lab samples, audits and reports as usual. docs/lab.md describes the protocol between them.

use std::net::SocketAddr;

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;

use super::{Bench, Sampling, System, figures};
use crate::client::Client;
use crate::errors::ErrorTally;
use crate::latency::LatencySummary;
use crate::loader::{LoadResult, Observer, OperationResult, Second};
use crate::process::{ServerCommand, ServerProcess, free_address};
use crate::progress::Progress;
use crate::resp::Value;
use crate::row::Run;
use crate::sampler::cpu_seconds;
use crate::target::{driver, driver_of_another};

/// Facts of a load that the audit needs.
#[derive(Debug)]
pub(super) struct Tally {
    /// Consumption of each account; or for each key the number of its last write, 0 where it is missing, -1 where
    /// writes overlapped.
    pub(super) records: Vec<i64>,
    pub(super) replays: u64,
    /// Reads that returned a wrong value.
    pub(super) wrong: u64,
}

/// Final report of the driver.
#[derive(Debug, Deserialize)]
struct Driven {
    seconds: f64,
    operations: u64,
    latency_us: LatencySummary,
    by_operation: Vec<OperationResult>,
    errors: ErrorTally,
    replays: u64,
    wrong: u64,
}

impl Bench<'_> {
    /// Starts the driver of a target that has one, on the loader's core.
    pub(super) fn start_driver(&self, server: SocketAddr) -> Result<Option<ServerProcess>> {
        let Some(system) = self.target.jvm_system() else { return Ok(None) };
        let (address, arguments) = match self.address {
            None => driver(system, server, self.target, self.scenario.kind),
            Some(server) => {
                // Check the connection first: the system's own client may retry forever.
                Client::connect(server).with_context(|| format!("no {system} is there"))?;
                let address = free_address()?;
                (address, driver_of_another(system, address, server))
            }
        };
        let command = ServerCommand {
            program: self.program.clone(),
            arguments: arguments.into_iter().map(Into::into).collect(),
            cores: self.cores.map(|cores| vec![cores.loader]).unwrap_or_default(),
            address,
            wire: self.target.wire(),
            place: self.place.to_owned(),
            files: &[],
        };
        ServerProcess::start(&command, self.interrupted).context("starting the driver").map(Some)
    }

    /// Runs the load in the driver, with these parameters beside the common ones.
    pub(super) fn drive(
        &self,
        number: u32,
        words: &[(&str, String)],
        server: &System,
        driver: &ServerProcess,
        client: &mut Client,
        progress: &Progress,
    ) -> Result<(Run, Tally)> {
        let mut watch = Sampling {
            pids: server.pids(),
            replica_pids: Vec::new(),
            replica_cpu: Vec::new(),
            gateway_pids: Vec::new(),
            gateway_cpu: Vec::new(),
            samples: Vec::new(),
            client: None,
            log: Vec::new(),
            progress,
        };
        let mut driver_cpu = Vec::new();
        let mut timeline = Vec::new();
        client.send(&self.words(words))?;
        let json = loop {
            self.go_on()?;
            match client.receive()? {
                // The driver reports the beginning and the end of the measured interval in this way.
                Value::Simple(_) => {
                    driver_cpu.push(cpu_seconds(&[driver.pid()])?);
                    watch.measuring(driver_cpu.len() == 1)?;
                }
                Value::Array(figures) => {
                    let second = second(&figures, !driver_cpu.is_empty())?;
                    watch.second(&second);
                    timeline.extend(Some(second).filter(|second| second.measured));
                }
                Value::Bulk(json) => break json,
                other => bail!("the driver says {other}; its last words: {}", driver.output_tail()),
            }
        };
        let driven: Driven = serde_json::from_slice(&json).with_context(|| {
            format!("the driver's result is {}", String::from_utf8_lossy(&json))
        })?;
        let Value::Bulk(tally) = client.receive()? else { bail!("the driver sends no tally") };
        let ([begin, end], &[cpu_begin, cpu_end]) =
            (watch.samples.as_slice(), driver_cpu.as_slice())
        else {
            bail!("the driver did not say when it measured");
        };
        let result = LoadResult {
            seconds: driven.seconds,
            operations: driven.operations,
            latency_us: driven.latency_us,
            by_operation: driven.by_operation,
            loader_cpu_seconds: cpu_end - cpu_begin,
            timeline,
            not_enough_copies: None,
            uncorrected_us: None,
            stopped: false,
        };
        let run = Run {
            run: number,
            figures: figures(&result, begin, end, server.resident_bytes()?, None),
            audit: String::new(),
            errors: driven.errors,
            by_operation: result.by_operation,
            timeline: result.timeline,
            ..Run::default()
        };
        let (amounts, rest) = tally.as_chunks();
        ensure!(rest.is_empty(), "the driver's tally is cut off");
        let records = amounts.iter().map(|amount| i64::from_le_bytes(*amount)).collect();
        Ok((run, Tally { records, replays: driven.replays, wrong: driven.wrong }))
    }

    /// Returns the load request for the driver as names and values.
    fn words(&self, own: &[(&str, String)]) -> Vec<String> {
        let scenario = self.scenario;
        // As many sessions as the connections of another target would allow.
        let sessions = scenario.sessions.min(scenario.connections.saturating_mul(scenario.depth));
        let all = [
            ("sessions", sessions.to_string()),
            ("connections", scenario.connections.to_string()),
            ("depth", scenario.depth.to_string()),
            ("records", scenario.records().to_string()),
            ("seconds", scenario.seconds.to_string()),
            ("warmup", scenario.warmup_seconds.to_string()),
            ("seed", scenario.seed.to_string()),
        ];
        let pairs = all.iter().chain(own).map(|(name, value)| [(*name).to_owned(), value.clone()]);
        std::iter::once("LOAD".to_owned()).chain(pairs.flatten()).collect()
    }
}

/// Parses elapsed seconds, operations per second and the 99th percentile from text.
fn second(figures: &[Value], measured: bool) -> Result<Second> {
    let figure = |index: usize| figures.get(index)?.text()?.parse().ok();
    match (figure(0), figure(1), figure(2)) {
        (Some(elapsed), Some(ops_per_s), Some(p99_us)) => {
            Ok(Second { elapsed, ops_per_s, p99_us, measured, ..Second::default() })
        }
        _ => bail!("the driver's second has another shape"),
    }
}
