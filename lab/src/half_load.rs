//! A scurry that keeps a log under half of the load that it could carry, by the clock: where a
//! latency says what a commit costs and not how long the queue was.

use anyhow::{Context, Result, ensure};

use crate::measure::{Bench, Copies};
use crate::progress::RunCount;
use crate::routes::Ports;
use crate::row::{Figures, Run};
use crate::scenario::Scenario;
use crate::snapshotter::Snapshots;
use crate::stand::Stand;
use crate::target::{Durability, Target};
use crate::testbed::Testbed;

/// The pipelined form.
pub const SESSIONS: u32 = 3_200;
/// Connections of the load.
pub const CONNECTIONS: u32 = 50;
/// Requests in flight on each at most.
pub const DEPTH: u32 = 64;
/// The share of the highest rate.
const SHARE: f64 = 0.5;
/// A run that answers less than this share of its rate is no run at that rate.
const KEPT_MIN: f64 = 0.98;

/// Load and rate of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HalfLoadPlan {
    /// When scurry answers.
    pub durability: Durability,
    /// Requests per second, where it was asked for.
    pub rate: Option<f64>,
    /// Accounts.
    pub accounts: u32,
    /// Measured seconds of each run.
    pub seconds: f64,
    /// Runs.
    pub runs: u32,
}

/// The load, ready to be repeated.
#[derive(Debug)]
pub struct HalfLoad<'a> {
    testbed: &'a Testbed,
    durability: Durability,
    scenario: Scenario,
    /// Requests per second of a closed loop; none where the rate was asked for.
    pub highest: Option<f64>,
    /// Requests per second of each run.
    pub rate: f64,
}

impl<'a> HalfLoad<'a> {
    /// Finds out how much half of the load is.
    ///
    /// # Errors
    /// When nothing can be kept here, or the server fails.
    pub fn prepare(testbed: &'a Testbed, plan: &HalfLoadPlan) -> Result<HalfLoad<'a>> {
        testbed.place.check()?;
        let mut scenario = Scenario::built_in("moaf-scur")?;
        scenario.accounts = plan.accounts;
        scenario.seconds = plan.seconds;
        scenario.warmup_seconds = plan.seconds / 3.0;
        (scenario.sessions, scenario.connections, scenario.depth) = (SESSIONS, CONNECTIONS, DEPTH);
        let durability = plan.durability;
        let mut load = HalfLoad {
            testbed,
            durability,
            scenario,
            highest: None,
            rate: plan.rate.unwrap_or(0.0),
        };
        if plan.rate.is_none() {
            let highest = load.once(0, plan.runs, false)?.figures.business_ops_per_s;
            let highest = highest.context("the closed loop has no throughput")?;
            load.highest = Some(highest);
            load.rate = (SHARE * highest).round();
        }
        load.scenario.rate = Some(load.rate);
        load.scenario.check()?;
        Ok(load)
    }

    /// One run at the rate, audited, on a fresh server.
    ///
    /// # Errors
    /// When it fails, its audit does, or the server does not keep up.
    pub fn run(&self, number: u32, runs: u32, snapshots: bool) -> Result<Run> {
        let run = self.once(number, runs, snapshots)?;
        let found = run.figures.business_ops_per_s.unwrap_or(0.0);
        ensure!(
            found >= KEPT_MIN * self.rate,
            "{found} of {} requests/s were answered: lower --rate",
            self.rate
        );
        Ok(run)
    }

    fn once(&self, number: u32, runs: u32, snapshots: bool) -> Result<Run> {
        let testbed = self.testbed;
        testbed.go_on()?;
        let bench = Bench {
            stand: &Stand::Loopback,
            scenario: &self.scenario,
            target: Target::Scurry,
            durability: self.durability,
            place: &testbed.place.path,
            snapshots: if snapshots { Snapshots::Always } else { Snapshots::None },
            revives: false,
            address: None,
            program: testbed.program.clone(),
            port: None,
            cores: testbed.cores.as_ref(),
            scurry: &testbed.scurry,
            ports: Ports::Main,
            rdma: None,
            copies: Copies::default(),
            echo_sizes: "",
            library: None,
            interrupted: &testbed.interrupted,
            step: RunCount::default(),
            quiet: testbed.quiet,
        };
        let run = bench.measure(number, runs)?.run;
        ensure!(run.is_sound(), "run {number}: {}", run.audit);
        Ok(run)
    }

    /// How the load is described under a table.
    pub fn words(&self) -> String {
        let highest = self.highest.map_or_else(String::new, |highest| {
            format!(", half of the {highest:.0} of a closed loop")
        });
        format!(
            "moaf-scur at {:.0} requests/s by the clock{highest}; {SESSIONS} sessions over \
             {CONNECTIONS} connections, {} accounts, {} s per run, audited; durability {} on {}; \
             latency from when a request was meant to be sent\n{}, {} cores, Linux {}\n",
            self.rate,
            self.scenario.accounts,
            self.scenario.seconds,
            self.durability.word(),
            self.testbed.place.filesystem,
            self.testbed.host.cpu,
            self.testbed.host.cores,
            self.testbed.host.kernel,
        )
    }
}

/// Latencies of a run at the rate.
///
/// # Errors
/// When it has no figures.
pub fn latencies(figures: &Figures) -> Result<crate::latency::LatencySummary> {
    figures.latency_us.clone().context("a run without latencies")
}
