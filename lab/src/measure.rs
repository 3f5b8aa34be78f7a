//! One run of one target: start it, probe it, fill it, load it, audit it, stop it.

mod driver;
mod system;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result, ensure};

use crate::audit::{Expected, audit_charging, audit_hash_fields, audit_key_value, audit_replicas};
use crate::client::Client;
use crate::cores::{Cores, bind_this_thread};
use crate::errors::ErrorTally;
use crate::figures::{per, percent, rounded};
use crate::filling::Filling;
use crate::fleet::{Fleet, Plan};
use crate::loader::{LoadPlan, LoadResult, Loader, Observer, Second};
use crate::log_growth::LogCounts;
use crate::names::{account_text, key_text};
use crate::populate::{create_accounts, set_hashes, set_keys};
use crate::process::{ServerCommand, ServerProcess};
use crate::progress::{Progress, Step};
use crate::routes::{Door, Routes};
use crate::row::{AUDIT_NONE, AUDIT_OK, Figures, Run};
use crate::sampler::{Sample, cpu_seconds};
use crate::scenario::{Charging, KeyValue, Kind, Scenario};
use crate::snapshotter::Snapshotter;
use crate::stand::Stand;
use crate::target::{
    Durability, Identity, ScurryOptions, Start, Target, probe_charging, probe_key_value,
};
use crate::workload::{
    ChargingPlan, ChargingWorkload, HashFieldsWorkload, KeyValueWorkload, Workload,
};
use system::System;

/// Below this idle share of its core the loader may be what is measured.
const IDLE_PERCENT_MIN: f64 = 10.0;

/// What one run needs.
#[derive(Clone, Debug)]
pub struct Bench<'a> {
    /// Where it meets the loader.
    pub stand: &'a Stand,
    /// What to run.
    pub scenario: &'a Scenario,
    /// Against what.
    pub target: Target,
    /// How safe a change is when it is answered.
    pub durability: Durability,
    /// Where the server keeps what it keeps.
    pub place: &'a Path,
    /// Snapshots are written under the load, one after the other.
    pub snapshots: bool,
    /// Where it runs already; the lab starts it without.
    pub address: Option<SocketAddr>,
    /// Its program.
    pub program: PathBuf,
    /// The port to use; any free one without.
    pub port: Option<u16>,
    /// The cores to use; none are bound without.
    pub cores: Option<&'a Cores>,
    /// How scurry is started.
    pub scurry: &'a ScurryOptions,
    /// Which of scurry's ports the load goes to.
    pub door: Door,
    /// Who else has what is acknowledged.
    pub copies: Copies,
    /// The echo server's answers.
    pub echo_sizes: &'a str,
    /// A Lua library instead of the built-in one.
    pub library: Option<&'a str>,
    /// Set by Ctrl-C.
    pub interrupted: &'a AtomicBool,
    /// Where this run stands among others.
    pub step: Step,
    /// No live line.
    pub quiet: bool,
}

/// Who else has what is acknowledged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Copies {
    /// Replicas of each primary.
    pub replicas: u32,
    /// Copies that an operation must be on to be acknowledged, the primary's too (K of M); none
    /// does not ask.
    pub acknowledged: Option<u32>,
}

/// What came of it.
#[derive(Debug)]
pub struct Measured {
    /// The run.
    pub run: Run,
    /// What the server says it is.
    pub identity: Identity,
    /// How it was filled; none of the echo server.
    pub filling: Option<Filling>,
    /// How the lab started it; empty where it did not.
    pub configuration: Vec<String>,
}

/// Samples the kernel's view as the measured interval begins and ends.
struct Watch<'a> {
    pids: Vec<u32>,
    interface: &'static str,
    samples: Vec<Sample>,
    replica_pids: Vec<u32>,
    /// CPU seconds of the replicas.
    replica_cpu: Vec<f64>,
    /// To ask the server for the counts of its log; none where it has none.
    client: Option<&'a mut Client>,
    log: Vec<LogCounts>,
    progress: &'a Progress,
}

