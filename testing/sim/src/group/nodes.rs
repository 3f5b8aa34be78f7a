//! Adds, starts and crashes nodes.

use super::machine::{Machine, OLDER};
use super::running::{NodeProcess, StartParameters};
use super::trio::GroupSim;
use super::versions::check_version;
use crate::world::CheckResult;
use crate::{Crash, Faults, SimDisk};
use scurry_consensus::replica::{NodeId, Settings};
use scurry_replicas::node;

/// The number of starts that may fail in succession before the disk stops injecting faults.
const STARTS_MAX: usize = 4;

impl GroupSim {
    /// Adds an empty node, and starts it.
    pub(super) fn add_node(&mut self) -> CheckResult {
        self.nodes += 1;
        let id = node(self.nodes);
        let faults = Faults { room: self.plan.faults.room, ..Faults::default() };
        let seed = self.random.next_u64();
        let disk = SimDisk::traced(seed, faults, self.trace.clone(), format!("    {id}: "));
        let clock = 1_700_000_000_000 + self.random.between(-500, 500);
        let machine = Machine::new(id, disk, self.log, clock).map_err(|error| error.to_string())?;
        self.machines.insert(id, machine);
        self.start(id)
    }

    /// Starts a node that is down, with the files on its disk.
    pub(super) fn start(&mut self, id: NodeId) -> CheckResult {
        if !self.is_calm {
            self.draw_version(id);
        }
        for attempt in 0.. {
            let off = self.machines.get(&id).is_some_and(|machine| machine.disk.is_off());
            if off {
                let crash = self.random.pick(self.plan.crashes);
                self.machines[&id].disk.restart(crash);
            }
            let Some(machine) = self.machines.get_mut(&id) else { return Ok(()) };
            if machine.running.is_some() {
                return Ok(());
            }
            if attempt == STARTS_MAX {
                machine.disk.clear_faults();
            } else if !self.is_calm
                && machine.starts > 0
                && self.plan.crash > 0
                && self.random.one_in(4)
            {
                // This start is cut short by another crash.
                machine.disk.stop_after(self.random.below(40) as u64);
            }
            machine.starts += 1;
            let seed = id.get() << 48 ^ machine.starts << 32 ^ self.log.id;
            let settings = Settings { window: self.plan.window, ..Settings::new(id, seed) };
            let errors = machine.disk.errors();
            let terms = StartParameters {
                log: self.log,
                config: self.config.clone(),
                founder: node(1),
                settings,
                segment_len: self.plan.segment_len,
                truth: &mut self.truth,
            };
            match NodeProcess::start(&machine.disk, machine.starts, terms) {
                // The crash that was set above: start again.
                _ if machine.disk.is_off() => {}
                Ok(mut running) => {
                    running.group.let_end(true);
                    if machine.speaks == OLDER && !running.shard.take_compared().is_empty() {
                        return check_version(OLDER, id);
                    }
                    machine.running = Some(Box::new(running));
                    self.trace.add(format!("{id} starts"));
                    return self.act(id);
                }
                // An injected error is a legitimate reason, any other one is a fault.
                Err(why) if machine.disk.errors() > errors => {
                    self.trace.add(format!("{id} does not start: {why}"));
                }
                Err(why) => return Err(format!("{id} does not start: {why}")),
            }
        }
        Ok(())
    }

    /// Crashes a node. It is started again some time later.
    pub(super) fn crash(&mut self, id: NodeId, crash: Crash) {
        let Some(machine) = self.machines.get_mut(&id) else { return };
        self.trace.add(format!("{id} ends: {crash:?}"));
        machine.end();
        machine.disk.restart(crash);
        self.counts.crashes += 1;
    }
}
