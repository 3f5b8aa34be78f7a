//! The flags of `scurry-lab run`.

use std::net::{IpAddr, SocketAddr};

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use clap::Args;

use super::CommonArguments;
use super::address::TargetAddress;
use crate::fleet::REPLICAS_MAX;
use crate::over_rdma::{OverRdma, TransportKind};
use crate::routes::Ports;
use crate::scenario::{Form, Scenario};
use crate::target::{ScurryOptions, Target, Variant};

const RUNS_MAX: u32 = 1_000;
/// Default targets where neither the command line nor the scenario names any.
const TARGETS: &[&str] = &["scurry", "valkey+lua"];
/// Most threads of one server, which is also the number of CPU ids that an affinity mask can hold.
const THREADS_MAX: u32 = 1_024;

/// `scurry-lab run`.
#[derive(Debug, Args)]
pub struct RunArguments {
    /// A scenario (see `scurry-lab list`), or the path of a TOML file.
    pub scenario: String,

    /// A target, with its durability (`scurry:fsync`, `valkey+lua:always`; a plain name keeps
    /// nothing, where the target can do that) and the major version of its Valkey or Redis
    /// (`valkey-8+lua`; the newest that is here without); repeat it to compare several [default: the
    /// scenario's, else scurry and valkey+lua].
    #[arg(long = "target", value_name = "NAME")]
    pub target: Vec<String>,

    /// The scenario's short form, which takes seconds.
    #[arg(long)]
    pub short: bool,

    /// One step of a scenario that is run in several, by its name; repeat it [default: all].
    #[arg(long = "step", value_name = "NAME")]
    pub steps: Vec<String>,

    /// Runs of each target, alternating: A B A B ... The row has the median run.
    #[arg(long, default_value_t = 1)]
    pub runs: u32,

    /// Sessions at a time, each with at most one request in flight.
    #[arg(long, value_name = "N")]
    pub sessions: Option<u32>,

    /// Connections that the sessions share [default: the scenario's, at most one per session].
    #[arg(long, value_name = "N")]
    pub connections: Option<u32>,

    /// Requests in flight on one connection at most.
    #[arg(long, value_name = "N")]
    pub depth: Option<u32>,

    /// Requests per second by the clock, with latencies from when each was meant to be sent
    /// [default: a closed loop].
    #[arg(long, value_name = "N")]
    pub rate: Option<f64>,

    /// Accounts, or keys, that are created before and chosen from uniformly.
    #[arg(long, value_name = "N")]
    pub accounts: Option<u32>,

    /// Measured seconds.
    #[arg(long, value_name = "S")]
    pub seconds: Option<f64>,

    /// Seconds under load before measuring.
    #[arg(long, value_name = "S")]
    pub warmup: Option<f64>,

    /// Any value of the scenario's file, in its place: `seed=7`, `kv.get_share=80`,
    /// `charging.last_session=false`; repeat it.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub set: Vec<String>,

    /// Where a target runs that the lab does not start: `dragonfly`, `keydb`, `kvrocks`, `garnet`, `valkey`,
    /// `redis` (kv), `tigerbeetle`, `aerospike` (two-phase), `tarantool+lua`, `tarantool+client`,
    /// `tarantool+bulk`; repeat it for several.
    #[arg(long = "address", value_name = "NAME=HOST:PORT")]
    pub addresses: Vec<TargetAddress>,

    /// Threads of scurry, each on a core of its own where there are so many; other targets
    /// keep their one [default: the server's own default, on one core].
    #[arg(long, value_name = "N")]
    pub threads: Option<u32>,

    /// Transport of the load; filling and the audit go over TCP. `rdma` reaches scurry and, with
    /// --valkey-rdma-module, Valkey; the server and the loader are on this machine.
    #[arg(long, value_enum, default_value_t)]
    pub transport: TransportKind,

    /// An address of an RDMA device of this machine, for --transport rdma.
    #[arg(long, value_name = "IP")]
    pub rdma_address: Option<IpAddr>,

    /// The module by which valkey-server speaks RDMA (valkey-rdma.so), for --transport rdma.
    #[arg(long, value_name = "PATH")]
    pub valkey_rdma_module: Option<PathBuf>,

