//! A node more is lost: whatever has gone wrong before stays as it is, and where the group says by `Outlook` that it can
//! lose any one, the others must serve.

use super::machine::Machine;
use super::trio::Trio;
use crate::world::Checked;
use scurry_consensus::replica::NodeId;
use scurry_consensus::shard::{Health, Outlook, Voter};
use std::collections::BTreeMap;

/// Ticks after which everybody has noticed what is wrong.
const NOTICED: usize = 60;
/// Ticks within which the others serve.
const SERVES: usize = 200;

impl Trio {
    /// Loses the leader or another node where the one that leads says that it can be lost.
    pub(super) fn lose_one_more(&mut self) -> Checked {
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

    /// Nothing more goes wrong, and what is wrong stays.
    fn freeze(&mut self) -> Checked {
        self.trace.add("what is wrong stays as it is".to_owned());
        self.is_calm = true;
        for machine in self.machines.values_mut() {
            machine.disk.mend();
            machine.disk.stop_after(u64::MAX);
        }
        self.rebuilds_wait = true;
        let down = self.ids(|machine| machine.running.is_none() && !machine.is_gone);
        // Two that are down are a group that does not serve.
        for id in down {
            if self.random.one_in(2) {
                self.start(id)?;
            }
        }
        if self.random.one_in(2) {
            self.network.cuts.clear();
            self.machines.values_mut().for_each(|machine| machine.is_paused = false);
        }
        // One way between two nodes, or both.
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

    /// Why no node may be lost, as the leader of a server says it with what the others have told.
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
            lag: group.lag(*id),
            stands_still: group.stands_still(*id),
        };
        Outlook { leader, voters: voters.iter().map(voter).collect() }.why_not()
    }

    /// The health of a node that goes on.
    fn health(&self, machine: &Machine) -> Option<Health> {
        let group = &machine.running.as_ref().filter(|_| machine.is_up())?.group;
        let is_heard = |other: &&Machine| {
            other.id != machine.id && other.is_up() && !self.is_cut(other.id, machine.id)
        };
        Some(Health {
            stores: group.stores(),
            could_lead: group.could_lead(),
            voters: group.voters().unwrap_or_default().to_vec(),
            hears: self.machines.values().filter(is_heard).map(|other| other.id).collect(),
        })
    }

    fn is_cut(&self, from: NodeId, to: NodeId) -> bool {
        self.network.cuts.contains(&(from, to))
    }

    /// A node of which the group says that it can be lost is lost: the others serve.
    fn lose(&mut self, leader: NodeId) -> Checked {
        let lost = match self.random.one_in(3) {
            false => leader,
            true => self.one(|machine| !machine.is_gone).unwrap_or(leader),
        };
        let Some(term) = self.term_of(leader) else { return Ok(()) };
        let crash = self.random.pick(self.plan.crashes);
        self.crash(lost, crash);
        self.counts.borne += 1;
        for _ in 0..SERVES {
            self.round()?;
            let Some(serves) = self.leader() else { continue };
            if lost != leader || self.term_of(serves).is_some_and(|new| new > term) {
                return Ok(());
            }
        }
        Err(format!(
            "{lost} is lost, which {leader} had said that it can be, and nobody serves:\n{}",
            self.tell()
        ))
    }

    /// The term in which a node leads.
    fn term_of(&self, id: NodeId) -> Option<u64> {
        let (lead, _) = self.machines.get(&id)?.running.as_ref()?.lead.as_ref()?;
        Some(lead.term)
    }
}
