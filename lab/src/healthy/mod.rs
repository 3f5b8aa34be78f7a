//! The healthy client: an open loop of charging sessions at a fixed rate, on a thread of its own.
//! Each request has a time at which it is meant to be sent, and its latency counts from then, so
//! that a server which stalls is charged for every request that had to wait.

mod line;
mod setting;

use std::net::SocketAddr;
use std::num::NonZeroU64;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, ensure};
use rustix::event::{Timespec, epoll};
use serde::Serialize;

use crate::audit::{Expected, audit_charging};
use crate::client::Client;
use crate::clock::Clock;
use crate::dialect::Dialect;
use crate::figures::rounded;
use crate::latency::{LatencyRecorder, LatencySummary};
use crate::populate::create_accounts;
use crate::scenario::Scenario;
use crate::testbed::Testbed;
use crate::workload::{ChargingPlan, ChargingWorkload, Workload};
use line::HealthyConnection;
pub use setting::HealthySetting;

/// Longest sleep, so that the end is noticed soon.
const WAIT_NS_MAX: u64 = 50_000_000;
/// A request without an answer for this long has failed.
const SILENCE_NS_MAX: u64 = 60_000_000_000;
/// How often it is looked at while it goes on.
const LOOK: Duration = Duration::from_millis(50);
const SECOND_NS: f64 = 1e9;
const SEED: u64 = 1;

/// Load of the healthy client.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HealthyPlan {
    /// Requests per second over all connections.
    pub rate: f64,
    /// Connections, each with one request in flight at most.
    pub connections: u32,
    /// Accounts, chosen from uniformly.
    pub accounts: u32,
}

/// Service that the client got in one phase.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct PhaseReport {
    /// Requests that were meant to be sent in it.
    pub operations: u64,
    /// From when a request was meant to be sent to its reply, microseconds.
    pub latency_us: LatencySummary,
    /// From when a request could have been sent to when it was, microseconds: what the lab and
    /// the machine add to the latencies.
    pub own_delay_us: LatencySummary,
}

/// Result of the whole run.
#[derive(Debug)]
pub struct Healthy {
    /// Each phase.
    pub phases: Vec<PhaseReport>,
    workload: ChargingWorkload,
}

/// The client at work.
#[derive(Debug)]
pub struct HealthyClient {
    thread: JoinHandle<Result<Healthy>>,
    shared: Arc<Shared>,
}

/// State that the thread and its owner share.
#[derive(Debug)]
struct Shared {
    clock: Clock,
    /// When each phase began.
    phases: Mutex<Vec<u64>>,
    /// Requests that are meant to be sent from then on are not sent.
    end: AtomicU64,
}

impl Shared {
    fn begin_phase(&self) {
        let mut phases = self.phases.lock().unwrap_or_else(PoisonError::into_inner);
        phases.push(self.clock.nanos());
    }

    /// The phase to which a request belongs that is meant to be sent then.
    fn phase_of(&self, time: u64) -> usize {
        let phases = self.phases.lock().unwrap_or_else(PoisonError::into_inner);
        phases.iter().rposition(|begin| *begin <= time).unwrap_or(0)
    }
}

/// Creates the client's accounts.
///
/// # Errors
/// When the store refuses.
pub fn create_healthy_accounts(client: &mut Client, accounts: u32) -> Result<()> {
    let scenario = Scenario::built_in("moaf-scur")?;
    let charging = scenario.charging.as_ref().context("the scenario is no charging")?;
    create_accounts(client, Dialect::Scur, &charging.create_arguments(), accounts, &mut |_, _| {
        Ok(())
    })
}

impl HealthyClient {
    /// Connects and begins, in its first phase.
    ///
    /// # Errors
    /// When a connection cannot be made.
    pub fn start(plan: HealthyPlan, address: SocketAddr) -> Result<HealthyClient> {
        let clock = Clock::start();
        let end = AtomicU64::new(u64::MAX);
        let shared = Arc::new(Shared { clock, phases: Mutex::new(vec![0]), end });
        let mut lines = Lines::open(plan, address, Arc::clone(&shared))?;
        let thread = std::thread::Builder::new().name("healthy".to_owned()).spawn(move || {
            // Without this the kernel may wake a sleeper 50 us late.
            rustix::thread::set_current_timer_slack(NonZeroU64::new(1))?;
            lines.run()?;
            lines.close()?;
            Ok(lines.finish())
        })?;
        Ok(HealthyClient { thread, shared })
    }

