//! The members of the group: admits nodes that ask to join, gives them a vote when they have caught up, removes
//! members, and writes the members to the directory.

use crate::peers::{self, Accepted, JoinAnswer, JoinReply, JoinRequest, Peers};
use crate::view::{Addresses, too_few_without};
use scurry_codec::{GroupMember, GroupMembers};
use scurry_consensus::replica::{Members, NodeId};
use scurry_consensus::shard::{Health, HealthTable, Plan, ShardGroup};
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

/// Most entries that a node may lack in each shard to get a vote, and in all shards together to become leader.
pub(super) const LAG_MAX: u64 = 256;
/// How many times as long as another node an observer may be silent.
const OBSERVER_TIMES: u64 = 30;
/// Most nodes with a vote: two of five may be lost, and each commit waits for three.
const VOTERS_MAX: usize = 5;

/// A change that an operator requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperatorRequest {
    /// Make this node the leader.
    Transfer(NodeId),
    /// Remove this node from the group.
    Remove(NodeId),
}

impl OperatorRequest {
    /// Returns the node that it is about.
    pub fn node(self) -> NodeId {
        let (OperatorRequest::Transfer(id) | OperatorRequest::Remove(id)) = self;
        id
    }
}

/// Returns the nodes that have a vote in all shards. None if the shards differ or a change is in progress.
pub(super) fn in_force(groups: &[ShardGroup]) -> Option<&[NodeId]> {
    let first = groups.first()?.voters()?;
    groups.iter().all(|group| group.voters() == Some(first)).then_some(first)
}

/// Returns the members of a record of the log, each with its addresses and whether it votes.
fn of_log(members: &GroupMembers) -> BTreeMap<NodeId, (Addresses, bool)> {
    let member = |member: &GroupMember| {
        let GroupMember { id, votes, peer, ip, main, cores } = member.clone();
        Some((NodeId::new(id)?, (Addresses { peer, ip, main, cores }, votes)))
    };
    members.members.iter().filter_map(member).collect()
}

/// Writes the members to the directory, durably.
pub(super) type Write = Box<dyn FnMut(&GroupMembers) -> Result<(), String> + Send>;

/// The members, as the log of the first shard names them, with the addresses that they report themselves.
pub(super) struct Membership {
    node: NodeId,
    known: BTreeMap<NodeId, (Addresses, bool)>,
    /// The addresses of this node since its start.
    own: Addresses,
    /// Addresses that members have reported and that differed from those in the log at that time.
    told: BTreeMap<NodeId, Addresses>,
    /// The members in the log when [`Membership::learn`] last read them. None before that.
    named: Option<GroupMembers>,
    /// Whether a member has reported other addresses since the last [`Membership::look`].
    has_news: bool,
    connected: BTreeSet<NodeId>,
    /// The newest health of each other node.
    healths: HealthTable,
    /// Nodes that were last logged as having a vote. Only changes that survive the loss of the leader are logged.
    voting: Vec<NodeId>,
    asking: Vec<(JoinRequest, JoinReply)>,
    /// The answer to a node that joins. Its members are filled in when it is sent.
    accepted: Accepted,
    write: Write,
    /// True when this node is to have no vote.
    observes: bool,
}

impl Membership {
    pub(super) fn new(
        (node, own): (NodeId, Addresses),
        members: &GroupMembers,
        accepted: Accepted,
        healths: HealthTable,
        (write, observes): (Write, bool),
    ) -> Membership {
        let mut membership = Membership {
            node,
            known: BTreeMap::new(),
            own,
            told: BTreeMap::new(),
            named: None,
            has_news: false,
            connected: BTreeSet::new(),
            healths,
            voting: Vec::new(),
            asking: Vec::new(),
            accepted,
            write,
            observes,
        };
        membership.set_from_log(members, &BTreeSet::new());
        membership
    }

    pub(super) fn node(&self) -> NodeId {
        self.node
    }

    pub(super) fn known(&self) -> impl Iterator<Item = (NodeId, &Addresses, bool)> {
        self.known.iter().map(|(id, (addresses, votes))| (*id, addresses, *votes))
    }

    /// Reports whether no other node has a vote.
    pub(super) fn is_alone(&self) -> bool {
        self.known.iter().all(|(id, (_, votes))| *id == self.node || !votes)
    }

    pub(super) fn is_connected(&self, node: NodeId) -> bool {
        self.connected.contains(&node)
    }

