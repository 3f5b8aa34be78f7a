//! `scurry-lab neighbours`: a healthy client beside one badly behaved client at a time. A fresh
//! server for each, so that memory before is that of an empty one.

mod connections;
mod giants;
mod kind;
mod report;
mod streams;
mod visit;

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use anyhow::{Context, Result, anyhow};

use crate::arguments::NeighboursArguments;
use crate::client::Client;
use crate::clock::Clock;
use crate::filling::info_number;
use crate::healthy::{HealthyClient, HealthyPlan, create_healthy_accounts};
use crate::process::ServerProcess;
use crate::progress::Progress;
use crate::sampler::resident_bytes;
use crate::testbed::{Testbed, allow_files, write_json};
pub use kind::{Neighbour, Scale};
pub use report::{MemoryTrace, NeighbourRow, NeighboursReport};
use visit::Visit;

/// The healthy client is watched alone for this long before the neighbour comes, and after,
/// unless the neighbour stays even shorter.
const ALONE_SECONDS: f64 = 1.0;
/// How often memory is looked at.
const LOOK: Duration = Duration::from_millis(50);
/// A neighbour that has not left so long after its time holds the run up.
const OVERTIME: Duration = Duration::from_secs(120);
/// Files beside those of the idle neighbour.
const FILES_SPARE: u64 = 1_000;
/// Room for the lab's own connections beside those of the idle neighbour.
const CLIENTS_SPARE: u32 = 100;

/// Runs every neighbour, prints the table, and says whether the healthy client was served
/// rightly beside each.
///
/// # Errors
/// When the arguments are wrong or a server does not start.
pub fn neighbours(arguments: &NeighboursArguments) -> Result<bool> {
    let (plan, scale) = (arguments.healthy.plan()?, arguments.scale()?);
    // Both ends of an idle connection, should the server inherit a limit that it cannot raise.
    allow_files(u64::from(scale.idle) + FILES_SPARE)?;
    let testbed = Testbed::prepare(&arguments.common)?;
    testbed.bind_loader()?;
    let mut report = NeighboursReport::new(plan, scale, &testbed);
    for neighbour in arguments.chosen() {
        testbed.go_on()?;
        let street = Street { testbed: &testbed, plan, scale, neighbour };
        let row = street.row()?;
        let progress = Progress::new(neighbour.name(), testbed.quiet, 0.0);
        progress.note(&row.summary());
        report.rows.push(row);
    }
    print!("{}", report.render());
    write_json(arguments.common.json.as_deref(), &report)?;
    Ok(report.rows.iter().all(|row| row.failed.is_none()))
}

/// One neighbour and the healthy client.
struct Street<'a> {
    testbed: &'a Testbed,
    plan: HealthyPlan,
    scale: Scale,
    neighbour: Neighbour,
}

impl Street<'_> {
    /// A server that cannot be started ends the run; what happens to a client is a row.
    fn row(&self) -> Result<NeighbourRow> {
        let server = self.start()?;
        let mut row = NeighbourRow::new(self.neighbour);
        if let Err(error) = self.live(&server, &mut row) {
            row.failed = Some(self.testbed.fault(&error, &server.output_tail())?);
        }
        Ok(row)
    }

    fn start(&self) -> Result<ServerProcess> {
        let clients = (self.scale.idle + CLIENTS_SPARE).to_string();
        let flag = "--max-clients";
        let told = self.testbed.scurry.arguments.iter().any(|word| word.starts_with(flag));
        if told { self.testbed.start(&[]) } else { self.testbed.start(&[flag, &clients]) }
    }

    fn live(&self, server: &ServerProcess, row: &mut NeighbourRow) -> Result<()> {
        let mut control = Client::connect(server.address())?;
        create_healthy_accounts(&mut control, self.plan.accounts)?;
        let healthy = HealthyClient::start(self.plan, server.address())?;
        let clock = Clock::start();
        let mut memory = MemoryWatch { server, control: &mut control, trace: &mut row.memory };
        // The warm-up of both.
        let alone = Duration::from_secs_f64(ALONE_SECONDS.min(self.scale.seconds));
        healthy.wait(alone, self.testbed)?;
        healthy.begin_phase();
        memory.before()?;
        let begun = clock.elapsed();
        row.what_happened = self.visit(&healthy, &mut memory)?;
        row.seconds = (clock.elapsed() - begun).as_secs_f64();
        healthy.begin_phase();
        healthy.wait(alone, self.testbed)?;
        memory.after()?;
        let healthy = healthy.finish()?;
        healthy.audit(&mut control).context("the healthy client's accounts")?;
        let mut phases = healthy.phases.into_iter().skip(1);
        row.during = phases.next().unwrap_or_default();
        row.after = phases.next().unwrap_or_default();
        Ok(())
    }

    /// The neighbour's visit on a thread of its own. Gives what happened to it.
    fn visit(&self, healthy: &HealthyClient, memory: &mut MemoryWatch<'_>) -> Result<String> {
        let visit = Visit::new(memory.server.address(), self.scale, &self.testbed.interrupted);
        let clock = Clock::start();
        let (done, ended) = channel();
        let neighbour = self.neighbour;
        std::thread::Builder::new().name("neighbour".to_owned()).spawn(move || {
            // The healthy client shares this core and must not wait for it.
            let nice = rustix::process::nice(19).context("lowering the neighbour's priority");
            // Nobody listens any more when the run has been given up.
            let _ = done.send(nice.and_then(|_| neighbour.visit(&visit)));
        })?;
        let limit = Duration::from_secs_f64(self.scale.seconds) + OVERTIME;
        loop {
            match ended.recv_timeout(LOOK) {
                Ok(happened) => {
                    let happened = happened.unwrap_or_else(|error| format!("failed: {error:#}"));
                    // Its connections end with its thread; what it held is still there.
                    memory.look()?;
                    return Ok(happened);
                }
                Err(RecvTimeoutError::Timeout) => {
                    self.testbed.go_on()?;
                    anyhow::ensure!(
                        clock.elapsed() < limit,
                        "the neighbour does not come to an end"
                    );
                    if healthy.has_failed() {
                        return Ok("the healthy client failed first".to_owned());
                    }
                    memory.look()?;
                }
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(anyhow!("the neighbour panicked"));
                }
            }
        }
    }
}

/// Looks at the server's memory, from outside and by its own count.
struct MemoryWatch<'a> {
    server: &'a ServerProcess,
    control: &'a mut Client,
    trace: &'a mut MemoryTrace,
}

impl MemoryWatch<'_> {
    fn sample(&mut self) -> Result<(u64, u64)> {
        let resident = resident_bytes(self.server.pid())?;
        let info = self.control.call(&["INFO", "memory"])?;
        let used = info.text().and_then(|info| info_number(info, "used_memory"));
        Ok((resident, used.unwrap_or(0)))
    }

    fn before(&mut self) -> Result<()> {
        let (resident, used) = self.sample()?;
        (self.trace.rss_before, self.trace.rss_peak) = (resident, resident);
        (self.trace.used_before, self.trace.used_peak) = (used, used);
        Ok(())
    }

    fn look(&mut self) -> Result<()> {
        let (resident, used) = self.sample()?;
        self.trace.rss_peak = self.trace.rss_peak.max(resident);
        self.trace.used_peak = self.trace.used_peak.max(used);
        Ok(())
    }

    fn after(&mut self) -> Result<()> {
        (self.trace.rss_after, self.trace.used_after) = self.sample()?;
        Ok(())
    }
}