    /// Requests that are meant to be sent from now on belong to the next phase.
    pub fn begin_phase(&self) {
        self.shared.begin_phase();
    }

    /// True when the thread has ended by itself, which is an error that [`Self::finish`] gives.
    pub fn has_failed(&self) -> bool {
        self.thread.is_finished()
    }

    /// Lets it go on for so long, or until it has failed.
    ///
    /// # Errors
    /// On Ctrl-C.
    pub fn wait(&self, time: Duration, testbed: &Testbed) -> Result<()> {
        let clock = Clock::start();
        let (_open, nothing) = channel::<()>();
        while clock.elapsed() < time && !self.has_failed() {
            testbed.go_on()?;
            let _ = nothing.recv_timeout(LOOK.min(time.saturating_sub(clock.elapsed())));
        }
        Ok(())
    }

    /// Stops, waits for every answer and closes what is open.
    ///
    /// # Errors
    /// When a request failed or was answered wrongly.
    pub fn finish(self) -> Result<Healthy> {
        self.shared.end.store(self.shared.clock.nanos(), Ordering::Relaxed);
        let healthy = self.thread.join().map_err(|_| anyhow!("the healthy client panicked"))??;
        let errors = healthy.workload.errors().describe();
        ensure!(errors.is_none(), "the healthy client got {}", errors.unwrap_or_default());
        ensure!(healthy.workload.replays() == 0, "new requests were called replays");
        Ok(healthy)
    }
}

impl Healthy {
    /// Compares what its accounts consumed with what was acknowledged, unit for unit.
    ///
    /// # Errors
    /// What differs.
    pub fn audit(&self, client: &mut Client) -> Result<()> {
        let scenario = Scenario::built_in("moaf-scur")?;
        let charging = scenario.charging.as_ref().context("the scenario is no charging")?;
        let expected = Expected {
            unit: &charging.unit,
            credited_per_account: charging.credited_per_account(),
            consumed: self.workload.consumed(),
            consumed_total: self.workload.consumed_total(),
            alone: false,
            as_created: None,
        };
        audit_charging(client, Dialect::Scur, &expected, SEED)
    }
}

/// The connections and what is recorded.
#[derive(Debug)]
struct Lines {
    lines: Vec<HealthyConnection>,
    epoll: OwnedFd,
    workload: ChargingWorkload,
    shared: Arc<Shared>,
    latencies: Vec<LatencyRecorder>,
    own_delays: Vec<LatencyRecorder>,
    out: Vec<u8>,
    /// Whether requests that are sent now only tidy up.
    closing: bool,
}

impl Lines {
    fn open(plan: HealthyPlan, address: SocketAddr, shared: Arc<Shared>) -> Result<Lines> {
        let scenario = Scenario::built_in("moaf-scur")?;
        let charging = scenario.charging.as_ref().context("the scenario is no charging")?;
        let workload = ChargingWorkload::new(&ChargingPlan {
            charging,
            dialect: Dialect::Scur,
            accounts: plan.accounts,
            sessions: plan.connections,
            seed: SEED,
            opaque: false,
            routes: None,
        })?;
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let period = SECOND_NS * f64::from(plan.connections) / plan.rate;
        let mut lines = Vec::new();
        for index in 0..plan.connections {
            let share = f64::from(index) / f64::from(plan.connections);
            let first = shared.clock.nanos() + whole(period * share);
            lines.push(HealthyConnection::open(
                address,
                &epoll,
                index,
                first,
                whole(period).max(1),
            )?);
        }
        Ok(Lines {
            lines,
            epoll,
            workload,
            shared,
            latencies: Vec::new(),
            own_delays: Vec::new(),
            out: Vec::new(),
            closing: false,
        })
    }

    /// Until everything that was meant to be sent before the end is answered.
    fn run(&mut self) -> Result<()> {
        loop {
            let end = self.shared.end.load(Ordering::Relaxed);
            let now = self.shared.clock.nanos();
            let mut next = now + WAIT_NS_MAX;
            let mut busy = false;
            for index in 0..self.lines.len() {
                let line = &self.lines[index];
                ensure!(
                    line.waits_since().is_none_or(|sent| now < sent + SILENCE_NS_MAX),
                    "the healthy client has waited for an answer for {} s",
                    SILENCE_NS_MAX / 1_000_000_000
                );
                if line.is_idle() && line.due() < end && line.due() <= now {
                    self.send(index)?;
                }
                let line = &self.lines[index];
                busy |= !line.is_idle() || line.due() < end;
                if line.is_idle() {
                    next = next.min(line.due());
                }
            }
            if !busy {
                return Ok(());
            }
            self.wait(next.saturating_sub(self.shared.clock.nanos()))?;
        }
    }

