//! `scurry-lab slow-disk`: what a healthy client feels of a disk that stands still again and again, on one
//! machine and in a group of three, of which one follower has it. A fresh start for each run.

mod report;
mod setup;
mod strace;

use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use serde::Serialize;

use crate::arguments::SlowDiskArguments;
use crate::figures::{per, rounded};
use crate::fleet::{Fleet, GROUP_NODES, Plan};
use crate::healthy::{HealthyClient, HealthyPlan, PhaseReport, create_healthy_accounts};
use crate::progress::Progress;
use crate::target::{Durability, ScurryOptions};
use crate::testbed::{Testbed, write_json};
pub use report::{SlowDiskReport, SlowDiskRow, SlowDiskRun};
pub use setup::Setup;
use strace::Syncs;

/// The client is not looked at for so long in the beginning.
const WARM_UP: Duration = Duration::from_secs(1);
/// Threads of each server.
const THREADS: u16 = 1;
const MS_US: f64 = 1_000.0;

/// How slow the disk is, and for how long it is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SlowDiskPlan {
    /// Milliseconds by which a sync is late.
    pub delay_ms: f64,
    /// One of so many syncs is late.
    pub every: u16,
    /// Measured seconds of each run.
    pub seconds: f64,
    /// Runs of each set-up.
    pub runs: u32,
}

/// Runs every set-up in turn, prints the table and writes it.
///
/// # Errors
/// When strace may not trace, a server fails, a unit is lost, or the disk was not slow.
pub fn slow_disk(arguments: &SlowDiskArguments) -> Result<()> {
    let (healthy, plan) = (arguments.healthy.plan()?, arguments.plan()?);
    let testbed = Testbed::prepare(&arguments.common)?;
    testbed.place.check()?;
    strace::check()?;
    testbed.bind_loader()?;
    let mut report = SlowDiskReport::new(healthy, plan, &testbed);
    for number in 1..=plan.runs {
        for row in &mut report.rows {
            testbed.go_on()?;
            let ward = Ward { testbed: &testbed, healthy, plan, setup: row.setup };
            let run =
                ward.run(number).with_context(|| format!("{}, run {number}", row.setup.name()))?;
            let progress = Progress::new(row.setup.name(), testbed.quiet, 0.0);
            progress.note(&format!("run {number}: p99 {:.3} ms", run.service.p99_ms()));
            row.runs.push(run);
        }
    }
    report.sum_up();
    print!("{}", report.render());
    write_json(arguments.common.json.as_deref(), &report)
}

/// One set-up and the healthy client.
struct Ward<'a> {
    testbed: &'a Testbed,
    healthy: HealthyPlan,
    plan: SlowDiskPlan,
    setup: Setup,
}

impl Ward<'_> {
    fn run(&self, number: u32) -> Result<SlowDiskRun> {
        let fleet = self.start()?;
        let (service, syncs) = match self.watch(&fleet) {
            Ok(found) => found,
            Err(error) => bail!("{}", self.testbed.fault(&error, &fleet.output_tail())?),
        };
        if self.setup.has_slow_disk() {
            ensure!(
                syncs.late > 0,
                "none of {} syncs was late: give more --seconds or a smaller --every",
                syncs.all
            );
            // In a group nobody waits for it.
            ensure!(
                self.setup.is_group() || service.latency_us.max >= self.plan.delay_ms * MS_US,
                "no request waited for a late sync: its reply needs another call than strace delays"
            );
        }
        let [syncs_per_s, late_per_s] =
            [syncs.all, syncs.late].map(|count| rounded(per(count, self.plan.seconds), 1));
        Ok(SlowDiskRun { run: number, service, syncs_per_s, late_per_s })
    }

    /// Starts one server or three; the last of them is behind strace.
    fn start(&self) -> Result<Fleet> {
        let (testbed, is_group) = (self.testbed, self.setup.is_group());
        let threads = Some(u32::from(THREADS));
        let scurry = ScurryOptions { threads, ..testbed.scurry.clone() };
        Fleet::start(&Plan {
            first: testbed.command(self.setup.target(), Durability::Fsync, &scurry)?,
            is_cluster: false,
            group: is_group.then_some(THREADS),
            node_timeout_ms: 0,
            has_members: false,
            ndb: None,
            nodes: 1,
            replicas: if is_group { GROUP_NODES - 1 } else { 0 },
            replica_core: testbed.cores.as_ref().map(|cores| cores.loader),
            last_behind: strace::words(self.plan, self.setup.has_slow_disk()),
            interrupted: &testbed.interrupted,
        })
    }

    /// The healthy client's service, and the syncs of the last server meanwhile.
    fn watch(&self, fleet: &Fleet) -> Result<(PhaseReport, Syncs)> {
        let mut control = fleet.connect()?;
        let syncs = || Syncs::count(fleet.last().directory());
        create_healthy_accounts(&mut control, self.healthy.accounts)?;
        let client = HealthyClient::start(self.healthy, fleet.first().address())?;
        client.wait(WARM_UP, self.testbed)?;
        // Reading them takes the client's core, so neither look is in the phase that counts.
        let before = syncs()?;
        client.begin_phase();
        client.wait(Duration::from_secs_f64(self.plan.seconds), self.testbed)?;
        client.begin_phase();
        let mut syncs = syncs()?.since(before);
        if !self.setup.has_slow_disk() {
            syncs.late = 0;
        }
        let healthy = client.finish()?;
        healthy.audit(&mut control).context("the healthy client's accounts")?;
        ensure!(
            !self.setup.is_group() || fleet.first_leads(),
            "another node leads by now: the machine is too busy"
        );
        let service = healthy.phases.into_iter().nth(1).unwrap_or_default();
        Ok((service, syncs))
    }
}
