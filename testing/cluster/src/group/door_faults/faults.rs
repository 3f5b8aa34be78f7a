//! The faults, one after another, in an order that the seed decides. Each is undone at its end.

use super::control::Control;
use super::door::Door;
use super::report::DoorReport;
use crate::group::{Group, NODES};
use crate::namespaces::Namespace;
use anyhow::{Context, Result, bail, ensure};
use nix::sys::signal::Signal;
use scurry_crash::{Binary, clock};
use scurry_model::Random;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Number of the network in which clients are.
const CLIENTS: usize = 253;

/// Requests that a door carries out after a fault, before it counts as serving.
const SERVED_MIN: u64 = 20;

/// A fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum DoorFault {
    KillDoor,
    StopDoor,
    PauseDoor,
    KillLeader,
    CutClients,
    CutLeaderFromDoor,
    CutStoreFromDoor,
    CutLeader,
    ResetClients,
}

const LOCAL: [DoorFault; 3] = [DoorFault::KillDoor, DoorFault::KillLeader, DoorFault::StopDoor];
const ALL: [DoorFault; 9] = [
    DoorFault::KillDoor,
    DoorFault::KillLeader,
    DoorFault::CutClients,
    DoorFault::CutLeaderFromDoor,
    DoorFault::CutStoreFromDoor,
    DoorFault::CutLeader,
    DoorFault::StopDoor,
    DoorFault::ResetClients,
    DoorFault::PauseDoor,
];

impl DoorFault {
    fn name(self) -> &'static str {
        match self {
            DoorFault::KillDoor => "kill-door",
            DoorFault::StopDoor => "stop-door",
            DoorFault::PauseDoor => "pause-door",
            DoorFault::KillLeader => "kill-leader",
            DoorFault::CutClients => "cut-clients-door",
            DoorFault::CutLeaderFromDoor => "cut-door-leader",
            DoorFault::CutStoreFromDoor => "cut-door-store",
            DoorFault::CutLeader => "cut-leader",
            DoorFault::ResetClients => "reset-clients-door",
        }
    }
}

/// What a fault works with.
pub(super) struct Scene<'s> {
    pub(super) group: &'s mut Group,
    pub(super) doors: &'s mut [Door],
    pub(super) binary: &'s Binary,
    pub(super) random: &'s mut Random,
    pub(super) control: &'s Control,
    pub(super) has_networks: bool,
}

impl Scene<'_> {
    /// Has faults happen for this time.
    pub(super) fn run(&mut self, time: Duration, report: &mut DoorReport) -> Result<()> {
        let end_ns = clock::ns() + i64::try_from(time.as_nanos())?;
        let faults: &[DoorFault] = if self.has_networks { &ALL } else { &LOCAL };
        self.pass_ms(1_000, 2_000)?;
        let mut at = 0;
        while clock::ns() < end_ns {
            let fault = match faults.get(at) {
                // Each once in their order, so that a short run has the most important ones.
                Some(fault) => *fault,
                None => self.random.pick(faults),
            };
            at += 1;
            let (begin_ns, before) = (clock::ns(), self.answers());
            self.inject(fault).with_context(|| format!("fault {}", fault.name()))?;
            let ms = (clock::ns() - begin_ns) / 1_000_000;
            let answers = self.answers() - before;
            eprintln!("{}: {ms} ms, {answers} answers meanwhile", fault.name());
            *report.faults.entry(fault.name()).or_default() += 1;
            self.doors.iter_mut().try_for_each(Door::check)?;
            self.group.until_whole()?;
            self.until_served()?;
            self.pass_ms(500, 2_500)?;
        }
        Ok(())
    }

    /// Waits until each door carries requests out: a store that is whole is no use to a door that does not find it.
    fn until_served(&mut self) -> Result<()> {
        let (control, before) = (self.control, self.control.served());
        self.group.until("both doors serve", |_| {
            let now = control.served();
            let all = now.iter().zip(before).all(|(now, before)| *now > before + SERVED_MIN);
            // What a client has found is told by the next pause.
            ensure!(all || control.has_failed(), "served before: {before:?}, now: {now:?}");
            Ok(())
        })
    }

    fn answers(&self) -> u64 {
        self.control.answers.load(Ordering::Relaxed)
    }

    fn pass_ms(&mut self, low: i64, high: i64) -> Result<()> {
        let ms = u64::try_from(self.random.between(low, high))?;
        self.group.pass(Duration::from_millis(ms))?;
        if self.control.has_failed() {
            bail!("a client has found something wrong");
        }
        Ok(())
    }

    fn inject(&mut self, fault: DoorFault) -> Result<()> {
        let door = self.random.below(self.doors.len());
        match fault {
            DoorFault::KillDoor => self.restart(door, Signal::SIGKILL),
            DoorFault::StopDoor => self.restart(door, Signal::SIGTERM),
            DoorFault::PauseDoor => {
                self.doors[door].signal(Signal::SIGSTOP)?;
                self.pass_ms(1_000, 20_000)?;
                self.doors[door].signal(Signal::SIGCONT)
            }
            DoorFault::KillLeader => {
                let (leader, others) = self.group.parts()?;
                self.group.nodes[leader].kill()?;
                self.group.until_leader(&others)?;
                self.pass_ms(0, 700)?;
                self.group.start_again(leader)
            }
            // Beyond the watchdog, or not.
            DoorFault::CutClients => self.cut(door, &[CLIENTS], 22_000),
            DoorFault::CutLeaderFromDoor => {
                let (leader, _) = self.group.parts()?;
                let place = self.place(leader)?;
                self.cut(door, &[place], 8_000)
            }
            DoorFault::CutStoreFromDoor => {
                let places = (0..NODES).map(|node| self.place(node));
                let places = places.collect::<Result<Vec<_>>>()?;
                self.cut(door, &places, 8_000)
            }
            DoorFault::CutLeader => {
                let (leader, others) = self.group.parts()?;
                let places: Vec<usize> =
                    others.iter().map(|node| self.place(*node)).collect::<Result<_>>()?;
                let own = |group: &Group| {
                    group.nodes[leader].namespace.as_ref().map(|own| own.part_from(&places))
                };
                own(self.group).context("no network")??;
                self.group.until_leader(&others)?;
                self.pass_ms(0, 3_000)?;
                let own = self.group.nodes[leader].namespace.as_ref();
                own.context("no network")?.join_again(&places)
            }
            DoorFault::ResetClients => {
                for _ in 0..self.random.between(2, 6) {
                    self.network(door)?.reset(CLIENTS)?;
                    self.pass_ms(100, 800)?;
                }
                Ok(())
            }
        }
    }

    fn restart(&mut self, door: usize, signal: Signal) -> Result<()> {
        self.doors[door].end(signal)?;
        self.pass_ms(0, 3_000)?;
        self.doors[door].start(self.binary)
    }

    /// Drops all packets between a door and these networks for a while.
    fn cut(&mut self, door: usize, places: &[usize], longest_ms: i64) -> Result<()> {
        self.network(door)?.part_from(places)?;
        let passed = self.pass_ms(1_000, longest_ms);
        self.network(door)?.join_again(places)?;
        passed
    }

    fn network(&self, door: usize) -> Result<&Namespace> {
        self.doors[door].network.as_ref().context("the door has no network of its own")
    }

    fn place(&self, node: usize) -> Result<usize> {
        let own = self.group.nodes[node].namespace.as_ref();
        Ok(own.context("the node has no network of its own")?.index())
    }
}