    pub(super) fn connected(&mut self, node: NodeId, is: bool) {
        if is {
            self.connected.insert(node);
        } else {
            self.connected.remove(&node);
            self.healths.forget(node);
        }
    }

    /// Reports whether this is the own node, or a connected one that is not silent.
    pub(super) fn is_reached(&self, node: NodeId) -> bool {
        node == self.node || self.is_connected(node) && !self.is_silent(node)
    }

    /// Reports whether a node has sent its health before and has stopped sending it. No election waits for an observer,
    /// whose link may be thin.
    pub(super) fn is_silent(&self, node: NodeId) -> bool {
        let observes = self.observes || self.healths.observes(node);
        self.healths.is_silent(node, if observes { OBSERVER_TIMES } else { 1 })
    }

    /// Returns the newest health of each other node.
    pub(super) fn healths(&mut self) -> &mut HealthTable {
        &mut self.healths
    }

    /// Returns the recent health of another node. None if it is not connected, or has not sent any lately.
    pub(super) fn health(&self, node: NodeId) -> Option<&Health> {
        self.healths.health_of(node).filter(|_| self.is_connected(node))
    }

    /// Returns true for another node that is to have no vote, as far as it has told.
    pub(super) fn observes(&self, node: NodeId) -> bool {
        self.healths.observes(node)
    }

    /// Returns the health that this node sends to the others.
    pub(super) fn own_health(&self, groups: &[ShardGroup]) -> Health {
        Health {
            stores: groups.iter().all(ShardGroup::stores),
            could_lead: groups.iter().all(ShardGroup::could_lead),
            observes: self.observes,
            voters: in_force(groups).unwrap_or_default().to_vec(),
            hears: self.connected.iter().copied().filter(|id| self.health(*id).is_some()).collect(),
        }
    }

    /// Reports whether the change to these voters is complete: all shards of this node have them in force, and so has a
    /// majority of the voters, which would hold an election with them.
    pub(super) fn are_known(&self, groups: &[ShardGroup], voters: &[NodeId]) -> bool {
        let knows = |id: &&NodeId| match **id == self.node {
            true => in_force(groups) == Some(voters),
            false => self.health(**id).is_some_and(|health| health.voters == voters),
        };
        in_force(groups) == Some(voters) && voters.iter().filter(knows).count() > voters.len() / 2
    }

    /// Reports whether the other voters could elect a leader without this node: each of a majority of the voters is one of
    /// them, and has the voters in force.
    pub(super) fn could_go_on_alone(&self, groups: &[ShardGroup]) -> bool {
        let Some(voters) = in_force(groups) else { return false };
        let knows = |id: &&NodeId| {
            **id != self.node
                && self.health(**id).is_some_and(|health| health.voters == voters && health.stores)
        };
        voters.iter().filter(knows).count() > voters.len() / 2
    }

    /// Logs which nodes have got or lost a vote, once that holds whichever node leads. Until then the loss of the
    /// leader may undo the change, and the remaining nodes would count votes as before.
    fn announce(&mut self, groups: &[ShardGroup]) {
        let Some(voters) = in_force(groups) else { return };
        // Only the node that leads all shards logs the change. The others take the voters in force as already logged.
        if self.voting.is_empty() || !groups.iter().all(ShardGroup::leads) {
            self.voting = voters.to_vec();
        }
        if self.voting == voters || !self.are_known(groups, voters) {
            return;
        }
        for id in voters.iter().filter(|id| !self.voting.contains(id)) {
            tracing::info!(node = %id, "a node has a vote");
        }
        for id in self.voting.iter().filter(|id| !voters.contains(id)) {
            tracing::info!(node = %id, "a node has no vote any more");
        }
        self.voting = voters.to_vec();
    }

    /// Notes the addresses that a member reports. From now on this node dials it there, and sends clients there.
    pub(super) fn greeted(&mut self, node: NodeId, addresses: &Addresses) {
        if let Some((known, _)) = self.known.get_mut(&node)
            && known != addresses
        {
            tracing::info!(
                node = %node,
                peer = %addresses.peer,
                ip = %addresses.ip,
                port = addresses.main,
                "a node has other addresses than before"
            );
            *known = addresses.clone();
            self.told.insert(node, addresses.clone());
            self.has_news = true;
        }
    }