    /// Ports of scurry that get the load: `main`, the one that plain clients know; or `cores`, as a
    /// client of a cluster does, each request to the core that owns its key. Give both to compare.
    #[arg(long = "door", value_name = "main|cores", default_values = ["main"])]
    pub ports: Vec<Ports>,

    /// Replicas of each primary of Valkey and Redis: 0 or 1; scurry+replicas always has 2. They run on the loader's core, and their
    /// CPU is told apart. Under kv Hazelcast and Ignite get a second member on the target's core, and a
    /// backup of each key [default: the scenario's].
    #[arg(long, value_name = "N")]
    pub replicas: Option<u32>,

    /// Copies that an operation must be on to be acknowledged, the primary's too: a WAIT follows
    /// each batch of requests; scurry+replicas always acknowledges on 2 of 3 [default: the scenario's, else
    /// no wait].
    #[arg(long, value_name = "K")]
    pub acknowledged_copies: Option<u32>,

    /// A Lua library to load into valkey+lua, redis+lua and tarantool+lua instead of the built-in
    /// one (lab/peers): to try a faster opponent, or one with a known bug.
    #[arg(long, value_name = "FILE")]
    pub lua_library: Option<PathBuf>,

    /// The server and the output.
    #[command(flatten)]
    pub common: CommonArguments,
}

impl RunArguments {
    /// Returns the steps of the scenario with all overrides from the command line applied; a scenario without steps is
    /// one step.
    ///
    /// # Errors
    /// When the scenario or a step does not exist, or the arguments contradict each other.
    pub fn scenarios(&self) -> Result<Vec<Scenario>> {
        ensure!((1..=RUNS_MAX).contains(&self.runs), "--runs must be 1 to {RUNS_MAX}");
        let all = self.find()?;
        let names: Vec<&str> = all.iter().filter_map(|step| step.step.as_deref()).collect();
        for wanted in &self.steps {
            let known = if names.is_empty() { "it has none".to_owned() } else { names.join(", ") };
            ensure!(
                names.contains(&wanted.as_str()),
                "scenario {} has no step `{wanted}`: {known}",
                self.scenario
            );
        }
        let is_wanted = |step: &Scenario| {
            self.steps.is_empty() || step.step.as_ref().is_some_and(|s| self.steps.contains(s))
        };
        let wanted: Vec<Scenario> = all.iter().filter(|step| is_wanted(step)).cloned().collect();
        wanted.into_iter().map(|step| self.overridden(step)).collect()
    }

    fn overridden(&self, mut scenario: Scenario) -> Result<Scenario> {
        set(&mut scenario.sessions, self.sessions);
        set(&mut scenario.depth, self.depth);
        if self.rate.is_some() {
            // A given rate replaces the search for the highest one.
            scenario.search = None;
        }
        scenario.rate = self.rate.or(scenario.rate);
        set(&mut scenario.seconds, self.seconds);
        set(&mut scenario.warmup_seconds, self.warmup);
        // Fewer sessions need fewer connections, unless both were given.
        scenario.connections =
            self.connections.unwrap_or_else(|| scenario.connections.min(scenario.sessions));
        if scenario.failover.is_some() {
            // In a failover scenario a client is a session with its own connection and one request in flight.
            (scenario.sessions, scenario.depth) = (scenario.connections, 1);
        }
        let is_paced = self.rate.is_some() && scenario.live.is_some();
        ensure!(!is_paced, "--rate means nothing to scenario {}", self.scenario);
        set(&mut scenario.accounts, self.accounts);
        if let Some(kv) = &mut scenario.kv {
            set(&mut kv.keys, self.accounts);
            kv.filled = kv.filled.map(|filled| filled.min(kv.keys));
        }
        scenario.check()?;
        Ok(scenario)
    }

