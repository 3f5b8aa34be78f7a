//! The rung with sockets: the real server under the loader, and the echo server beside it.

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};

use super::report::Point;
use crate::echo_sizes::learn;
use crate::measure::{Bench, Copies};
use crate::progress::RunCount;
use crate::routes::Ports;
use crate::scenario::{Kind, Scenario};
use crate::snapshotter::Snapshots;
use crate::stand::Stand;
use crate::target::{Durability, Target};
use crate::testbed::Testbed;

/// A way to spread the load over connections.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spread {
    pub(super) name: &'static str,
    sessions: u32,
    connections: u32,
    depth: u32,
}

/// The pipelined form, and the published one.
pub(super) const FORMS: &[Spread] = &[
    Spread { name: "50x64", sessions: 3_200, connections: 50, depth: 64 },
    Spread { name: "600x1", sessions: 600, connections: 600, depth: 1 },
];

/// Both servers under both forms.
#[derive(Debug)]
pub(super) struct Loopback<'a> {
    testbed: &'a Testbed,
    scenario: &'a Scenario,
    echo: PathBuf,
    echo_sizes: String,
}

impl Loopback<'_> {
    /// Learns how long the real server's replies are.
    pub(super) fn new<'a>(testbed: &'a Testbed, scenario: &'a Scenario) -> Result<Loopback<'a>> {
        let charging = scenario.charging.as_ref().context("the scenario is no charging")?;
        let server = testbed.start(&[])?;
        let echo_sizes = learn(server.address(), charging)?.text;
        let echo = Target::Echo.locate(Kind::Charging, None)?;
        Ok(Loopback { testbed, scenario, echo, echo_sizes })
    }

    /// One run of a form, against the store or against echo.
    pub(super) fn run(&self, form: usize, echo: bool, run: u32) -> Result<Point> {
        let form = FORMS[form];
        let mut scenario = self.scenario.clone();
        scenario.sessions = form.sessions;
        scenario.connections = form.connections;
        scenario.depth = form.depth;
        let target = if echo { Target::Echo } else { Target::Scurry };
        let bench = Bench {
            stand: &Stand::Loopback,
            scenario: &scenario,
            target,
            durability: Durability::None,
            place: &self.testbed.place.path,
            snapshots: Snapshots::None,
            revives: false,
            address: None,
            program: if echo { self.echo.clone() } else { self.testbed.program.clone() },
            port: None,
            cores: self.testbed.cores.as_ref(),
            scurry: &self.testbed.scurry,
            ports: Ports::Main,
            rdma: None,
            copies: Copies::default(),
            echo_sizes: &self.echo_sizes,
            library: None,
            interrupted: &self.testbed.interrupted,
            step: RunCount::default(),
            quiet: self.testbed.quiet,
        };
        let name = target.name();
        let measured = bench.measure(run, run).with_context(|| format!("{name} {}", form.name))?;
        let run = measured.run;
        ensure!(run.is_sound(), "{name} {}: {}", form.name, run.audit);
        let missing = || format!("{name} {} has no figures", form.name);
        let figures = run.figures;
        Ok(Point {
            run: run.run,
            operations_per_s: figures.business_ops_per_s.with_context(missing)?,
            cpu_ns_per_op: figures.cpu_us_per_op.with_context(missing)? * 1_000.0,
            operations: figures.operations.with_context(missing)?,
            loader_idle_percent: figures.loader_idle_percent,
        })
    }
}