    /// Returns the members without this node, each with its address for nodes.
    pub(super) fn others(&self) -> Vec<(NodeId, SocketAddr)> {
        let others = self.known.iter().filter(|(id, _)| **id != self.node);
        others.map(|(id, (addresses, _))| (*id, addresses.peer)).collect()
    }

    /// Queues the request of a node that asks to join. It is answered when all shards have the node as a member.
    pub(super) fn ask(&mut self, request: JoinRequest, answer: JoinReply) {
        self.asking.push((request, answer));
    }

    /// Returns the voter, other than this node, that should lead next: first one that could serve at once, then the one
    /// that lacks fewest entries of the shards that are led here, and at most `lag_max`. None if no reached voter
    /// qualifies.
    pub(super) fn transfer_target(&self, groups: &[ShardGroup], lag_max: u64) -> Option<NodeId> {
        let voters = groups.first()?.replica.membership().members.voters().iter().copied();
        let others = voters.filter(|id| *id != self.node && self.is_reached(*id));
        let lag = |id| groups.iter().filter_map(|group| group.lag(id)).sum::<u64>();
        let has_to_wait = |id| !self.health(id).is_some_and(|health| health.could_lead);
        let able = others.map(|id| (has_to_wait(id), lag(id), id));
        able.filter(|(_, lag, _)| *lag <= lag_max).min().map(|(.., id)| id)
    }

    /// Replaces the members by those of the log. Members in `has_a_say` stay: a node that is being removed stays
    /// connected until its removal is committed, since its acknowledgement may be needed for that. A node knows its own
    /// addresses better than the log. So does a member that has reported its addresses, until the log names other
    /// addresses of it.
    fn set_from_log(&mut self, members: &GroupMembers, has_a_say: &BTreeSet<NodeId>) {
        let logged = of_log(members);
        let before = self.named.as_ref().map(of_log).unwrap_or_default();
        let is_as_before = |id: &NodeId| {
            let now = logged.get(id).map(|(now, _)| now);
            before.get(id).is_none_or(|(before, _)| now == Some(before))
        };
        self.told.retain(|id, _| is_as_before(id));
        self.named = Some(members.clone());
        let before = std::mem::replace(&mut self.known, logged);
        for (id, member) in before.into_iter().filter(|(id, _)| has_a_say.contains(id)) {
            self.known.entry(id).or_insert(member);
        }
        for (id, (addresses, _)) in &mut self.known {
            let better = if *id == self.node { Some(&self.own) } else { self.told.get(id) };
            if let Some(better) = better {
                addresses.clone_from(better);
            }
        }
    }

    /// Reports whether a member has other addresses than those in the log.
    fn has_moved(&self, id: NodeId) -> bool {
        let logged = self.named.as_ref().map(of_log).unwrap_or_default();
        let address = |of: &BTreeMap<NodeId, (Addresses, bool)>| of.get(&id).map(|of| of.0.clone());
        address(&logged).is_some_and(|logged| address(&self.known) != Some(logged))
    }

    /// Returns a change that writes the present addresses of a member to the log, for nodes that the member cannot
    /// reach from there to report them itself. The log names members only in a change of members: the node loses its
    /// vote for a moment, and gets it back as a node that has joined does. This waits while a voter is away, since the
    /// missing vote would then be needed. A leader whose own addresses have changed transfers to a voter whose
    /// addresses have not: that one may reach nodes that do not know this one's new addresses yet.
    fn readdress(&self, groups: &[ShardGroup]) -> Option<Plan> {
        let members = &groups.first()?.replica.membership().members;
        let voters = members.voters();
        let is_there = |id: &NodeId| self.is_reached(*id);
        if self.has_moved(self.node) {
            let stays = |id: &&NodeId| is_there(id) && !self.has_moved(**id);
            return voters.iter().find(stays).map(|to| Plan::Transfer(*to));
        }
        if !voters.iter().all(is_there) {
            return None;
        }
        let moved = *voters.iter().find(|id| self.has_moved(**id))?;
        let others: Vec<_> = voters.iter().copied().filter(|id| *id != moved).collect();
        let learners: Vec<_> = members.learners().iter().copied().chain([moved]).collect();
        self.change(&others, &learners)
    }

