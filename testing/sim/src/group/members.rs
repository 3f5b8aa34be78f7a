//! Changes of the members, decided as in the host of a server: a new node becomes a learner and gets a vote when it has
//! caught up, and a replaced node is removed.

use super::trio::GroupSim;
use scurry_codec::{GroupMember, GroupMembers};
use scurry_consensus::replica::{Members, NodeId};
use scurry_consensus::shard::Plan;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// The number of entries that a node may lack when it gets a vote.
const LAG_MAX: u64 = 256;

impl GroupSim {
    /// Lets a leader propose the next change of members. A leader without its memory instead passes leadership on.
    pub(super) fn propose_membership(&mut self, id: NodeId) {
        let wanted = self.ids(|machine| !machine.is_gone);
        let with_memory = self.ids(|machine| {
            machine.running.as_ref().is_some_and(|running| !running.group.lacks_memory())
        });
        let Some(machine) = self.machines.get_mut(&id) else { return };
        let Some(running) = machine.running.as_mut() else { return };
        let members = running.group.replica.membership().members.clone();
        // A leader without its memory cannot serve: it passes leadership to a voter that lacks few entries, and rather to
        // one that has its memory, as the heir of a server's node does.
        if running.group.lacks_memory() {
            let others = members.voters().iter().copied().filter(|node| *node != id);
            let ranked = others.filter_map(|node| {
                let lag = running.group.lag(node).filter(|lag| *lag <= LAG_MAX)?;
                Some((!with_memory.contains(&node), lag, node))
            });
            if let Some((.., to)) = ranked.min() {
                running.group.hand_over_if_settled(to);
            }
            return;
        }
        if !running.group.leads() || !running.group.is_settled() {
            return;
        }
        let (voters, learners) = (members.voters().to_vec(), members.learners().to_vec());
        // One change at a time: a new node becomes a learner (and replaced nodes go), a learner that has caught up
        // gets a vote, or replaced nodes are removed.
        let stays = |node: &NodeId| wanted.contains(node) || *node == id;
        let new = wanted.iter().find(|node| !members.iter().any(|member| member == **node));
        let caught_up = learners.iter().find(|node| {
            wanted.contains(node) && running.group.lag(**node).is_some_and(|lag| lag <= LAG_MAX)
        });
        let (voters, learners): (Vec<NodeId>, Vec<NodeId>) = if let Some(new) = new {
            let voters = voters.into_iter().filter(stays).collect();
            (voters, learners.into_iter().filter(stays).chain([*new]).collect())
        } else if let Some(node) = caught_up {
            let learners = learners.iter().filter(|other| *other != node).copied().collect();
            (voters.into_iter().chain([*node]).collect(), learners)
        } else if members.iter().any(|node| !stays(&node)) {
            (
                voters.into_iter().filter(stays).collect(),
                learners.into_iter().filter(stays).collect(),
            )
        } else {
            return;
        };
        if let Ok(plan) = change(&voters, &learners) {
            self.trace.add(format!("{id} wants {voters:?} to vote and {learners:?} to learn"));
            running.group.plan(plan);
        }
    }

    /// Reports whether the members that the leader knows are exactly the present nodes, and all have a vote.
    pub(super) fn is_whole(&self, leader: NodeId) -> bool {
        let wanted = self.ids(|machine| !machine.is_gone);
        let machine = &self.machines[&leader];
        let Some(running) = machine.running.as_ref() else { return false };
        let membership = running.group.replica.membership();
        let mut voters = membership.members.voters().to_vec();
        voters.sort_unstable();
        running.group.is_settled() && !membership.is_joint() && voters == wanted
    }
}

fn change(voters: &[NodeId], learners: &[NodeId]) -> Result<Plan, String> {
    let members = Members::new(voters.iter().copied(), learners.iter().copied());
    let ip = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let member = |(id, votes): (&NodeId, bool)| GroupMember {
        id: id.get(),
        votes,
        peer: SocketAddr::new(ip, 1),
        ip,
        main: 1,
        cores: vec![1],
    };
    let voters = voters.iter().map(|id| (id, true));
    let all = voters.chain(learners.iter().map(|id| (id, false))).map(member).collect();
    let record = GroupMembers { members: all };
    Ok(Plan::Change { members: members.map_err(|error| error.to_string())?, record })
}