    /// Returns the targets without duplicates: from the command line, otherwise from the scenario.
    ///
    /// # Errors
    /// When a target is unknown or named twice.
    pub fn targets(&self, scenario: &Scenario) -> Result<Vec<Variant>> {
        let names: Vec<&str> = match (self.target.as_slice(), scenario.targets.as_slice()) {
            ([], []) => TARGETS.to_vec(),
            ([], all) | (all, _) => all.iter().map(String::as_str).collect(),
        };
        let mut targets = Vec::new();
        for name in names {
            let target = Variant::parse(name)?;
            ensure!(
                !targets.contains(&target),
                "target {name} is named twice: use --runs to repeat"
            );
            targets.push(target);
        }
        Ok(targets)
    }

    /// Returns the address of a target that already runs.
    pub fn address_of(&self, target: Target) -> Option<SocketAddr> {
        let found = self.addresses.iter().find(|one| one.target == target);
        found.map(|one| one.address)
    }

    /// Returns the options with which scurry is started.
    ///
    /// # Errors
    /// When the number of threads is out of range, or a port is named twice.
    pub fn scurry(&self) -> Result<ScurryOptions> {
        self.check_copies()?;
        if let Some(threads) = self.threads {
            ensure!((1..=THREADS_MAX).contains(&threads), "--threads must be 1 to {THREADS_MAX}");
        }
        let twice = self.ports.len() > 1 && self.ports[1..].contains(&self.ports[0]);
        ensure!(!twice, "a --door is named twice: use --runs to repeat");
        Ok(ScurryOptions { threads: self.threads, arguments: self.common.server_arg.clone() })
    }

    /// Returns the RDMA settings of the load; None over TCP.
    ///
    /// # Errors
    /// When the RDMA address is missing, or an option is given that RDMA does not support.
    pub fn over_rdma(&self) -> Result<Option<OverRdma>> {
        if self.transport == TransportKind::Tcp {
            let alone = self.rdma_address.is_none() && self.valkey_rdma_module.is_none();
            ensure!(alone, "--rdma-address and --valkey-rdma-module are for --transport rdma");
            return Ok(None);
        }
        let address = self.rdma_address;
        let address = address.context("--transport rdma needs --rdma-address, that of a device")?;
        ensure!(
            self.addresses.is_empty() && self.ports == [Ports::Main],
            "--transport rdma reaches the main port of servers that the lab starts here: leave \
             --address and --door out"
        );
        Ok(Some(OverRdma { address, module: self.valkey_rdma_module.clone() }))
    }

    /// Rejects numbers of copies and replicas that no target supports.
    fn check_copies(&self) -> Result<()> {
        let replicas = self.replicas.unwrap_or(0);
        ensure!(replicas <= REPLICAS_MAX, "--replicas must be 0 to {REPLICAS_MAX}");
        if let Some(copies) = self.acknowledged_copies {
            let most = 1 + REPLICAS_MAX;
            ensure!((2..=most).contains(&copies), "--acknowledged-copies must be 2 to {most}");
        }
        Ok(())
    }

    fn find(&self) -> Result<Vec<Scenario>> {
        let form = match (self.short, self.steps.is_empty()) {
            (false, _) => Form::Long,
            (true, true) => Form::Short,
            // A step named with --step runs even where the short form leaves it out.
            (true, false) => Form::ShortSteps,
        };
        if self.scenario.ends_with(".toml") {
            let text = std::fs::read_to_string(&self.scenario)
                .map_err(|error| anyhow::anyhow!("reading {}: {error}", self.scenario))?;
            return Scenario::parse_steps(&text, form, &self.set);
        }
        Scenario::built_in_steps(&self.scenario, form, &self.set)
    }
}

