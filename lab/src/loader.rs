//! The loader: one thread over epoll that runs every session of a closed loop, or sends at a fixed rate. It sleeps in
//! `epoll_wait` when there is nothing to do, so its CPU time shows how near it is to being the bottleneck.

mod connection;
mod pace;
mod rdma;
mod receive;
mod recorder;
mod send;

use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroU64;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result, ensure};
use rustix::event::{Timespec, epoll};

use crate::clock::{Clock, thread_cpu_nanos};
use crate::wire::Wire;
use crate::workload::Workload;
use connection::Connection;
use pace::SendPace;
use recorder::Recorder;
pub use recorder::{LoadResult, OperationResult, Second};

const NANOS: f64 = 1e9;
const SECOND_NS: u64 = 1_000_000_000;
/// Longest sleep, so that an interrupt is noticed soon.
const WAIT_NS_MAX: u64 = 100_000_000;
/// Interval in which due requests of a paced load are sent together, nanoseconds. Sent one by one, 600,000 a second
/// take all of the loader's core, and whatever shares that core (a server's log thread) waits.
const WAIT_NS_PACED_MIN: u64 = 100_000;
/// Time without any answer after which the server counts as failed.
const SILENCE_NS_MAX: u64 = 20_000_000_000;
const READ_BUFFER: usize = 262_144;

/// Load to run.
#[derive(Clone, Debug)]
pub struct LoadPlan {
    /// Protocol of the target.
    pub wire: Wire,
    /// Server addresses; connections are spread over several ports in turn.
    pub addresses: Vec<SocketAddr>,
    /// Device address for a load over RDMA, with the port of the server; None over TCP.
    pub rdma: Option<IpAddr>,
    /// Concurrent sessions.
    pub sessions: u32,
    /// Connections that the sessions share.
    pub connections: u32,
    /// Most requests in flight on one connection.
    pub depth: u32,
    /// Requests per second of a paced load; None for a closed loop.
    pub rate: Option<f64>,
    /// Seconds under load before measuring.
    pub warmup_seconds: f64,
    /// Measured seconds.
    pub seconds: f64,
    /// Copies required for an acknowledgement, including the primary's: a WAIT follows the requests that are written
    /// together. None sends no WAIT.
    pub copies: Option<u32>,
}

/// Listener to the progress of the load.
pub trait Observer {
    /// Handles the beginning and the end of the measured interval.
    ///
    /// # Errors
    /// When the observer's samples cannot be read: the run ends.
    fn measuring(&mut self, begins: bool) -> Result<()>;

    /// Handles the figures of a second, about once a second.
    fn second(&mut self, second: &Second);
}

/// Stage of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LoadStage {
    WarmUp,
    Measuring,
    /// No session sends anything new.
    Draining,
    /// Open sessions are closed.
    Closing,
}

/// Loader of one run.
#[derive(Debug)]
pub struct Loader<'a, W> {
    plan: LoadPlan,
    workload: &'a mut W,
    interrupted: &'a AtomicBool,
    connections: Vec<Connection>,
    /// RDMA connections; None over TCP.
    rdma: Option<rdma::RdmaConnections>,
    epoll: OwnedFd,
    clock: Clock,
    recorder: Recorder,
    /// Schedule of an open loop.
    pace: Option<SendPace>,
    /// Index of the next connection in an open loop.
    turn: usize,
    stage: LoadStage,
    /// Bound on the 99th percentile of each second, microseconds; a second above it ends the load.
    autostop_us: Option<f64>,
    is_stopped: bool,
    /// Flag that ends the load when it is set.
    over: Option<&'a AtomicBool>,
    in_flight: u64,
    answered_at: u64,
    received: Vec<u8>,
    out: Vec<u8>,
    /// Scratch buffer for a request before translation, or a reply after it.
    translated: Vec<u8>,
}