    /// Returns the record of these members for the log. None if the addresses of one are not known.
    fn record(&self, voters: &[NodeId], learners: &[NodeId]) -> Option<GroupMembers> {
        let member = |(id, votes): (&NodeId, bool)| {
            let (Addresses { peer, ip, main, cores }, _) = self.known.get(id)?.clone();
            Some(GroupMember { id: id.get(), votes, peer, ip, main, cores })
        };
        let voters = voters.iter().map(|id| (id, true));
        let learners = learners.iter().map(|id| (id, false));
        let members: Option<Vec<_>> = voters.chain(learners).map(member).collect();
        Some(GroupMembers { members: members? })
    }

    /// Returns a change of all shards to these members. None if they are not valid members or an address is not known.
    fn change(&self, voters: &[NodeId], learners: &[NodeId]) -> Option<Plan> {
        let members = Members::new(voters.iter().copied(), learners.iter().copied()).ok()?;
        Some(Plan::Change { members, record: self.record(voters, learners)? })
    }

    /// Reads changes of the members from the log, writes them to the directory, answers nodes that ask to join, and
    /// returns the next change if this node leads.
    pub(super) fn look(&mut self, groups: &mut [ShardGroup], peers: &mut Peers) -> Vec<Plan> {
        let mut changed = std::mem::take(&mut self.has_news);
        for group in groups.iter_mut() {
            changed |= group.take_membership_change();
        }
        let Some(first) = groups.first() else { return Vec::new() };
        if changed {
            // A joining node reads the log from its beginning. The members before its own admission may all be gone.
            // Until the log names this node, it keeps the members that the answer to its join request named, which send
            // it the log.
            let is_own = |named: &&GroupMembers| {
                named.members.iter().any(|member| member.id == self.node.get())
            };
            if let Some(named) = first.named.as_ref().filter(is_own) {
                let in_force = groups.iter().flat_map(|group| group.replica.membership().nodes());
                // A node that is being admitted is not in the log before the cores have paused for the change.
                let asking = self.asking.iter().map(|(request, _)| request.node);
                self.set_from_log(&named.clone(), &in_force.chain(asking).collect());
            }
            let known = self.known.iter().map(|(id, (addresses, votes))| {
                let Addresses { peer, ip, main, cores } = addresses.clone();
                GroupMember { id: id.get(), votes: *votes, peer, ip, main, cores }
            });
            let known = GroupMembers { members: known.collect() };
            if let Err(why) = (self.write)(&known) {
                tracing::error!("the members were not written down: {why}");
            }
            peers.set(&self.others());
        }
        self.answer(groups);
        let leads = groups.iter().all(|group| group.leads() && group.is_settled());
        self.announce(groups);
        if !leads {
            return Vec::new();
        }
        // One change at a time: the next is looked for when this one is in force in all shards.
        let plan = self.admit(groups);
        let plan = plan.or_else(|| self.promote(groups)).or_else(|| self.readdress(groups));
        plan.into_iter().collect()
    }

    /// Answers nodes that are members by now, and redirects those that have asked a node that does not lead.
    fn answer(&mut self, groups: &[ShardGroup]) {
        let Some(first) = groups.first() else { return };
        let leader = first.leader();
        for (request, answer) in std::mem::take(&mut self.asking) {
            let id = request.node;
            let is_in = |group: &ShardGroup| {
                let membership = group.replica.membership();
                !membership.is_joint() && membership.members.iter().any(|member| member == id)
            };
            if leader == Some(self.node) {
                if groups.iter().all(is_in) {
                    answer.send(self.accept());
                } else {
                    self.asking.push((request, answer));
                }
                continue;
            }
            match leader.and_then(|leader| self.known.get(&leader)) {
                Some((addresses, _)) => answer.send(JoinAnswer::Elsewhere(addresses.peer)),
                None => answer.send(JoinAnswer::Later("no node leads this group now".to_owned())),
            }
        }
    }

    fn accept(&self) -> JoinAnswer {
        let members = self.known().map(|(id, addresses, votes)| peers::GroupMember {
            id,
            votes,
            addresses: addresses.clone(),
        });
        let members = members.collect();
        JoinAnswer::Accepted(Box::new(Accepted { members, ..self.accepted.clone() }))
    }