fn set<T>(place: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *place = value;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::{LabCommand, parse_words};

    fn parse_run(line: &str) -> Result<Box<RunArguments>> {
        let LabCommand::Run(run) = parse_words(&format!("run {line}"))? else {
            anyhow::bail!("not a run");
        };
        Ok(run)
    }

    fn parse(line: &str) -> Result<Scenario> {
        let run = parse_run(line)?;
        run.scurry()?;
        let scenario = run.scenarios()?.remove(0);
        run.targets(&scenario)?;
        Ok(scenario)
    }

    #[test]
    fn what_the_server_is_told_is_taken_as_it_is() {
        let run = parse_run("kv --threads 2 --server-arg --io --server-arg epoll").unwrap();
        let expected =
            ScurryOptions { threads: Some(2), arguments: vec!["--io".into(), "epoll".into()] };
        assert_eq!(run.scurry().unwrap(), expected);
        assert_eq!(run.ports, [Ports::Main]);
        let both = parse_run("kv --door main --door cores").unwrap();
        assert_eq!(both.ports, [Ports::Main, Ports::Cores]);
    }

    #[test]
    fn the_command_line_overrides_the_file() {
        let scenario =
            parse("moaf-scur --sessions 3200 --connections 50 --depth 64 --accounts 1000").unwrap();
        assert_eq!((scenario.sessions, scenario.connections, scenario.depth), (3200, 50, 64));
        assert_eq!(scenario.accounts, 1_000);
        let seven = parse("moaf-scur --set charging.last_session=false").unwrap();
        assert_eq!(seven.charging.unwrap().operations().len(), 7);
        let kv = parse(
            "kv --set kv.get_share=80 --set kv.set_share=20 --set kv.value_size=64 --accounts 10",
        )
        .unwrap()
        .kv
        .unwrap();
        assert_eq!((kv.get_share, kv.set_share, kv.value_size, kv.keys), (80, 20, 64, 10));
        assert_eq!(parse("kv --accounts 7").unwrap().kv.unwrap().keys, 7);
    }

    #[test]
    fn the_targets_are_those_of_the_command_line_else_of_the_scenario() {
        let names = |line: &str| -> Vec<String> {
            let run = parse_run(line).unwrap();
            let targets = run.targets(&run.scenarios().unwrap()[0]).unwrap();
            targets.iter().map(Variant::name).collect()
        };
        assert_eq!(names("kv"), ["scurry", "valkey+lua"]);
        assert_eq!(names("kts-persistence")[2], "scurry:fsync");
        assert_eq!(names("kts-persistence --target redis"), ["redis"]);
    }

    #[test]
    fn steps_are_chosen_by_name() {
        let run = parse_run("kts-batches --step 10 --step 1000 --sessions 2").unwrap();
        let steps = run.scenarios().unwrap();
        let batches: Vec<Option<u32>> =
            steps.iter().map(|step| step.kv.as_ref().unwrap().batch).collect();
        assert_eq!(batches, [Some(10), Some(1_000)]);
        assert!(steps.iter().all(|step| step.sessions == 2));
        assert!(parse("kts-batches --short").unwrap().seconds < 1.0);
        // A step that the short form leaves out still runs when it is named.
        assert_eq!(parse_run("kts-batches --short").unwrap().scenarios().unwrap().len(), 3);
        assert!(parse("kts-batches --short --step 10").unwrap().seconds < 1.0);
    }

    #[test]
    fn fewer_sessions_need_fewer_connections() {
        assert_eq!(parse("kv --sessions 10").unwrap().connections, 10);
        assert!(parse("kv --sessions 10 --connections 20").is_err());
    }

    #[test]
    fn mistakes_are_refused_in_words() {
        for (line, expected) in [
            ("kv --set charging.last_session=false", "reading a scenario file"),
            ("kv --set seed", "--set seed: say KEY=VALUE"),
            ("kv --set sede=1", "reading a scenario file"),
            ("kv --target redis --target redis", "named twice"),
            ("kv --target redis:none --target redis", "named twice"),
            ("kv --target mongo", "no target `mongo`"),
            ("kv --rate 0", "the rate must be"),
            ("kv --runs 0", "--runs must be"),
            ("kv --threads 0", "--threads must be"),
            ("kv --door main --door main", "named twice"),
            ("kv --door side", "side"),
            ("kv --replicas 2", "--replicas must be 0 to 1"),
            ("kv --acknowledged-copies 1", "--acknowledged-copies must be 2 to 2"),
            ("nothing", "no scenario `nothing`"),
            ("kts-batches --step 7", "no step `7`: 1, 10, 100"),
            ("kv --step 7", "it has none"),
            ("kv --seconds -1", ""),
        ] {
            let error = parse(line).unwrap_err().to_string();
            assert!(error.contains(expected), "{line}: {error}");
        }
    }
}