    /// Ends the sessions that are open.
    fn close(&mut self) -> Result<()> {
        self.closing = true;
        for index in 0..self.lines.len() {
            self.out.clear();
            let session = u32::try_from(index)?;
            if self.workload.emit_closing(session, &mut self.out).is_some() {
                let now = self.shared.clock.nanos();
                self.lines[index].send(&self.out, now)?;
                while !self.lines[index].is_idle() {
                    let waited = self.shared.clock.nanos() - now;
                    ensure!(waited < SILENCE_NS_MAX, "the server does not answer TERMINATE");
                    self.wait(WAIT_NS_MAX)?;
                }
            }
        }
        Ok(())
    }

    fn send(&mut self, index: usize) -> Result<()> {
        self.out.clear();
        self.workload.emit(u32::try_from(index)?, &mut self.out);
        let now = self.shared.clock.nanos();
        let line = &mut self.lines[index];
        let could = line.due().max(line.free_since());
        let phase = self.shared.phase_of(line.due());
        recorder(&mut self.own_delays, phase)?.record(now.saturating_sub(could).max(1));
        line.send(&self.out, now)
    }

    fn wait(&mut self, nanos: u64) -> Result<()> {
        let timeout = Timespec { tv_sec: 0, tv_nsec: i64::try_from(nanos.clamp(1, WAIT_NS_MAX))? };
        let mut events = [const { std::mem::MaybeUninit::uninit() }; 64];
        let ready = match epoll::wait(&self.epoll, &mut events, Some(&timeout)) {
            Ok((ready, _)) => ready,
            Err(rustix::io::Errno::INTR) => return Ok(()),
            Err(error) => return Err(error).context("waiting for replies"),
        };
        for event in ready {
            let data = event.data;
            let index = usize::try_from(data.u64())?;
            let session = u32::try_from(index)?;
            let line = &mut self.lines[index];
            let workload = &mut self.workload;
            let clock = self.shared.clock;
            let answered = line.receive(|bytes| workload.accept(session, bytes), clock)?;
            if let Some(meant) = answered.filter(|_| !self.closing) {
                let phase = self.shared.phase_of(meant);
                let latency = line.free_since().saturating_sub(meant);
                recorder(&mut self.latencies, phase)?.record(latency);
            }
        }
        Ok(())
    }

    fn finish(self) -> Healthy {
        let begun = self.shared.phases.lock().unwrap_or_else(PoisonError::into_inner).len();
        let phase = |index: usize| PhaseReport {
            operations: self.latencies.get(index).map_or(0, LatencyRecorder::count),
            latency_us: summary(self.latencies.get(index)),
            own_delay_us: summary(self.own_delays.get(index)),
        };
        Healthy { phases: (0..begun).map(phase).collect(), workload: self.workload }
    }
}

fn summary(recorder: Option<&LatencyRecorder>) -> LatencySummary {
    recorder.map(|recorder| recorder.summary().rounded()).unwrap_or_default()
}

/// The recorder of a phase, made when it is first needed.
fn recorder(all: &mut Vec<LatencyRecorder>, phase: usize) -> Result<&mut LatencyRecorder> {
    while all.len() <= phase {
        all.push(LatencyRecorder::new()?);
    }
    Ok(&mut all[phase])
}

/// Nanoseconds as a whole number.
fn whole(nanos: f64) -> u64 {
    std::time::Duration::try_from_secs_f64(nanos / SECOND_NS)
        .ok()
        .and_then(|time| u64::try_from(time.as_nanos()).ok())
        .unwrap_or(0)
}

impl PhaseReport {
    /// The cells of a table: p50, p99, p99.9, max, and the lab's own p99.9.
    pub fn cells(&self) -> [String; 5] {
        if self.operations == 0 {
            return ["-"; 5].map(str::to_owned);
        }
        let latency = &self.latency_us;
        [latency.p50, latency.p99, latency.p999, latency.max, self.own_delay_us.p999]
            .map(crate::report::duration)
    }

    /// The 99th percentile, ms.
    pub fn p99_ms(&self) -> f64 {
        rounded(self.latency_us.p99 / 1_000.0, 3)
    }
}

#[cfg(test)]
mod tests;
