//! A load run by the lab's own loader, with samples at both ends of the measured interval. For a search it runs one
//! load after the other on the same store, up to the highest rate that stays within a limit.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use anyhow::Result;

use super::{Bench, System};
use crate::client::Client;
use crate::figures::{per, percent, rounded};
use crate::loader::{LoadPlan, LoadResult, Loader, Observer, Second};
use crate::log_growth::{LogCounts, LogGrowth};
use crate::progress::Progress;
use crate::row::{Figures, Run};
use crate::sampler::{Sample, cpu_seconds};
use crate::scenario::Search;
use crate::search::{Found, RateSearch, Trial};
use crate::slow_disk::Syncs;
use crate::snapshotter::Snapshotter;
use crate::target::Target;
use crate::workload::Workload;

/// Share of a rate that must be answered for the rate to count as sustained.
const KEPT_RATE_MIN: f64 = 0.99;
/// Multiple of the limit at which the latency of one second ends a trial.
const AUTOSTOP_TIMES: f64 = 10.0;
/// Idle share of its core, percent, below which the loader may be the bottleneck.
const IDLE_PERCENT_MIN: f64 = 10.0;

/// Samples from the kernel when the measured interval begins and ends.
pub(super) struct Sampling<'a> {
    pub(super) pids: Vec<u32>,
    pub(super) samples: Vec<Sample>,
    pub(super) replica_pids: Vec<u32>,
    /// CPU seconds of the replicas.
    pub(super) replica_cpu: Vec<f64>,
    /// Process ids and CPU seconds of the gateway through which the lab talks to the servers.
    pub(super) gateway_pids: Vec<u32>,
    pub(super) gateway_cpu: Vec<f64>,
    /// Connection for the counts of the log; None where the server has no log.
    pub(super) client: Option<&'a mut Client>,
    pub(super) log: Vec<LogCounts>,
    pub(super) progress: &'a Progress,
}

impl Observer for Sampling<'_> {
    fn measuring(&mut self, _begins: bool) -> Result<()> {
        self.samples.push(Sample::take(&self.pids)?);
        self.replica_cpu.push(cpu_seconds(&self.replica_pids)?);
        self.gateway_cpu.push(cpu_seconds(&self.gateway_pids)?);
        if let Some(client) = &mut self.client {
            self.log.extend(LogCounts::ask(client)?);
        }
        Ok(())
    }

    fn second(&mut self, second: &Second) {
        self.progress.second(second);
    }
}

