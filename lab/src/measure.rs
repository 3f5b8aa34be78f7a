//! One run of one target: starts, probes, fills, loads, audits and stops it.

mod charging;
mod driver;
mod failover;
mod key_value;
mod live;
mod load;
mod revival;
mod system;
mod usage;

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Result, ensure};

use crate::client::Client;
use crate::cores::{Cores, bind_this_thread};
use crate::errors::ErrorTally;
use crate::filling::Filling;
use crate::fleet::{Fleet, Plan};
use crate::over_rdma::OverRdma;
use crate::process::{ServerCommand, free_address};
use crate::progress::{Progress, RunCount};
use crate::routes::{Ports, Routes};
use crate::row::{AUDIT_NONE, AUDIT_OK, Figures, Run};
use crate::scenario::{Scenario, ScenarioKind};
use crate::slow_disk::SlowDisk;
use crate::snapshotter::Snapshots;
use crate::target::{Durability, Identity, ScurryOptions, Start, Target, beside};
use crate::wire::{HttpTarget, Quorum, Wire};
use load::{Sampling, figures};
pub use system::KeptSystem;
use system::System;

/// Audit text of a run that acknowledged nothing in its measured time.
const AUDIT_IDLE: &str = "failed: nothing was done";
/// Silence after which cluster nodes consider another node dead: longer than a busy core delays an answer.
const NODE_TIMEOUT_MS: u32 = 15_000;
/// The same in scenarios that kill a node, as docs/cluster.md advises.
const FAILOVER_TIMEOUT_MS: u32 = 5_000;
/// Servers that the HTTP door uses.
const HTTP_NODES: u16 = 3;

/// Settings and cores of one run.
#[derive(Clone, Debug)]
pub struct Bench<'a> {
    /// Scenario to run.
    pub scenario: &'a Scenario,
    /// System under test.
    pub target: Target,
    /// Durability of acknowledged changes.
    pub durability: Durability,
    /// Directory for the server's data.
    pub place: &'a Path,
    /// Whether a snapshot is written under load.
    pub snapshots: Snapshots,
    /// True when a snapshot is written under a second load after the first, and the server is then killed and
    /// restarted.
    pub revives: bool,
    /// Address of a system that already runs; None when the lab starts it.
    pub address: Option<SocketAddr>,
    /// Path of the scurry binary.
    pub program: PathBuf,
    /// Cores to use; None binds nothing.
    pub cores: Option<&'a Cores>,
    /// Options with which scurry is started.
    pub scurry: &'a ScurryOptions,
    /// Ports of scurry that get the load.
    pub ports: Ports,
    /// RDMA settings of the load; None over TCP.
    pub rdma: Option<&'a OverRdma>,
    /// Copies required for an acknowledgement.
    pub copies: Copies,
    /// Reply sizes of the echo server.
    pub echo_sizes: &'a str,
    /// Lua library that replaces the built-in one.
    pub library: Option<&'a str>,
    /// Set by Ctrl-C.
    pub interrupted: &'a AtomicBool,
    /// Position of this run among all runs.
    pub step: RunCount,
    /// True to show no live line.
    pub quiet: bool,
}

/// Copies required for an acknowledgement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Copies {
    /// Replicas of each primary.
    pub replicas: u32,
    /// Copies that an operation must be on to count as acknowledged, including the primary's (K of M); None requires
    /// none.
    pub acknowledged: Option<u32>,
}

/// Result of a run.
#[derive(Debug)]
pub struct Measured {
    /// Figures and verdict of the run.
    pub run: Run,
    /// Product, version and durability that the server reports.
    pub identity: Identity,
    /// How it was filled; None for the echo server.
    pub filling: Option<Filling>,
    /// Command line with which the lab started it; empty when it did not.
    pub configuration: Vec<String>,
}