impl<'a, W: Workload> Loader<'a, W> {
    /// Opens the connections.
    ///
    /// # Errors
    /// When a connection cannot be opened.
    pub fn connect(
        plan: LoadPlan,
        workload: &'a mut W,
        interrupted: &'a AtomicBool,
    ) -> Result<Loader<'a, W>> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).context("creating an epoll set")?;
        let mut connections = Vec::new();
        let over_rdma =
            |address: &SocketAddr| plan.rdma.map(|ip| SocketAddr::new(ip, address.port()));
        let first = plan.addresses.first().and_then(over_rdma);
        let mut rdma = match first {
            None => None,
            Some(to) => Some(rdma::RdmaConnections::new(to, plan.connections, &epoll)?),
        };
        for index in 0..plan.connections {
            let sessions = (index..plan.sessions).step_by(plan.connections as usize).collect();
            let address = plan.addresses[index as usize % plan.addresses.len()];
            let mut connection = match (&mut rdma, over_rdma(&address)) {
                (Some(place), Some(to)) => {
                    let endpoint = place.connect(to, index as usize)?;
                    Connection::over_rdma(endpoint, plan.wire, sessions)
                }
                _ => Connection::open(address, plan.wire, sessions)?,
            };
            connection.register(&epoll, u64::from(index))?;
            connections.push(connection);
        }
        let recorder = Recorder::new(workload.operations(), plan.rate.is_some())?;
        Ok(Loader {
            plan,
            workload,
            interrupted,
            connections,
            rdma,
            epoll,
            clock: Clock::start(),
            recorder,
            pace: None,
            turn: 0,
            stage: LoadStage::WarmUp,
            autostop_us: None,
            is_stopped: false,
            over: None,
            in_flight: 0,
            answered_at: 0,
            received: vec![0; READ_BUFFER],
            out: Vec::new(),
            translated: Vec::new(),
        })
    }

    /// Ends the load early when the 99th percentile of a second is above this, microseconds: a store that cannot keep
    /// up does not recover by waiting.
    pub fn stop_above(mut self, p99_us: f64) -> Loader<'a, W> {
        self.autostop_us = Some(p99_us);
        self
    }

    /// Ends the load early when this flag is set.
    pub fn stop_at(mut self, over: &'a AtomicBool) -> Loader<'a, W> {
        self.over = Some(over);
        self
    }

    /// Runs the warm-up and the measured interval, then waits for everything in flight and closes the open sessions.
    ///
    /// # Errors
    /// When a connection fails, the server stops answering or the run is interrupted.
    pub fn run(mut self, observer: &mut dyn Observer) -> Result<LoadResult> {
        self.clock = Clock::start();
        if let Some(rate) = self.plan.rate {
            // With the default timer slack the kernel may wake a sleeping thread 50 us late.
            rustix::thread::set_current_timer_slack(NonZeroU64::new(1))?;
            self.pace = Some(SendPace::new(rate, self.clock.nanos()));
        }
        let begin = nanos(self.plan.warmup_seconds);
        let end = begin + nanos(self.plan.seconds);
        self.send_all()?;
        if begin > 0 {
            self.run_until(begin, observer)?;
        }
        self.stage = LoadStage::Measuring;
        observer.measuring(true)?;
        // The interval starts after the first samples and ends before the last ones, so that sampling is not measured.
        let (started, cpu_started) = (self.clock.nanos(), thread_cpu_nanos());
        self.recorder.begin_measuring(started);
        self.run_until(end, observer)?;
        let (ended, cpu_ended) = (self.clock.nanos(), thread_cpu_nanos());
        self.recorder.end_measuring(ended, self.workload.errors().count);
        observer.measuring(false)?;
        self.stage = LoadStage::Draining;
        self.drain()?;
        // Nothing is in flight now, so each open session can be closed by one request.
        self.stage = LoadStage::Closing;
        self.send_all()?;
        self.drain()?;
        let is_asked = self.plan.copies.is_some();
        let result = self.recorder.finish(ended - started, cpu_ended - cpu_started, is_asked)?;
        Ok(LoadResult { stopped: self.is_stopped, ..result })
    }

    fn send_all(&mut self) -> Result<()> {
        (0..self.connections.len()).try_for_each(|index| self.send(index))
    }

    fn run_until(&mut self, end: u64, observer: &mut dyn Observer) -> Result<()> {
        let mut tick = self.recorder.next_tick();
        loop {
            let now = self.clock.nanos();
            if now >= tick.min(end) {
                let errors = self.workload.errors().count;
                let second = self.recorder.close_interval(now, errors);
                observer.second(&second);
                tick = self.recorder.next_tick();
                self.is_stopped |= self.autostop_us.is_some_and(|most| second.p99_us > most);
            }
            self.is_stopped |= self.over.is_some_and(|over| over.load(Ordering::Relaxed));
            if now >= end || self.is_stopped {
                return Ok(());
            }
            let next = self.send_due(now)?;
            self.turn(now, tick.min(end).min(next))?;
        }
    }

    fn drain(&mut self) -> Result<()> {
        while self.in_flight > 0 {
            let now = self.clock.nanos();
            self.turn(now, now + WAIT_NS_MAX)?;
        }
        Ok(())
    }

    /// Waits for something to do, until `until` at most, and does it.
    fn turn(&mut self, now: u64, until: u64) -> Result<()> {
        ensure!(!self.interrupted.load(Ordering::Relaxed), "interrupted");
        ensure!(
            now < self.answered_at + SILENCE_NS_MAX,
            "the server has answered nothing for {} s with {} requests in flight",
            SILENCE_NS_MAX / SECOND_NS,
            self.in_flight
        );
        // A paced loop sleeps long enough that requests which are due soon go together.
        let wait_min = if self.pace.is_some() { WAIT_NS_PACED_MIN } else { 1 };
        let wait = until.saturating_sub(now).clamp(wait_min, WAIT_NS_MAX);
        if self.rdma.is_some() {
            return self.turn_over_rdma(now, wait);
        }
        let timeout = Timespec { tv_sec: 0, tv_nsec: i64::try_from(wait)? };
        let mut events = [const { std::mem::MaybeUninit::uninit() }; 256];
        let (ready, _) = match epoll::wait(&self.epoll, &mut events, Some(&timeout)) {
            Ok(ready) => ready,
            Err(rustix::io::Errno::INTR) => return Ok(()),
            Err(error) => return Err(error).context("waiting for replies"),
        };
        for event in ready {
            // The kernel's struct is packed: copy its fields before using them.
            let (data, flags) = (event.data, event.flags);
            let index = usize::try_from(data.u64())?;
            if flags.contains(epoll::EventFlags::OUT) {
                self.connections[index].flush(&self.epoll)?;
            }
            // Read on HUP and ERR too: the read returns the error.
            if flags
                .intersects(epoll::EventFlags::IN | epoll::EventFlags::HUP | epoll::EventFlags::ERR)
            {
                self.receive(index)?;
            }
            self.send(index)?;
        }
        Ok(())
    }
}

