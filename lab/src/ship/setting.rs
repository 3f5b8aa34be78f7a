//! The scenario, the store and the cores of all measurements of a shipper.

use anyhow::{Result, ensure};

use crate::arguments::ShipArguments;
use crate::fleet::Fleet;
use crate::measure::{Bench, Copies};
use crate::progress::RunCount;
use crate::routes::Ports;
use crate::row::{AUDIT_OK, Run};
use crate::scenario::Scenario;
use crate::snapshotter::Snapshots;
use crate::target::{Durability, Target};
use crate::testbed::Testbed;

/// Longest warm-up before a load is measured, seconds.
const WARMUP_SECONDS_MAX: f64 = 1.0;

/// What all measurements share.
pub(super) struct ShipSetting<'a> {
    pub(super) arguments: &'a ShipArguments,
    pub(super) testbed: &'a Testbed,
    /// The closed loop.
    pub(super) scenario: Scenario,
}

impl<'a> ShipSetting<'a> {
    pub(super) fn new(
        arguments: &'a ShipArguments,
        testbed: &'a Testbed,
    ) -> Result<ShipSetting<'a>> {
        let (seconds, accounts) = (arguments.seconds, arguments.accounts);
        let warmup_seconds = (seconds / 10.0).min(WARMUP_SECONDS_MAX);
        let built_in = Scenario::built_in("moaf-scur-pipelined")?;
        let connections = built_in.connections.min(arguments.sessions);
        let scenario = Scenario {
            seconds,
            accounts,
            warmup_seconds,
            sessions: arguments.sessions,
            connections,
            ..built_in
        };
        scenario.check()?;
        Ok(ShipSetting { arguments, testbed, scenario })
    }

    pub(super) fn durability(&self) -> Durability {
        self.arguments.durability.into()
    }

    /// Returns the core of a shipper: the loader's, which has nothing to do while a log is shipped that is there.
    pub(super) fn shipper_cores(&self) -> Vec<usize> {
        self.testbed.cores.iter().map(|cores| cores.loader).collect()
    }

    pub(super) fn start(&self, scenario: &Scenario) -> Result<Fleet> {
        self.testbed.go_on()?;
        self.bench(scenario).start()
    }

    /// Loads a store that is started, and audits it.
    pub(super) fn load(
        &self,
        scenario: &Scenario,
        fleet: Fleet,
        number: u32,
    ) -> Result<(Run, Fleet)> {
        self.testbed.go_on()?;
        let bench = self.bench(scenario);
        let (measured, fleet) = bench.measure_started(fleet, number, self.arguments.runs)?;
        ensure!(measured.run.audit == AUDIT_OK, "the audit of a load: {}", measured.run.audit);
        Ok((measured.run, fleet))
    }

    fn bench<'b>(&'b self, scenario: &'b Scenario) -> Bench<'b> {
        Bench {
            scenario,
            target: Target::Scurry,
            durability: self.durability(),
            place: &self.testbed.place.path,
            snapshots: Snapshots::None,
            revives: false,
            address: None,
            program: self.testbed.program.clone(),
            cores: self.testbed.cores.as_ref(),
            scurry: &self.testbed.scurry,
            ports: Ports::Main,
            rdma: None,
            copies: Copies::default(),
            echo_sizes: "",
            library: None,
            interrupted: &self.testbed.interrupted,
            step: RunCount::default(),
            quiet: self.testbed.quiet,
        }
    }
}
