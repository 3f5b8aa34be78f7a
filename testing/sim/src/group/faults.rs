//! Faults of nodes, clocks, disks and connections.

use super::machine::Machine;
use super::trio::{GroupSim, NODES};
use crate::world::CheckResult;
use scurry_consensus::replica::NodeId;
use scurry_consensus::shard::Plan;

impl GroupSim {
    fn happens(&mut self, once_in: usize) -> bool {
        once_in > 0 && self.random.one_in(once_in)
    }

    /// Returns the leader in half of the cases, if there is one; otherwise a random node for which `holds` is true.
    fn leader_or(&mut self, holds: impl Fn(&Machine) -> bool) -> Option<NodeId> {
        let leader = if self.random.one_in(2) { self.leader() } else { None };
        leader.or_else(|| self.one(holds))
    }

    /// Injects the faults of this step.
    pub(super) fn fail(&mut self) -> CheckResult {
        if self.happens(self.plan.lose) {
            self.network.lose(&mut self.random);
        }
        if self.happens(self.plan.cut) {
            self.cut();
        }
        if self.happens(self.plan.pause) {
            self.pause();
        }
        if self.happens(self.plan.crash)
            && let Some(id) = self.leader_or(|machine| machine.running.is_some())
        {
            if self.random.one_in(2) {
                let operations = self.random.below(14) as u64;
                self.machines[&id].disk.stop_after(operations);
            } else {
                let crash = self.random.pick(self.plan.crashes);
                self.crash(id, crash);
            }
        }
        if self.random.one_in(60)
            && let Some(id) = self.one(|machine| machine.running.is_none() && !machine.is_gone)
        {
            self.start(id)?;
        }
        if self.happens(self.plan.clock)
            && let Some(id) = self.one(|_| true)
            && let Some(machine) = self.machines.get_mut(&id)
        {
            machine.clock += self.random.pick(&[-100_000, -3_000, -40, 17, 400, 5_000, 100_000]);
            self.trace.add(format!("the clock of {id} jumps to {}", machine.clock));
        }
        if self.happens(self.plan.stall)
            && let Some(id) = self.leader_or(|machine| !machine.is_gone)
        {
            let is_stalled = self.machines[&id].is_stalled;
            // At most one disk stalls at a time.
            self.machines.values_mut().for_each(|machine| machine.is_stalled = false);
            if let Some(machine) = self.machines.get_mut(&id) {
                machine.is_stalled = !is_stalled;
            }
        }
        if self.happens(self.plan.transfer) {
            self.transfer();
        }
        if self.happens(self.plan.replace) {
            self.replace()?;
        }
        Ok(())
    }

    fn cut(&mut self) {
        let all = self.ids(|_| true);
        let Some(id) = self.leader_or(|_| true) else { return };
        self.trace.add(format!("ways of {id} change"));
        match self.random.below(5) {
            0 | 1 => self.network.cuts.clear(),
            2 => self.network.cut(id, &all, true, false),
            3 => self.network.cut(id, &all, false, true),
            _ => self.network.cut(id, &all, true, true),
        }
    }

    fn pause(&mut self) {
        // At most one node is paused at a time, mostly until the others have a leader.
        let id = match self.one(|machine| machine.is_paused) {
            Some(paused) => {
                Some(paused).filter(|_| self.leader().is_some() || self.random.one_in(8))
            }
            None => self.leader_or(|machine| machine.running.is_some()),
        };
        let Some(machine) = id.and_then(|id| self.machines.get_mut(&id)) else { return };
        if machine.running.is_none() {
            return;
        }
        machine.is_paused = !machine.is_paused;
        let (id, is_paused) = (machine.id, machine.is_paused);
        self.counts.resumed_leaders += u64::from(!is_paused && machine.leads());
        self.trace.add(format!("{id} stands still: {is_paused}"));
    }

    fn transfer(&mut self) {
        let Some(leader) = self.leader() else { return };
        let Some(to) = self.one(|machine| machine.id != leader && !machine.is_gone) else { return };
        let machine = self.machines.get_mut(&leader);
        let Some(running) = machine.and_then(|machine| machine.running.as_mut()) else { return };
        let votes = running.group.replica.membership().members.voters().contains(&to);
        if running.group.leads() && running.group.is_settled() && votes {
            self.trace.add(format!("{leader} is to hand over to {to}"));
            running.group.plan(Plan::Transfer(to));
            self.counts.transfers += 1;
        }
    }

    /// Replaces a node by an empty one. The old node is lost with its disk, or runs until the group removes it. Does
    /// nothing while the last replacement has no vote.
    fn replace(&mut self) -> CheckResult {
        let Some(leader) = self.leader().filter(|leader| self.is_whole(*leader)) else {
            return Ok(());
        };
        if !self.truth.has_settled() {
            return Ok(());
        }
        let others = self.one(|machine| machine.id != leader && !machine.is_gone);
        let Some(id) = others.filter(|_| self.ids(|machine| !machine.is_gone).len() == NODES)
        else {
            return Ok(());
        };
        let Some(machine) = self.machines.get_mut(&id) else { return Ok(()) };
        machine.is_gone = true;
        self.trace.add(format!("{id} is gone"));
        if self.random.one_in(2) {
            machine.end();
        }
        self.counts.joined += 1;
        self.add_node()?;
        let faults = self.plan.faults;
        if let Some(machine) = self.machines.values().last() {
            machine.disk.inject(faults);
        }
        Ok(())
    }
}