fn nanos(seconds: f64) -> u64 {
    std::time::Duration::try_from_secs_f64(seconds)
        .ok()
        .and_then(|duration| u64::try_from(duration.as_nanos()).ok())
        .unwrap_or(0)
}

fn seconds(nanos: u64) -> f64 {
    nanos as f64 / NANOS
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;
    use crate::scenario::Scenario;
    use crate::workload::KeyValueWorkload;

    #[test]
    fn connections_are_dealt_out_to_the_ports_in_turn() {
        let listeners = [0, 1].map(|_| TcpListener::bind("127.0.0.1:0").unwrap());
        let kv = Scenario::built_in("kv").unwrap().kv.unwrap();
        let mut workload = KeyValueWorkload::new(&kv, 6, 1, true);
        let plan = LoadPlan {
            wire: Wire::Resp,
            addresses: listeners.iter().map(|l| l.local_addr().unwrap()).collect(),
            rdma: None,
            sessions: 6,
            connections: 5,
            depth: 1,
            rate: None,
            warmup_seconds: 0.0,
            seconds: 1.0,
            copies: None,
        };
        let interrupted = AtomicBool::new(false);
        let _loader = Loader::connect(plan, &mut workload, &interrupted).unwrap();
        let accepted = listeners.map(|listener| {
            listener.set_nonblocking(true).unwrap();
            listener.incoming().take_while(Result::is_ok).count()
        });
        assert_eq!(accepted, [3, 2]);
    }
}
