//! The loss of one more node: faults that exist stay, and if the group's `Outlook` reports that it can lose any one
//! node, the others must serve without it.

use super::machine::Machine;
use super::trio::GroupSim;
use crate::world::CheckResult;
use scurry_consensus::replica::NodeId;
use scurry_consensus::shard::{Health, LostNodeCheck, Voter};
use std::collections::BTreeMap;

/// The rounds after which all nodes have noticed the faults.
const NOTICED: usize = 60;
/// The rounds within which the other nodes must serve.
const SERVES: usize = 200;

impl GroupSim {
    /// Loses the leader or another node, if the leader reports that any one node can be lost.
    pub(super) fn lose_one_more(&mut self) -> CheckResult {
        self.freeze()?;
        for _ in 0..NOTICED {
            self.round()?;
        }
        let Some(leader) = self.leader() else { return Ok(()) };
        match self.outlook(leader) {
            Some(why) => {
                self.trace.add(format!("{leader} says that no node may be lost: {why}"));
                self.counts.warned += 1;
            }
            None => self.lose(leader)?,
        }
        self.rebuilds_wait = false;
        Ok(())
    }

    /// Stops injecting faults, and keeps the existing ones.
    fn freeze(&mut self) -> CheckResult {
        self.trace.add("what is wrong stays as it is".to_owned());
        self.is_calm = true;
        for machine in self.machines.values_mut() {
            machine.disk.clear_faults();
            machine.disk.stop_after(u64::MAX);
        }
        self.rebuilds_wait = true;
        let down = self.ids(|machine| machine.running.is_none() && !machine.is_gone);
        // A group with two nodes down does not serve, so start some.
        for id in down {
            if self.random.one_in(2) {
                self.start(id)?;
            }
        }
        if self.random.one_in(2) {
            self.network.cuts.clear();
            self.machines.values_mut().for_each(|machine| machine.is_paused = false);
        }
        // A cut between two nodes, in one direction or both.
        if self.random.one_in(3)
            && let (Some(one), Some(other)) = (self.one(|_| true), self.one(|_| true))
            && one != other
        {
            self.network.cuts.insert((one, other));
            if self.random.one_in(2) {
                self.network.cuts.insert((other, one));
            }
        }
        Ok(())
    }

    /// Returns why no node may be lost, computed from the reports of the nodes as the leader of a server does; None if
    /// any one may be lost.
    fn outlook(&self, leader: NodeId) -> Option<String> {
        let machines = self.machines.values();
        let healths: BTreeMap<NodeId, Health> =
            machines.filter_map(|machine| Some((machine.id, self.health(machine)?))).collect();
        let group = &self.machines[&leader].running.as_ref()?.group;
        let mut voters = group.replica.membership().members.voters().to_vec();
        voters.sort_unstable();
        if voters.len() < 3 || !group.is_settled() {
            return Some("too few have a vote, or a change is under way".to_owned());
        }
        let reaches =
            |id: &NodeId| *id == leader || !self.is_cut(*id, leader) && healths.contains_key(id);
        let voter = |id: &NodeId| Voter {
            id: *id,
            health: healths.get(id).filter(|_| reaches(id)),
            is_behind: group.is_node_behind(*id),
            stands_still: group.is_node_stalled(*id),
        };
        LostNodeCheck { leader, voters: voters.iter().map(voter).collect() }.why_not()
    }

    /// Returns the health that a node reports; None if it is down or paused.
    fn health(&self, machine: &Machine) -> Option<Health> {
        let group = &machine.running.as_ref().filter(|_| machine.is_up())?.group;
        let is_heard = |other: &&Machine| {
            other.id != machine.id && other.is_up() && !self.is_cut(other.id, machine.id)
        };
        Some(Health {
            stores: group.stores(),
            could_lead: group.could_lead(),
            observes: false,
            voters: group.voters().unwrap_or_default().to_vec(),
            hears: self.machines.values().filter(is_heard).map(|other| other.id).collect(),
        })
    }

    fn is_cut(&self, from: NodeId, to: NodeId) -> bool {
        self.network.cuts.contains(&(from, to))
    }

    /// Loses the leader or another node, and checks that the others serve.
    fn lose(&mut self, leader: NodeId) -> CheckResult {
        let lost = match self.random.one_in(3) {
            false => leader,
            true => self.one(|machine| !machine.is_gone).unwrap_or(leader),
        };
        let Some(term) = self.term_of(leader) else { return Ok(()) };
        let crash = self.random.pick(self.plan.crashes);
        self.crash(lost, crash);
        self.counts.tolerated_losses += 1;
        for _ in 0..SERVES {
            self.round()?;
            let Some(serves) = self.leader() else { continue };
            // After the loss of the leader only a leadership of a later term counts.
            if lost != leader || self.term_of(serves).is_some_and(|new| new > term) {
                return Ok(());
            }
        }
        Err(format!(
            "{lost} is lost, which {leader} had said that it can be, and nobody serves:\n{}",
            self.tell()
        ))
    }

    /// Returns the term in which a node leads; None if it does not lead.
    fn term_of(&self, id: NodeId) -> Option<u64> {
        let (lead, _) = self.machines.get(&id)?.running.as_ref()?.lead.as_ref()?;
        Some(lead.term)
    }
}
