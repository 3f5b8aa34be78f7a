//! One run of three nodes: a scheduler, driven by the seed, and the result.

use super::counts::GroupCounts;
use super::machine::{Machine, NEWER, OLDER};
use super::plan::GroupTheme;
use super::trio::{GroupSim, NODES};
use crate::Failure;
use crate::world::CheckResult;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The result of a run without a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupReport {
    /// A hash of the trace: equal for equal runs.
    pub hash: u64,
    /// Counts of the run's events.
    pub counts: GroupCounts,
}

/// Runs one seed. Fails with the first fault that a check or a panic of the code shows.
pub fn run(theme: GroupTheme, seed: u64) -> Result<GroupReport, Failure> {
    let mut trio = GroupSim::new(theme, seed);
    let done = catch_unwind(AssertUnwindSafe(|| trio.run()));
    let trace = trio.trace.clone();
    let why = match done {
        Ok(Ok(())) => return Ok(GroupReport { hash: trace.hash(), counts: trio.counts }),
        Ok(Err(why)) => why,
        Err(panic) => {
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string));
            format!("panic: {}", text.unwrap_or_default())
        }
    };
    let why = format!("{} seed {seed}: {why}\n{:?}", theme.name(), trio.plan);
    Err(Failure { why, tail: trace.tail() })
}

impl GroupSim {
    fn run(&mut self) -> CheckResult {
        let speaks = if self.versions.one_in(2) { OLDER } else { NEWER };
        for _ in 0..NODES {
            self.add_node()?;
            self.machines.values_mut().for_each(|machine| machine.speaks = speaks);
        }
        // The group forms before any fault is injected.
        self.settle()?;
        self.is_calm = false;
        for machine in self.machines.values() {
            machine.disk.inject(self.plan.faults);
        }
        for _ in 0..self.plan.steps {
            self.step()?;
        }
        if self.plan.loses {
            self.lose_one_more()?;
        }
        self.heal()?;
        self.counts.entries = self.truth.len();
        Ok(())
    }

    fn step(&mut self) -> CheckResult {
        self.fail()?;
        match self.random.below(20) {
            0 | 1 => self.tick_one(),
            2..6 => {
                for _ in 0..3 {
                    self.deliver()?;
                }
                Ok(())
            }
            6..9 => match self.one(|machine| machine.is_up() && !machine.is_stalled) {
                Some(id) => self.work(id),
                None => Ok(()),
            },
            9..13 => match self.one(Machine::is_up) {
                Some(id) => self.process_inputs(id),
                None => Ok(()),
            },
            13..16 => match self.one(Machine::is_up) {
                Some(id) => self.turn(id),
                None => Ok(()),
            },
            16 => self.background(),
            _ => {
                let client = self.random.below(self.clients.len());
                self.ask(client)
            }
        }
    }

    fn tick_one(&mut self) -> CheckResult {
        let Some(id) = self.one(Machine::is_up) else { return Ok(()) };
        self.tick(id)
    }

    /// Delivers one of the oldest packets.
    fn deliver(&mut self) -> CheckResult {
        let double = self.plan.double > 0 && self.random.one_in(self.plan.double);
        let machines = &self.machines;
        // Packets to a paused node wait.
        let takes = |to| machines.get(&to).is_some_and(|machine: &Machine| !machine.is_paused);
        let reach = self.plan.reach;
        let packet = self.network.remove_packet(&mut self.random, reach, double, takes);
        let Some(packet) = packet else { return Ok(()) };
        self.receive(packet.from, packet.to, &packet.bytes)?;
        if self.is_lazy() || self.random.one_in(4) { Ok(()) } else { self.act(packet.to) }
    }

    /// Runs a step of a background thread: recovers a shard that waits for it, and sends a part of a snapshot.
    fn background(&mut self) -> CheckResult {
        if let Some(id) = self.one(|machine| {
            machine.is_up() && machine.running.as_ref().is_some_and(|r| r.rebuild.is_some())
        }) && (self.plan.rebuild == 0 || self.random.one_in(self.plan.rebuild))
        {
            self.rebuild(id)?;
        }
        let sendings = self.sendings();
        if !sendings.is_empty() {
            let (from, to) = self.random.pick(&sendings);
            self.send_part(from, to);
            // Ends the receiver if its disk has stopped.
            self.act(to)?;
        }
        Ok(())
    }
}