impl Bench<'_> {
    /// Runs one load at the scenario's rate, or one at each rate of the search for the highest.
    pub(super) fn load<W: Workload>(
        &self,
        number: u32,
        workload: &mut W,
        fleet: &System,
        client: &mut Client,
        addresses: Vec<SocketAddr>,
        progress: &Progress,
    ) -> Result<Run> {
        let mut once = |rate: Option<f64>, autostop_us: Option<f64>| {
            let addresses = addresses.clone();
            self.load_once(
                number,
                workload,
                fleet,
                client,
                addresses,
                progress,
                (rate, autostop_us),
            )
        };
        match &self.scenario.search {
            Some(search) => {
                let run = self.seek(search, progress, |rate, limit| once(Some(rate), limit))?;
                Ok(Run { run: number, ..run })
            }
            None => Ok(once(self.scenario.clock_rate(), None)?.0),
        }
    }

    /// Tries one rate after another with `load`, which takes the rate and the 99th percentile of a second that ends it,
    /// microseconds. Returns the run of the highest sustained rate, or one without figures.
    pub(super) fn seek(
        &self,
        search: &Search,
        progress: &Progress,
        mut load: impl FnMut(f64, Option<f64>) -> Result<(Run, bool)>,
    ) -> Result<Run> {
        let limit_us = search.p99_ms * 1_000.0;
        let mut seeker = RateSearch::new(search);
        let mut best: Option<Run> = None;
        let mut found = Found { p99_ms: search.p99_ms, ..Found::default() };
        let mut errors = None;
        while let Some(rate) = seeker.rate() {
            self.go_on()?;
            let (run, stopped) = load(rate, Some(AUTOSTOP_TIMES * limit_us))?;
            let ops_per_s = run.figures.business_ops_per_s.unwrap_or(0.0);
            let p99_us = run.figures.latency_us.as_ref().map_or(0.0, |latency| latency.p99);
            // Sustained means: not stopped early, within the limit, and nearly all of the rate answered.
            let kept = !stopped && p99_us <= limit_us && ops_per_s >= rate * KEPT_RATE_MIN;
            found.trials.push(Trial { rate, ops_per_s, p99_us, stopped, kept });
            progress.note(&format!(
                "{rate:.0} requests/s: p99 {:.2} ms, {}",
                p99_us / 1_000.0,
                if kept { "kept" } else { "missed" }
            ));
            seeker.tell(rate, kept);
            errors = Some(run.errors.clone());
            // The last trial of a rate decides about it.
            if seeker.kept() != found.rate {
                found.rate = seeker.kept();
                best = Some(run);
            }
        }
        let mut run = best.unwrap_or_default();
        // Errors of all trials, not only of the shown one.
        run.errors = errors.unwrap_or_default();
        run.search = Some(found);
        Ok(run)
    }

    /// Runs one load; the result says whether it was ended early.
    #[expect(clippy::too_many_arguments, reason = "what one load needs, passed on by one caller")]
    fn load_once<W: Workload>(
        &self,
        number: u32,
        workload: &mut W,
        fleet: &System,
        client: &mut Client,
        addresses: Vec<SocketAddr>,
        progress: &Progress,
        (rate, autostop_us): (Option<f64>, Option<f64>),
    ) -> Result<(Run, bool)> {
        let plan = LoadPlan {
            wire: self.wire()?,
            addresses,
            rdma: self.rdma.map(|rdma| rdma.address),
            sessions: self.scenario.sessions,
            connections: self.scenario.connections,
            depth: self.scenario.depth,
            rate,
            warmup_seconds: self.scenario.warmup_seconds,
            seconds: self.scenario.seconds,
            copies: self.copies.acknowledged,
        };
        let has_log = self.target == Target::Scurry && self.durability.keeps();
        let mut watch = Sampling {
            pids: fleet.pids(),
            samples: Vec::new(),
            replica_pids: fleet.replica_pids(),
            replica_cpu: Vec::new(),
            gateway_pids: fleet.gateway_pid().into_iter().collect(),
            gateway_cpu: Vec::new(),
            client: has_log.then_some(client),
            log: Vec::new(),
            progress,
        };
        let snapshotter = Snapshotter::start(fleet.address(), self.snapshots)?;
        let mut loader = Loader::connect(plan, workload, self.interrupted)?;
        // With one snapshot to write, the load ends when it is written.
        if let Some(snapshotter) = &snapshotter {
            loader = loader.stop_at(snapshotter.over());
        }
        if let Some(p99_us) = autostop_us {
            loader = loader.stop_above(p99_us);
        }
        let before = self.syncs(fleet)?;
        let mut result = loader.run(&mut watch)?;
        let syncs = self.syncs(fleet)?.zip(before).map(|(after, before)| after.since(before));
        let snapshot_seconds = match snapshotter {
            Some(snapshotter) => snapshotter.finish()?,
            None => None,
        };
        let [begin, end] = watch.samples.as_slice() else {
            anyhow::bail!("the measured interval was not sampled");
        };
        let log = match watch.log.as_slice() {
            [begin, end] => {
                Some(LogGrowth { snapshot_seconds, ..end.since(begin, result.seconds) })
            }
            _ => None,
        };
        // The gateway shares the loader's core and does part of a loader's work.
        if let [begin, end] = watch.gateway_cpu.as_slice() {
            result.loader_cpu_seconds += end - begin;
        }
        let memory = fleet.resident_bytes()?;
        let replicas = match watch.replica_cpu.as_slice() {
            [begin, end] if self.copies.replicas > 0 => Some(end - begin),
            _ => None,
        };
        let figures = Figures {
            log,
            ops_per_s_per_core: self.per_core(&result),
            ..figures(&result, begin, end, memory, replicas)
        };
        let run = Run {
            run: number,
            thread_us_per_op: thread_us_per_op(&result, begin, end),
            interval_ms: (begin.unix_ms, end.unix_ms),
            figures,
            errors: workload.errors().clone(),
            by_operation: result.by_operation,
            timeline: result.timeline,
            syncs,
            ..Run::default()
        };
        Ok((run, result.stopped))
    }

    /// Counts the syncs of the last server so far; None where strace does not see them.
    fn syncs(&self, system: &System) -> Result<Option<Syncs>> {
        let directory = self.scenario.slow_disk.and_then(|_| system.last_directory());
        directory.map(Syncs::count).transpose()
    }

    /// Returns the throughput per core that the target is bound to.
    fn per_core(&self, result: &LoadResult) -> Option<f64> {
        let cores = self.cores.filter(|_| self.address.is_none())?.target.len();
        Some(rounded(per(result.operations, result.seconds) / cores.max(1) as f64, 1))
    }
}