    /// Returns a change that admits the first node in the queue. None if it is a member already or is refused.
    fn admit(&mut self, groups: &[ShardGroup]) -> Option<Plan> {
        let members = groups.first()?.replica.membership().members.clone();
        let (request, _) = self.asking.first()?;
        let id = request.node;
        if members.iter().any(|member| member == id) {
            return None;
        }
        if groups.iter().any(ShardGroup::memory_differs) {
            let (_, answer) = self.asking.remove(0);
            answer.send(JoinAnswer::Later(
                "the memory of two nodes differs, and an empty node would only repeat what the one has that leads: start \
                 the missing node with its own directory (docs/runbooks.md, Memory is wrong)"
                    .to_owned(),
            ));
            return None;
        }
        let gone = match self.replaced_member(groups.len(), &members, request) {
            Ok(gone) => gone,
            Err(refusal) => {
                let (_, answer) = self.asking.remove(0);
                answer.send(refusal);
                return None;
            }
        };
        let addresses = request.addresses.clone();
        self.known.insert(id, (addresses, false));
        let stays = |member: &&NodeId| Some(**member) != gone;
        let voters: Vec<_> = members.voters().iter().filter(stays).copied().collect();
        let mut learners: Vec<_> = members.learners().iter().filter(stays).copied().collect();
        learners.push(id);
        tracing::info!(node = %id, "a node joins");
        self.change(&voters, &learners)
    }

    /// Returns the member that is removed when a node is admitted. None if no member is. An error says why the node is
    /// not admitted, now or at all.
    fn replaced_member(
        &self,
        threads: usize,
        members: &Members,
        request: &JoinRequest,
    ) -> Result<Option<NodeId>, JoinAnswer> {
        let refused = |why: String| Err(JoinAnswer::Refused(why));
        let given = request.addresses.cores.len();
        if given != threads {
            return refused(format!(
                "its nodes have {threads} threads, and this one {given}: start it with --threads {threads}"
            ));
        }
        let peer = request.addresses.peer;
        let at_its_place = self.known.iter().find(|(_, (known, _))| known.peer == peer);
        let at_its_place =
            at_its_place.map(|(id, _)| *id).filter(|id| members.iter().any(|m| m == *id));
        // A learner that was to join at the same address before, and never had a vote.
        let is_abandoned = |id: &NodeId| members.learners().contains(id) && !self.is_connected(*id);
        let lost =
            request.replaces.and_then(NodeId::new).filter(|id| members.iter().any(|m| m == *id));
        match (request.replaces, lost, at_its_place) {
            (Some(_), Some(lost), _) => {
                if self.is_connected(lost) {
                    let why = format!(
                        "node {lost}, whose place it is to take, is connected: stop that one"
                    );
                    return Err(JoinAnswer::Later(why));
                }
                let reached = |id: &NodeId| (*id, self.is_reached(*id));
                match too_few_without(lost, members.voters().iter().map(reached)) {
                    Some(why) => {
                        Err(JoinAnswer::Later(format!("node {lost} cannot go yet: {why}")))
                    }
                    None => Ok(Some(lost)),
                }
            }
            (_, None, Some(id)) if is_abandoned(&id) => Ok(Some(id)),
            (Some(unknown), None, _) => refused(format!(
                "there is no node {unknown:016x} whose place it could take: SCUR.REPLICA STATUS shows the nodes"
            )),
            (None, _, Some(id)) => refused(format!(
                "node {id} is a member at {peer}: its directory is lost, or another one was given. To let a new \
                 node take its place, start this one with --replaces {id}"
            )),
            _ => Ok(None),
        }
    }

    /// Returns a change that gives a vote to a learner that has caught up, unless it only observes.
    fn promote(&self, groups: &[ShardGroup]) -> Option<Plan> {
        let members = &groups.first()?.replica.membership().members;
        if members.voters().len() >= VOTERS_MAX || groups.iter().any(ShardGroup::memory_differs) {
            return None;
        }
        let has_caught_up = |id: &&NodeId| {
            self.health(**id).is_some_and(|health| !health.observes)
                && groups.iter().all(|group| group.lag(**id).is_some_and(|lag| lag <= LAG_MAX))
        };
        let id = *members.learners().iter().find(has_caught_up)?;
        let voters: Vec<_> = members.voters().iter().copied().chain([id]).collect();
        let learners: Vec<_> =
            members.learners().iter().copied().filter(|other| *other != id).collect();
        tracing::info!(node = %id, "a node has caught up and is to get a vote");
        self.change(&voters, &learners)
    }