impl Observer for Watch<'_> {
    fn measuring(&mut self, _begins: bool) -> Result<()> {
        self.samples.push(Sample::take(&self.pids, self.interface)?);
        self.replica_cpu.push(cpu_seconds(&self.replica_pids)?);
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
    /// Runs it. A target that breaks a rule gives a run whose audit says so.
    ///
    /// # Errors
    /// When the server does not start or the load cannot be carried out.
    pub fn measure(&self, number: u32, runs: u32) -> Result<Measured> {
        let name = format!("{}:{}", self.target.name(), self.durability.word());
        let prefix = if runs > 1 { format!("{name} run {number}/{runs}") } else { name.clone() };
        let total = self.scenario.warmup_seconds + self.scenario.seconds;
        let progress = Progress::new(&prefix, self.quiet, total).with_step(self.step);
        if let Some(cores) = self.cores {
            bind_this_thread(cores.loader)?;
        }
        let fleet = match self.address {
            Some(address) => System::There { address, wire: self.target.wire() },
            None => System::Started(self.start()?),
        };
        let mut client = fleet.connect()?;
        let identity = self.target.identify(&mut client)?;
        let driver = self.start_driver(fleet.address())?;
        if let Some(driver) = &driver {
            client = driver.client()?;
        }
        ensure!(
            identity.durability == self.durability.word()
                || self.address.is_some() && !self.durability.keeps(),
            "{name} was started with durability {} and says {}",
            self.durability.word(),
            identity.durability
        );
        let measured = match (&self.scenario.charging, &self.scenario.kv) {
            (Some(_), _) if self.target.is_yardstick() => {
                self.hash_fields(number, &fleet, &mut client, &progress)
            }
            (Some(charging), _) => {
                self.charge(charging, number, &fleet, driver.as_ref(), &mut client, &progress)
            }
            (_, Some(kv)) => self.key_value(kv, number, &fleet, &mut client, &progress),
            _ => unreachable!("a scenario that was checked has one part"),
        };
        let (run, filling) = measured.map_err(|error| match fleet.output_tail() {
            tail if tail.is_empty() => error,
            tail => anyhow::anyhow!("{error:#}; the server's last words: {tail}"),
        })?;
        let configuration = match self.address {
            Some(_) => Vec::new(),
            None => self.command(fleet.address()).words(),
        };
        Ok(Measured { run, identity, filling, configuration })
    }

    /// Starts the target on its core, and its replicas on the loader's.
    ///
    /// # Errors
    /// When it does not start.
    pub fn start(&self) -> Result<Fleet> {
        let first = self.command(self.stand.address(self.port)?);
        Fleet::start(&Plan {
            first,
            is_cluster: self.target.is_cluster(),
            replicas: self.copies.replicas,
            replica_core: self.cores.map(|cores| cores.loader),
            interrupted: self.interrupted,
        })
    }

    /// How it is started.
    fn command(&self, address: SocketAddr) -> ServerCommand {
        let command = self.target.command(Start {
            program: self.program.clone(),
            address,
            cores: self.cores.map(|cores| cores.target.clone()).unwrap_or_default(),
            durability: self.durability,
            place: self.place.to_owned(),
            echo_sizes: self.echo_sizes,
            scurry: self.scurry,
            library: self.library,
        });
        ServerCommand { namespace: self.stand.namespace(), ..command }
    }

    fn charge(
        &self,
        charging: &Charging,
        number: u32,
        fleet: &System,
        driver: Option<&ServerProcess>,
        client: &mut Client,
        progress: &Progress,
    ) -> Result<(Run, Option<Filling>)> {
        let dialect = self.target.dialect().context("this target does no charging")?;
        let scenario = self.scenario;
        self.target.prepare(Kind::Charging, client, self.library)?;
        if !self.target.is_echo()
            && let Err(error) = probe_charging(client, dialect)
        {
            return Ok((Run::failed(number, format!("failed audit: probe: {error:#}")), None));
        }
        let accounts = scenario.accounts;
        let filling = self.fill(fleet, client, accounts, progress, |client, progress| {
            create_accounts(client, dialect, charging, accounts, progress)
        })?;
        let expected = |consumed, consumed_total| Expected {
            unit: &charging.unit,
            credited_per_account: charging.credited_per_account(),
            consumed,
            consumed_total,
            alone: true,
        };
        if let Some(driver) = driver {
            let (mut run, tally) = self.drive(number, charging, fleet, driver, client, progress)?;
            let verdict = self.verdict(&run.errors, || {
                replays_are_none(tally.replays)?;
                let total = tally.consumed.iter().map(|&amount| i128::from(amount)).sum();
                let expected = expected(tally.consumed.as_slice(), total);
                audit_charging(client, dialect, &expected, scenario.seed)
            });
            settle(&mut run, verdict, filling.as_ref(), progress);
            return Ok((run, filling));
        }
        let routes = self.routes(fleet, client)?;
        let owners = |routes: &Routes| routes.owners(accounts, scenario.connections, account_text);
        let mut workload = ChargingWorkload::new(&ChargingPlan {
            charging,
            dialect,
            accounts,
            sessions: scenario.sessions,
            seed: scenario.seed,
            opaque: self.target.is_echo(),
            routes: routes.as_ref().map(owners).transpose()?,
        })?;
        let addresses = addresses(fleet, routes.as_ref());
        let mut run = self.load(number, &mut workload, fleet, client, addresses, progress)?;
        let verdict = self.verdict(workload.errors(), || {
            replays_are_none(workload.replays())?;
            let expected = expected(workload.consumed(), workload.consumed_total());
            audit_charging(client, dialect, &expected, scenario.seed)?;
            fleet.wait_until_equal(self.interrupted)?;
            audit_replicas(&mut fleet.connect_replicas()?, dialect, &expected)
        });
        settle(&mut run, verdict, filling.as_ref(), progress);
        Ok((run, filling))
    }

    fn hash_fields(
        &self,
        number: u32,
        fleet: &System,
        client: &mut Client,
        progress: &Progress,
    ) -> Result<(Run, Option<Filling>)> {
        let scenario = self.scenario;
        let (accounts, seed) = (scenario.accounts, scenario.seed);
        let mut workload = HashFieldsWorkload::new(accounts, scenario.sessions, seed);
        let filling = self.fill(fleet, client, accounts, progress, |client, progress| {
            set_hashes(client, &mut workload, progress)
        })?;
        let addresses = addresses(fleet, None);
        let mut run = self.load(number, &mut workload, fleet, client, addresses, progress)?;
        let verdict =
            self.verdict(workload.errors(), || audit_hash_fields(client, &workload, seed));
        settle(&mut run, verdict, filling.as_ref(), progress);
        Ok((run, filling))
    }

    fn key_value(
        &self,
        kv: &KeyValue,
        number: u32,
        fleet: &System,
        client: &mut Client,
        progress: &Progress,
    ) -> Result<(Run, Option<Filling>)> {
        let scenario = self.scenario;
        let echo = self.target.is_echo();
        if !echo && let Err(error) = probe_key_value(client) {
            return Ok((Run::failed(number, format!("failed audit: probe: {error:#}")), None));
        }
        let mut workload = KeyValueWorkload::new(kv, scenario.sessions, scenario.seed, echo);
        let filling = self.fill(fleet, client, kv.keys, progress, |client, progress| {
            set_keys(client, &mut workload, progress)
        })?;
        let routes = self.routes(fleet, client)?;
        if let Some(routes) = &routes {
            workload.route(routes.owners(kv.keys, scenario.connections, key_text)?);
        }
        let addresses = addresses(fleet, routes.as_ref());
        let mut run = self.load(number, &mut workload, fleet, client, addresses, progress)?;
        let verdict =
            self.verdict(workload.errors(), || audit_key_value(client, &workload, scenario.seed));
        settle(&mut run, verdict, filling.as_ref(), progress);
        Ok((run, filling))
    }

    /// Fills the store, with progress; the echo server has none.
    fn fill(
        &self,
        fleet: &System,
        client: &mut Client,
        records: u32,
        progress: &Progress,
        fill: impl FnOnce(&mut Client, &mut dyn FnMut(usize, usize) -> Result<()>) -> Result<()>,
    ) -> Result<Option<Filling>> {
        if self.target.is_echo() {
            return Ok(None);
        }
        let mut step = |done: usize, total: usize| {
            progress.filling(done, total);
            self.go_on()
        };
        let pids = fleet.pids();
        if pids.is_empty() {
            return fill(client, &mut step).map(|()| None);
        }
        Filling::watch(&pids, client, records, |client| fill(client, &mut step)).map(Some)
    }

    /// Ends a long loop on Ctrl-C.
    fn go_on(&self) -> Result<()> {
        ensure!(!self.interrupted.load(Ordering::Relaxed), "interrupted");
        Ok(())
    }

    /// Who owns which key, where the load goes to the owners.
    fn routes(&self, fleet: &System, client: &mut Client) -> Result<Option<Routes>> {
        let by_core = self.target == Target::Scurry && self.door == Door::Cores;
        if !by_core && !self.target.is_cluster() {
            return Ok(None);
        }
        Routes::ask(client, fleet.address()).map(Some)
    }

    fn load<W: Workload>(
        &self,
        number: u32,
        workload: &mut W,
        fleet: &System,
        client: &mut Client,
        addresses: Vec<SocketAddr>,
        progress: &Progress,
    ) -> Result<Run> {
        let plan = LoadPlan {
            wire: self.target.wire(),
            addresses,
            sessions: self.scenario.sessions,
            connections: self.scenario.connections,
            depth: self.scenario.depth,
            rate: self.scenario.rate,
            warmup_seconds: self.scenario.warmup_seconds,
            seconds: self.scenario.seconds,
            copies: self.copies.acknowledged,
        };
        let has_log = self.target == Target::Scurry && self.durability.keeps();
        let mut watch = Watch {
            pids: fleet.pids(),
            interface: self.stand.interface(),
            samples: Vec::new(),
            replica_pids: fleet.replica_pids(),
            replica_cpu: Vec::new(),
            client: has_log.then_some(client),
            log: Vec::new(),
            progress,
        };
        let loader = Loader::connect(plan, workload, self.interrupted)?;
        let snapshotter =
            self.snapshots.then(|| Snapshotter::start(fleet.address())).transpose()?;
        let result = loader.run(&mut watch)?;
        if let Some(snapshotter) = snapshotter {
            snapshotter.finish()?;
        }
        let [begin, end] = watch.samples.as_slice() else {
            anyhow::bail!("the measured interval was not sampled");
        };
        let log = match watch.log.as_slice() {
            [begin, end] => Some(end.since(begin, result.seconds)),
            _ => None,
        };
        let memory = fleet.resident_bytes()?;
        let replicas = match watch.replica_cpu.as_slice() {
            [begin, end] if self.copies.replicas > 0 => Some(end - begin),
            _ => None,
        };
        Ok(Run {
            run: number,
            figures: Figures { log, ..figures(&result, begin, end, memory, replicas) },
            audit: String::new(),
            errors: workload.errors().clone(),
            by_operation: result.by_operation,
            timeline: result.timeline,
            histogram: result.histogram,
        })
    }

    /// What stands in the audit's column.
    fn verdict(&self, errors: &ErrorTally, audit: impl FnOnce() -> Result<()>) -> String {
        if let Some(errors) = errors.describe() {
            return format!("failed audit: {errors}");
        }
        if self.target.is_echo() {
            return AUDIT_NONE.to_owned();
        }
        match audit() {
            Ok(()) => AUDIT_OK.to_owned(),
            Err(error) => format!("failed audit: {error:#}"),
        }
    }
}

/// The ports that the load goes to.
fn addresses(fleet: &System, routes: Option<&Routes>) -> Vec<SocketAddr> {
    routes.map_or_else(|| vec![fleet.address()], |routes| routes.addresses().to_vec())
}

/// Nothing was sent twice.
fn replays_are_none(replays: u64) -> Result<()> {
    ensure!(replays == 0, "{replays} new requests were called replays");
    Ok(())
}

/// A run that failed its audit keeps no figures.
fn settle(run: &mut Run, verdict: String, filling: Option<&Filling>, progress: &Progress) {
    run.figures.memory_bytes_per_account = filling.map(Filling::bytes_per_record);
    run.audit = verdict;
    if !run.is_sound() {
        progress.note(&run.audit);
        run.figures = Figures::default();
        run.by_operation.clear();
        run.timeline.clear();
        run.histogram = None;
    }
}

/// `memory` is none where nothing is known of the system's processes.
fn figures(
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