impl Bench<'_> {
    /// Runs the target. If it breaks a rule, the audit of the run says so.
    ///
    /// # Errors
    /// When the server does not start or the load cannot be run.
    pub fn measure(&self, number: u32, runs: u32) -> Result<Measured> {
        self.measure_on(&mut KeptSystem::default(), number, runs)
    }

    /// Runs the target like [`Bench::measure`], but reuses the system of the previous run if that was started in the
    /// same way, and keeps systems that are worth it: in a JVM the start takes longer than a short load.
    ///
    /// # Errors
    /// As [`Bench::measure`].
    pub fn measure_on(
        &self,
        standing: &mut KeptSystem,
        number: u32,
        runs: u32,
    ) -> Result<Measured> {
        let progress = self.begin(number, runs)?;
        let asked = self.asked();
        let mut system = match (self.address, standing.take(&asked)) {
            (Some(address), _) => {
                let driver = self.start_driver(address)?;
                System::There { address, wire: self.target.wire(), driver }
            }
            (None, Some(system)) => system,
            (None, None) => {
                let fleet = self.start()?;
                let driver = self.start_driver(fleet.first().address())?;
                System::Started { fleet: Box::new(fleet), driver, is_used: false }
            }
        };
        let measured = self.measure_system(&mut system, number, &progress)?;
        // With backups the audit has stopped a member, so the system cannot be reused.
        let is_ours = self.address.is_none() && self.copies.replicas == 0;
        if self.target.jvm_system().is_some() && measured.run.is_sound() && is_ours {
            standing.keep(asked, system);
        }
        Ok(measured)
    }

    /// Runs the target like [`Bench::measure`] on servers that [`Bench::start`] has started, and does not stop them.
    ///
    /// # Errors
    /// As [`Bench::measure`].
    pub fn measure_started(
        &self,
        fleet: Fleet,
        number: u32,
        runs: u32,
    ) -> Result<(Measured, Fleet)> {
        let progress = self.begin(number, runs)?;
        let mut system = System::Started { fleet: Box::new(fleet), driver: None, is_used: false };
        let measured = self.measure_system(&mut system, number, &progress)?;
        match system {
            System::Started { fleet, .. } => Ok((measured, *fleet)),
            System::There { .. } => unreachable!("it was started"),
        }
    }

    /// Returns the live line of a run, and makes this thread the loader.
    fn begin(&self, number: u32, runs: u32) -> Result<Progress> {
        let name = self.name();
        let prefix = if runs > 1 { format!("{name} run {number}/{runs}") } else { name };
        let total = self.scenario.warmup_seconds + self.scenario.seconds;
        if let Some(cores) = self.cores {
            bind_this_thread(cores.loader)?;
        }
        Ok(Progress::new(&prefix, self.quiet, total).with_step(self.step))
    }

    fn name(&self) -> String {
        format!("{}:{}", self.target.name(), self.durability.word())
    }

    fn measure_system(
        &self,
        system: &mut System,
        number: u32,
        progress: &Progress,
    ) -> Result<Measured> {
        let name = self.name();
        let identity = self.identify(system)?;
        // A server with less durability than requested would only look fast.
        ensure!(
            identity.durability == self.durability.word()
                || self.address.is_some() && !self.durability.keeps(),
            "{name} was started with durability {} and says {}",
            self.durability.word(),
            identity.durability
        );
        let measured = match self.scenario.failover {
            Some(_) => self.failover(number, system, progress).map(|run| (run, None)),
            None => self.load_kind(number, system, progress),
        };
        let (run, filling) = measured.map_err(|error| match system.output_tail() {
            tail if tail.is_empty() => error,
            tail => anyhow::anyhow!("{error:#}; the server's last words: {tail}"),
        })?;
        let configuration = match self.address {
            Some(_) => Vec::new(),
            None => self.command(system.first_address()).words(),
        };
        Ok(Measured { run, identity, filling, configuration })
    }

    /// Probes, fills, loads and audits by the scenario's kind of load.
    fn load_kind(
        &self,
        number: u32,
        system: &mut System,
        progress: &Progress,
    ) -> Result<(Run, Option<Filling>)> {
        let scenario = self.scenario;
        // A target with a driver is filled and audited through the driver too.
        let client = &mut match system.driver() {
            Some(driver) => driver.client()?,
            None => system.connect()?,
        };
        match (&scenario.charging, &scenario.kv) {
            (Some(_), _) if self.target.is_yardstick() => {
                self.hash_fields(number, system, client, progress)
            }
            (Some(charging), _) => self.charge(charging, number, system, client, progress),
            _ if scenario.usage.is_some() => self.usage(number, system, client, progress),
            _ if scenario.live.is_some() => self.live(number, system, client, progress),
            (_, Some(kv)) if scenario.kind == ScenarioKind::Index => {
                self.index(kv, number, system, client, progress)
            }
            (_, Some(kv)) => self.key_value(kv, number, system, client, progress),
            _ => unreachable!("a scenario that was checked has one part"),
        }
    }

    fn identify(&self, system: &System) -> Result<Identity> {
        if self.target.is_http() {
            Target::Scurry.identify(&mut system.connect_behind_door()?)
        } else {
            self.target.identify(&mut system.connect()?)
        }
    }

    /// Returns a key for how the system is started, without its port. A system with the same key can be reused for the
    /// same kind of load, because its driver was configured for that.
    fn asked(&self) -> String {
        let command = self.command(SocketAddr::from(([127, 0, 0, 1], 0)));
        format!("{} for {:?}", command.words().join(" "), self.scenario.kind)
    }

    /// Starts the target on its cores, and its replicas on the loader's.
    ///
    /// # Errors
    /// When it does not start.
    pub fn start(&self) -> Result<Fleet> {
        let first = self.command(free_address()?);
        let copies = 1 + self.copies.replicas;
        let nodes = self.scenario.nodes + self.copies.replicas;
        let core = self.cores.map(|cores| cores.loader);
        let ndb =
            self.target.is_ndb().then(|| beside(&first, nodes, copies, self.durability, core));
        let plan = Plan {
            first,
            ndb,
            is_cluster: self.target.is_cluster(),
            group: self.group_threads()?,
            node_timeout_ms: match self.scenario.failover {
                Some(_) => FAILOVER_TIMEOUT_MS,
                None => NODE_TIMEOUT_MS,
            },
            has_members: self.target.has_members(),
            nodes: self.scenario.nodes,
            replicas: self.copies.replicas,
            replica_core: core,
            last_behind: self.scenario.slow_disk.map(SlowDisk::words).unwrap_or_default(),
            interrupted: self.interrupted,
        };
        if self.target.is_http() {
            Fleet::start_behind_door(&plan, HTTP_NODES)
        } else {
            Fleet::start(&plan)
        }
    }

    /// Returns the threads of each node of a group; None for other targets.
    fn group_threads(&self) -> Result<Option<u16>> {
        let threads = self.scurry.threads.unwrap_or(1);
        Ok(self.target.is_group().then(|| u16::try_from(threads)).transpose()?)
    }

    /// Returns the protocol of the load; over HTTP it includes the quorum.
    fn wire(&self) -> Result<Wire> {
        let quorum = self.scenario.kv.as_ref().and_then(|kv| kv.quorum.as_deref());
        match (self.target, quorum) {
            (Target::ScurryHttp, Some(quorum)) => {
                Ok(Wire::Http(HttpTarget::Entities(Some(Quorum::parse(quorum)?))))
            }
            _ => Ok(self.target.wire()),
        }
    }

    /// Returns the command that starts the target.
    fn command(&self, address: SocketAddr) -> ServerCommand {
        let mut command = self.target.command(Start {
            program: self.program.clone(),
            address,
            cores: self.cores.map(|cores| cores.target.clone()).unwrap_or_default(),
            durability: self.durability,
            place: self.place.to_owned(),
            echo_sizes: self.echo_sizes,
            scurry: self.scurry,
            library: self.library,
            kind: self.scenario.kind,
            members: self.scenario.nodes + self.copies.replicas,
            backups: self.copies.replicas,
            connections: self.scenario.connections,
        });
        // Targets that do not speak RDMA were excluded earlier.
        let words = self.rdma.and_then(|rdma| rdma.arguments(self.target, address.port()).ok());
        command.arguments.extend(words.into_iter().flatten().map(OsString::from));
        command
    }

    /// Fills the store and shows progress; the echo server is not filled.
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
        // Memory growth cannot be seen in a store that was filled before, nor in a store that allocates all its memory
        // at startup.
        if pids.is_empty() || fleet.is_used() || self.target.is_ndb() {
            return fill(client, &mut step).map(|()| None);
        }
        Filling::watch(&pids, client, records, |client| fill(client, &mut step)).map(Some)
    }

    /// Returns an error after Ctrl-C, to end a long loop.
    fn go_on(&self) -> Result<()> {
        ensure!(!self.interrupted.load(Ordering::Relaxed), "interrupted");
        Ok(())
    }

    /// Returns the owners of the keys, where requests go directly to the owners.
    fn routes(&self, fleet: &System, client: &mut Client) -> Result<Option<Routes>> {
        if let Some(partition) = fleet.partition() {
            return Ok(Some(partition.clone()));
        }
        let by_core = self.target == Target::Scurry && self.ports == Ports::Cores;
        if !by_core && !self.target.is_cluster() {
            return Ok(None);
        }
        client.routes(fleet.address()).map(Some)
    }

    /// Returns the text of the audit column.
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

/// Returns the addresses that get the load.
fn addresses(fleet: &System, routes: Option<&Routes>) -> Vec<SocketAddr> {
    routes.map_or_else(|| vec![fleet.address()], |routes| routes.addresses().to_vec())
}

/// Checks that no answer was marked as replayed: nothing was sent twice.
fn replays_are_none(replays: u64) -> Result<()> {
    ensure!(replays == 0, "{replays} new requests were called replays");
    Ok(())
}

/// Stores verdict and memory in the run; a run that failed its audit loses its figures.
fn settle(run: &mut Run, verdict: String, filling: Option<&Filling>, progress: &Progress) {
    run.figures.memory_bytes_per_account = filling.map(Filling::bytes_per_record);
    run.audit = verdict;
    // A store that breaks no rule because it did nothing has proved nothing.
    if run.is_sound() && run.figures.operations == Some(0) {
        run.audit = AUDIT_IDLE.to_owned();
    }
    if !run.is_sound() {
        progress.note(&run.audit);
        run.figures = Figures::default();
        run.by_operation.clear();
        run.timeline.clear();
    }
}