    /// Returns the change that an operator has requested. The members and the leader may have changed since the request
    /// was sent, so everything is checked here.
    pub(super) fn grant(
        &self,
        request: &OperatorRequest,
        groups: &[ShardGroup],
    ) -> Result<Plan, String> {
        let members = &groups.first().ok_or("there is no shard")?.replica.membership().members;
        match *request {
            OperatorRequest::Transfer(to) if to == self.node => {
                Err("this node leads already".to_owned())
            }
            OperatorRequest::Transfer(to) if !members.voters().contains(&to) => {
                Err("it has no vote".to_owned())
            }
            OperatorRequest::Transfer(to) if !self.is_reached(to) => {
                Err("nothing is heard of it: it is down, stands still or is cut off".to_owned())
            }
            OperatorRequest::Transfer(to) => Ok(Plan::Transfer(to)),
            OperatorRequest::Remove(id) if id == self.node => Err("this node leads".to_owned()),
            OperatorRequest::Remove(id) if !members.iter().any(|member| member == id) => {
                Err("it is no member".to_owned())
            }
            OperatorRequest::Remove(id) => {
                let reached = |id: &NodeId| (*id, self.is_reached(*id));
                if let Some(why) = too_few_without(id, members.voters().iter().map(reached)) {
                    return Err(why);
                }
                let stays = |member: &NodeId| *member != id;
                let voters: Vec<_> = members.voters().iter().copied().filter(stays).collect();
                let learners: Vec<_> = members.learners().iter().copied().filter(stays).collect();
                self.change(&voters, &learners).ok_or("no node would have a vote".to_owned())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(number: u64) -> NodeId {
        NodeId::new(number).unwrap()
    }

    fn at(port: u16) -> Addresses {
        let peer = SocketAddr::from(([10, 0, 0, 1], port));
        Addresses { peer, ip: peer.ip(), main: port + 1, cores: vec![port + 2] }
    }

    /// Returns a record of nodes 1, 2 and so on at these ports.
    fn named(ports: &[u16]) -> GroupMembers {
        let member = |(id, port): (u64, &u16)| {
            let Addresses { peer, ip, main, cores } = at(*port);
            GroupMember { id, votes: true, peer, ip, main, cores }
        };
        GroupMembers { members: (1..).zip(ports).map(member).collect() }
    }

    #[test]
    fn who_tells_where_it_is_reached_knows_better_than_the_log_until_that_names_it_anew() {
        let accepted = Accepted {
            store: 1,
            generation: 1,
            restored: 0,
            founder: node(1),
            threads: 1,
            members: Vec::new(),
        };
        let own = (node(1), at(101));
        let healths = HealthTable::new(1);
        let write: Write = Box::new(|_| Ok(()));
        let mut membership =
            Membership::new(own, &named(&[100, 200, 300]), accepted, healths, (write, false));
        let ports = |membership: &Membership| -> Vec<u16> {
            membership.known().map(|(_, addresses, _)| addresses.peer.port()).collect()
        };
        let moved = |membership: &Membership| [1, 2, 3].map(|id| membership.has_moved(node(id)));
        assert_eq!(ports(&membership), [101, 200, 300], "itself it knows");
        membership.greeted(node(2), &at(201));
        membership.greeted(node(3), &at(300));
        membership.greeted(node(4), &at(400));
        assert_eq!(ports(&membership), [101, 201, 300]);
        assert_eq!(moved(&membership), [true, true, false]);
        let none = BTreeSet::new();
        // The node reads the old log again, and then a record with the reported addresses.
        membership.set_from_log(&named(&[100, 200, 300]), &none);
        assert_eq!(ports(&membership), [101, 201, 300]);
        membership.set_from_log(&named(&[101, 201, 300]), &none);
        assert_eq!(moved(&membership), [false; 3]);
        // Node 2 has moved again, and has reported that to other nodes only.
        membership.set_from_log(&named(&[101, 202, 300]), &none);
        assert_eq!(ports(&membership), [101, 202, 300]);
        assert_eq!(moved(&membership), [false; 3]);
        // A node stays known until its removal is committed, since its acknowledgement may be needed for that.
        membership.set_from_log(&named(&[101, 202]), &BTreeSet::from([node(1), node(2), node(3)]));
        assert_eq!(ports(&membership), [101, 202, 300]);
        membership.set_from_log(&named(&[101, 202]), &BTreeSet::from([node(1), node(2)]));
        assert_eq!(ports(&membership), [101, 202]);
    }
}
