//! The end of a run: without faults the nodes must agree, serve, and hold the same state.

use super::asks::RequestContent;
use super::machine::Machine;
use super::trio::GroupSim;
use crate::audit::{audit, entries_of};
use crate::world::CheckResult;
use scurry_consensus::replica::{NodeId, Sequence};
use scurry_ledger::Time;

/// The rounds within which the nodes must have a leader, serve and agree. A round is a tick of every node.
const ROUNDS_MAX: usize = 400;
/// The passes within which the packets, stores and turns of a round must end.
const PASSES_MAX: usize = 1_000;
/// The rounds within which a node that has its memory must serve.
const SERVED_MAX: usize = 200;

impl GroupSim {
    /// Ticks every node, and processes everything that follows from it.
    pub(super) fn round(&mut self) -> CheckResult {
        for id in self.ids(Machine::is_up) {
            self.tick(id)?;
        }
        for _ in 0..PASSES_MAX {
            let packets = self.network.take_all();
            let mut is_idle = packets.is_empty();
            for packet in packets {
                self.receive(packet.from, packet.to, &packet.bytes)?;
            }
            for id in self.ids(Machine::is_up) {
                self.act(id)?;
                is_idle &= !self.go_on(id)?;
            }
            for (from, to) in self.sendings() {
                is_idle &= !self.send_part(from, to);
                self.act(to)?;
            }
            if is_idle {
                return Ok(());
            }
        }
        Err("the nodes never come to rest".to_owned())
    }

    /// Does everything that a node can do without a tick. Returns true if there was something to do.
    fn go_on(&mut self, id: NodeId) -> Result<bool, String> {
        let before = self.trace.lines();
        let has_task = self.with(id, |_, machine| {
            Ok(machine.running.as_mut().is_some_and(|running| running.has_task()))
        })?;
        if has_task {
            self.work(id)?;
        }
        let is_asked = self.machines[&id].running.as_ref().is_some_and(|r| !r.inputs.is_empty());
        self.process_inputs(id)?;
        self.turn(id)?;
        self.rebuild(id)?;
        Ok(has_task || is_asked || self.trace.lines() != before || !self.network.is_empty())
    }

    /// Forms a group of all nodes, before faults begin.
    pub(super) fn settle(&mut self) -> CheckResult {
        for _ in 0..ROUNDS_MAX {
            self.round()?;
            if self.leader().is_some_and(|leader| self.is_whole(leader)) {
                return Ok(());
            }
        }
        Err(format!("no group came to be:\n{}", self.tell()))
    }

    /// Ends all faults, and checks that the nodes then serve and agree.
    pub(super) fn heal(&mut self) -> CheckResult {
        self.trace.add("nothing fails any more".to_owned());
        self.is_calm = true;
        self.network.cuts.clear();
        for machine in self.machines.values_mut() {
            machine.disk.clear_faults();
            machine.disk.stop_after(u64::MAX);
            (machine.is_paused, machine.is_stalled) = (false, false);
            // A node that was replaced is not started again.
            if machine.is_gone {
                machine.end();
            }
        }
        for id in self.ids(|machine| !machine.is_gone) {
            // `act` ends a node after its disk has stopped, so that it can be started again.
            self.act(id)?;
            self.start(id)?;
        }
        self.give_up();
        self.check_service_during_rebuild()?;
        for _ in 0..ROUNDS_MAX {
            self.round()?;
            for id in self.ids(|machine| !machine.is_gone) {
                // A node may have ended in this round because of an earlier error of its disk.
                self.start(id)?;
            }
            let Some(leader) = self.leader() else { continue };
            if self.is_answered() {
                if self.is_whole(leader) && self.agree() {
                    return self.is_same();
                }
                // The nodes have to serve while they catch up.
                for client in 0..self.clients.len() {
                    self.send(
                        client,
                        leader,
                        if client == 0 { RequestContent::Audit } else { RequestContent::Key },
                    );
                }
            } else if self.random.one_in(20) {
                // The node that has the request may have ended or lost its leadership: clients ask again.
                self.give_up();
            }
        }
        let nodes = self.tell();
        Err(format!("the nodes do not agree and serve after {ROUNDS_MAX} rounds:\n{nodes}"))
    }

    /// Checks that the group serves while recoveries of shards are postponed, if a voter has its memory. A recovery may
    /// take long, and the other nodes must not wait for it.
    fn check_service_during_rebuild(&mut self) -> CheckResult {
        self.rebuilds_wait = true;
        let mut is_served = false;
        for _ in 0..SERVED_MAX {
            self.round()?;
            is_served = self.leader().is_some();
            if is_served {
                break;
            }
        }
        let mut running = self.machines.values().filter_map(|machine| machine.running.as_ref());
        let could = running.clone().any(|running| {
            let membership = running.group.replica.membership();
            membership.has_vote(running.group.replica.id()) && !running.group.lacks_memory()
        });
        let waits = running.any(|running| running.group.lacks_memory());
        self.counts.beside += u64::from(is_served && waits);
        self.rebuilds_wait = false;
        if could && !is_served {
            let nodes = self.tell();
            return Err(format!("a node that has its memory does not come to serve:\n{nodes}"));
        }
        Ok(())
    }

    /// Describes the nodes, in some lines for each.
    pub(super) fn tell(&self) -> String {
        let tell = |machine: &Machine| {
            let running = machine.running.as_ref();
            let view = running.map(|running| running.group.view());
            let membership = running.map(|running| running.group.replica.membership());
            let standing = running.map(|running| running.group.replica.standing());
            let shows = running.map(|running| running.shard.sequence());
            format!("{}: {view:?}\n{standing:?} {membership:?}\n{shows:?}\n", machine.id)
        };
        self.machines.values().map(tell).collect()
    }

    /// Reports whether all members show and have stored all that is committed. A member in doubt does not agree: it may
    /// show the same sequence, but of records that are not committed.
    fn agree(&self) -> bool {
        let sequence = Sequence(self.truth.sequence());
        let members = self.machines.values().filter(|machine| !machine.is_gone);
        members.filter_map(|machine| machine.running.as_ref()).all(|running| {
            let view = running.group.view();
            let ends = (view.committed, view.stored, Sequence(running.shard.sequence()));
            ends == (sequence, sequence, sequence) && !running.is_in_doubt
        })
    }

    /// Checks that every member has the same entries, byte for byte, and shows the state of the models.
    fn is_same(&mut self) -> CheckResult {
        let sequence = self.truth.sequence();
        let world = self.truth.world(sequence).ok_or("the end is not known")?;
        let running =
            |machine: &Machine| machine.running.as_ref().map_or(0, |running| running.latest);
        let latest = self.machines.values().map(running).max().unwrap_or(0);
        let now = Time(latest.max(world.at));
        let mut first: Option<Vec<String>> = None;
        for machine in self.machines.values_mut().filter(|machine| !machine.is_gone) {
            let id = machine.id;
            let running = machine.running.as_mut().ok_or_else(|| format!("{id} is down"))?;
            audit(&mut running.shard, &world, now)
                .map_err(|why| format!("{id} at the end: {why}"))?;
            let entries = entries_of(&running.shard, now);
            match &first {
                None => first = Some(entries),
                Some(first) if *first == entries => {}
                Some(first) => {
                    return Err(format!("{id} holds {entries:#?}\nand another node {first:#?}"));
                }
            }
        }
        Ok(())
    }
}