/// Returns the CPU time of the system's threads for one operation, microseconds, by the names of the threads.
fn thread_us_per_op(result: &LoadResult, begin: &Sample, end: &Sample) -> BTreeMap<String, f64> {
    let operations = result.operations.max(1) as f64;
    let us = |(name, seconds): (&String, &f64)| {
        let before = begin.thread_seconds.get(name).copied().unwrap_or(0.0);
        (name.clone(), rounded((seconds - before) * 1e6 / operations, 4))
    };
    end.thread_seconds.iter().map(us).collect()
}

/// Builds the figures of a run. `memory` is None when the processes of the system are unknown.
pub(super) fn figures(
    result: &LoadResult,
    begin: &Sample,
    end: &Sample,
    memory: Option<u64>,
    replicas: Option<f64>,
) -> Figures {
    let seconds = result.seconds;
    let cpu = end.cpu_seconds - begin.cpu_seconds;
    let idle = 100.0 - percent(result.loader_cpu_seconds, seconds);
    let operations = result.operations.max(1) as f64;
    let rate = |end: u64, begin: u64| rounded(per(end.saturating_sub(begin), seconds), 1);
    let kilobytes =
        |end: u64, begin: u64| rounded(per(end.saturating_sub(begin), seconds) / 1_000.0, 1);
    let latency = &result.latency_us;
    Figures {
        business_ops_per_s: Some(rounded(per(result.operations, seconds), 1)),
        latency_us: Some(latency.clone()),
        ops_per_s_per_core: None,
        cpu_percent: memory.map(|_| rounded(percent(cpu, seconds), 1)),
        cpu_us_per_op: memory.map(|_| rounded(cpu * 1e6 / operations, 3)),
        replica_cpu_us_per_op: replicas.map(|cpu| rounded(cpu * 1e6 / operations, 3)),
        not_enough_copies: result.not_enough_copies,
        loader_idle_percent: Some(rounded(idle, 1)),
        loader_bound: Some(idle < IDLE_PERCENT_MIN),
        rx_packets_per_s: Some(rate(end.rx_packets, begin.rx_packets)),
        tx_packets_per_s: Some(rate(end.tx_packets, begin.tx_packets)),
        rx_kb_per_s: Some(kilobytes(end.rx_bytes, begin.rx_bytes)),
        tx_kb_per_s: Some(kilobytes(end.tx_bytes, begin.tx_bytes)),
        core_use: end.core_use(begin),
        latency_uncorrected_us: result.uncorrected_us.clone(),
        memory_bytes: memory,
        memory_bytes_per_account: None,
        operations: Some(result.operations),
        log: None,
    }
}
