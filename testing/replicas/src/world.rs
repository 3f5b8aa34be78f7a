//! The nodes, their disks and the network between them.

use crate::disk::Disk;
use crate::network::{Network, Packet};
use crate::truth::InvariantChecker;
use scurry_consensus::replica::{
    Base, ByteCount, Descriptor, Effects, Index, Members, Membership, Message, NodeId, ReadTicket,
    Recovered, ReplaceError, Replica, Role, RoleAndTerm, Sequence, Settings, Term,
};
use scurry_model::Random;
use std::collections::{BTreeMap, BTreeSet};

/// Returns the id of a node by number.
///
/// # Panics
/// When the number is 0.
pub fn node(number: u64) -> NodeId {
    NodeId::new(number).expect("not 0")
}

/// Simulated node.
pub struct ReplicaNode {
    settings: Settings,
    /// Running replica; None while the node is down.
    pub replica: Option<Replica>,
    /// Disk of the node.
    pub disk: Disk,
    /// True while the node does nothing; it resumes later as if no time had passed.
    pub is_paused: bool,
    /// Role, term and leader that it reported last.
    pub standing: Option<RoleAndTerm>,
    membership: Membership,
    committed: Index,
    /// Pending reads, each with the index that was committed when it was requested.
    reads: BTreeMap<ReadTicket, Index>,
    /// Nodes to which it streams a snapshot.
    streams: BTreeSet<NodeId>,
    starts: u64,
}

impl ReplicaNode {
    /// Reports whether the node runs and is not paused.
    pub fn is_up(&self) -> bool {
        self.replica.is_some() && !self.is_paused
    }

    /// Reports whether the node considers itself the leader.
    pub fn leads(&self) -> bool {
        self.is_up() && self.standing.is_some_and(|standing| standing.role == Role::Leader)
    }
}

/// Counts of events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Messages received.
    pub taken: u64,
    /// Reads confirmed.
    pub reads: u64,
    /// Reads sent to a deposed leader that has no uncommitted entry to wait for.
    pub overtaken: u64,
    /// Stores that truncate the log.
    pub truncations: u64,
    /// Nodes that received a snapshot.
    pub snapshots: u64,
    /// Membership changes that took effect.
    pub memberships: u64,
    /// Digest of everything that was sent, in order; equal seeds give equal digests.
    pub digest: u64,
}

/// The whole simulated system.
pub struct World {
    /// Nodes by id.
    pub nodes: BTreeMap<NodeId, ReplicaNode>,
    /// Network between them.
    pub network: Network,
    /// Checker of the invariants.
    pub truth: InvariantChecker,
    /// Counts of events.
    pub counts: Counts,
    sequence: u64,
}

impl World {
    /// Creates and starts nodes with these settings; `members` says which of them are members.
    pub fn new(settings: Vec<Settings>, members: Members) -> World {
        let mut world = World {
            nodes: BTreeMap::new(),
            network: Network::default(),
            truth: InvariantChecker::default(),
            counts: Counts::default(),
            sequence: 0,
        };
        let base = Base { index: Index(0), term: Term(0), members };
        for settings in settings {
            let membership = Membership { members: base.members.clone(), outgoing: Vec::new() };
            let id = settings.id;
            let node = ReplicaNode {
                settings,
                replica: None,
                disk: Disk::new(base.clone()),
                is_paused: false,
                standing: None,
                membership,
                committed: Index(0),
                reads: BTreeMap::new(),
                streams: BTreeSet::new(),
                starts: 0,
            };
            world.nodes.insert(id, node);
            world.start(id);
        }
        world
    }

    /// Returns the ids of all nodes.
    pub fn ids(&self) -> Vec<NodeId> {
        self.nodes.keys().copied().collect()
    }

    /// Returns a node.
    pub fn at(&mut self, id: NodeId) -> &mut ReplicaNode {
        self.nodes.get_mut(&id).expect("a node")
    }

    /// Returns the replica of a node that is up.
    pub fn replica(&mut self, id: NodeId) -> &mut Replica {
        self.at(id).replica.as_mut().expect("it is up")
    }

    /// Starts a node that is down from the content of its device.
    pub fn start(&mut self, id: NodeId) {
        let node = self.at(id);
        if node.replica.is_some() {
            return;
        }
        // Each start gets another seed, or a restarted node would repeat its election timeouts.
        node.starts += 1;
        let seed = node.settings.seed ^ (node.starts << 32);
        let settings = Settings { seed, ..node.settings.clone() };
        let replica = Replica::new(settings, node.disk.device.clone()).expect("what was stored");
        // The stored commit index may be outside the stored log, so clamp it.
        node.committed = node.disk.device.committed.min(replica.last()).max(replica.base().index);
        node.replica = Some(replica);
        node.is_paused = false;
        self.pump(id);
    }

    /// Cuts the power of a node.
    pub fn crash(&mut self, id: NodeId, random: &mut Random) {
        self.at(id).disk.crash(random);
        self.look_at_disk(id);
        let node = self.at(id);
        node.replica = None;
        node.standing = None;
        node.reads.clear();
        node.streams.clear();
    }

    /// Advances the clock of a node by one tick.
    pub fn tick(&mut self, id: NodeId) {
        self.replica(id).tick();
        self.pump(id);
    }

    /// Delivers a packet to its receiver.
    pub fn deliver(&mut self, packet: &Packet) {
        let message = Message::decode(&packet.bytes).expect("what was sent is a message");
        assert_eq!((message.from(), message.to()), (packet.from, packet.to));
        // Ignore the error: a node that was removed may still send.
        let _ = self.replica(packet.to).receive(message);
        self.counts.taken += 1;
        self.pump(packet.to);
    }

    /// Finishes the first `count` stores on a node's disk.
    pub fn finish(&mut self, id: NodeId, count: usize) {
        let ticket = self.at(id).disk.finish(count);
        self.look_at_disk(id);
        if let Some(ticket) = ticket {
            self.replica(id).stored(ticket);
            self.pump(id);
        }
        self.same(id);
    }

    fn look_at_disk(&mut self, id: NodeId) {
        for (entry, before) in std::mem::take(&mut self.at(id).disk.written) {
            self.truth.is_made(&entry, before);
        }
    }

    /// Asserts that device and replica are equal once no store is queued.
    fn same(&mut self, id: NodeId) {
        let ReplicaNode { replica: Some(replica), disk, .. } = self.at(id) else { return };
        if disk.queue.is_empty() {
            let last = replica.last();
            assert_eq!(disk.last(), last, "the end of the log of {id}");
            assert!(disk.has(last, replica.term_of(last).expect("it is there")));
        }
    }

    /// Appends a frame of this length on a leader. Returns its index, or None when it was refused.
    pub fn append(&mut self, id: NodeId, len: ByteCount) -> Option<Index> {
        self.sequence += 1;
        let first = Sequence(self.sequence * 10);
        let last = Sequence(first.0 + 9);
        let checksum = u32::try_from(self.sequence * 77 % 1_000_003).unwrap_or(0);
        let bound = self.at(id).settings.uncommitted_bytes;
        let replica = self.replica(id);
        let before = replica.uncommitted_bytes();
        let index = replica.append(Descriptor { first, last, len, checksum }).ok();
        if index.is_some() {
            assert!(before == ByteCount(0) || before + len <= bound, "{before} + {len} bytes");
        }
        self.pump(id);
        index
    }

    /// Requests a read from a leader.
    pub fn read(&mut self, id: NodeId) -> Option<ReadTicket> {
        let committed = self.truth.committed();
        let replica = self.replica(id);
        let ticket = replica.read().ok()?;
        let is_overtaken = replica.committed() < committed && replica.committed() == replica.last();
        self.counts.overtaken += u64::from(is_overtaken);
        self.at(id).reads.insert(ticket, committed);
        self.pump(id);
        Some(ticket)
    }

    /// Reports whether the read is still pending.
    pub fn waits(&self, id: NodeId, ticket: ReadTicket) -> bool {
        self.nodes[&id].reads.contains_key(&ticket)
    }

    /// Compacts a node's log up to an index, as after a snapshot.
    pub fn compact(&mut self, id: NodeId, to: Index) {
        let replica = self.replica(id);
        replica.compact(to);
        let base = replica.base().clone();
        self.at(id).disk.compact(&base);
    }

    /// Ends a snapshot stream, successfully or not.
    pub fn stream(&mut self, from: NodeId, to: NodeId) {
        if !self.at(from).streams.remove(&to) {
            return;
        }
        let source = self.replica(from);
        let entry = |index| source.entry(Index(index)).expect("it is in the log");
        let (base, committed) = (source.base().clone(), source.committed());
        let entries = (base.index.0 + 1..=committed.0).map(entry).collect();
        let sent = Recovered { vote: Default::default(), base, entries, committed };
        let target = self.nodes.get_mut(&to).filter(|node| node.is_up());
        let replica = target.as_ref().and_then(|target| target.replica.as_ref());
        match (replica.map(|replica| replica.replace(sent.clone())), target) {
            (Some(Ok(replica)), Some(target)) => {
                // The snapshot replaces the log and keeps the vote, or the node could vote twice in a term.
                let vote = target.disk.device.vote;
                target.disk.device = Recovered { vote, ..sent };
                target.committed = target.committed.max(committed);
                target.replica = Some(replica);
                self.counts.snapshots += 1;
                self.replica(from).caught_up(to, committed);
                self.pump(to);
            }
            // The receiver already has all of it, and the leader did not know.
            (Some(Err(ReplaceError::Present(index))), _) => {
                self.replica(from).caught_up(to, index);
            }
            // The receiver has stores in progress: send the stream again later.
            (Some(Err(ReplaceError::Busy)), _) => {
                self.at(from).streams.insert(to);
            }
            _ => self.replica(from).snapshot_failed(to),
        }
        self.pump(from);
    }

    /// Returns the streams in progress as (from, to).
    pub fn streams(&self) -> Vec<(NodeId, NodeId)> {
        let up = self.nodes.iter().filter(|(_, node)| node.is_up());
        up.flat_map(|(from, node)| node.streams.iter().map(|to| (*from, *to))).collect()
    }

    /// Carries out the effects that a replica returns, until there are no more.
    pub fn pump(&mut self, id: NodeId) {
        loop {
            let effects = self.replica(id).effects();
            let committed = effects.committed > self.at(id).committed;
            if effects.is_empty() && !committed {
                return;
            }
            self.carry_out(id, effects);
        }
    }

    fn carry_out(&mut self, id: NodeId, effects: Effects) {
        let mut node = self.nodes.remove(&id).expect("a node");
        let replica = node.replica.as_ref().expect("it is up");
        for message in &effects.send {
            let mut bytes = Vec::new();
            message.encode(&mut bytes);
            let packet = Packet { from: id, to: message.to(), bytes };
            self.truth.sends(&packet, message, &node.disk);
            for byte in &packet.bytes {
                self.counts.digest =
                    (self.counts.digest ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
            }
            self.network.send(packet);
        }
        if let Some(store) = effects.store {
            let committed = node.committed;
            // Committed entries are never truncated.
            assert!(store.truncate_from.is_none_or(|from| from > committed), "{id} takes back");
            self.counts.truncations += u64::from(store.truncate_from.is_some());
            node.disk.queue.push_back(store);
        }
        let before = node.membership.clone();
        if let Some(membership) = effects.membership {
            self.counts.memberships += u64::from(membership != before);
            node.membership = membership;
        }
        let disk = |of: NodeId| {
            if of == id { Some(&node.disk) } else { self.nodes.get(&of).map(|node| &node.disk) }
        };
        assert!(effects.committed >= node.committed, "the commit index of {id} falls");
        // Entries may be committed by the majority from before this step or from after it.
        let memberships = [&before, &node.membership];
        self.truth.commits(replica, node.committed, effects.committed, memberships, disk);
        node.committed = effects.committed;
        for ticket in effects.reads {
            let asked = node.reads.remove(&ticket).expect("a read of this leader");
            self.truth.reads(asked, effects.committed);
            self.counts.reads += 1;
        }
        if let Some(standing) = effects.standing {
            self.truth.stands(replica, standing);
            let leads =
                |of: Option<RoleAndTerm>| of.filter(|of| of.role == Role::Leader).map(|of| of.term);
            // A node that no longer leads this term drops its reads and streams.
            if leads(node.standing) != leads(Some(standing)) {
                node.reads.clear();
                node.streams.clear();
            }
            node.standing = Some(standing);
        }
        node.streams.extend(effects.need_snapshot);
        self.nodes.insert(id, node);
    }

    /// Ends all failures: every node is up and reaches all others.
    pub fn heal(&mut self) {
        self.network.cuts.clear();
        for id in self.ids() {
            self.at(id).is_paused = false;
            self.start(id);
        }
    }

    /// Delivers packets and finishes stores until nothing is in flight.
    pub fn come_to_rest(&mut self) {
        // The exchange ends: without a tick no node sends a message twice.
        for _ in 0..1_000 {
            let packets = self.network.take_all();
            let mut up = self.nodes.values().filter(|node| node.is_up());
            let is_idle = packets.is_empty() && up.all(|node| node.disk.queue.is_empty());
            if is_idle && self.streams().is_empty() {
                return;
            }
            for packet in packets {
                if self.nodes.get(&packet.to).is_some_and(ReplicaNode::is_up) {
                    self.deliver(&packet);
                }
            }
            for id in self.ids() {
                if self.at(id).is_up() {
                    self.finish(id, usize::MAX);
                }
            }
            for (from, to) in self.streams() {
                self.stream(from, to);
            }
        }
        panic!("the nodes never come to rest");
    }

    /// Ticks every node that is up and carries out everything that results.
    pub fn round(&mut self) {
        for id in self.ids() {
            if self.at(id).is_up() {
                self.tick(id);
            }
        }
        self.come_to_rest();
    }

    /// Describes the nodes for an error message, one line for each that is up.
    pub fn tell(&self) -> String {
        let up = self.nodes.iter().filter_map(|(id, node)| Some((id, node.replica.as_ref()?)));
        let line = |(id, replica): (&NodeId, &Replica)| {
            let (base, committed, last) = (replica.base(), replica.committed(), replica.last());
            let (standing, term) = (replica.standing(), replica.term_of(last));
            let membership = replica.membership();
            format!(
                "{id}: {standing:?}, base {base:?}, {committed:?}, {last:?} of {term:?}, {membership:?}\n"
            )
        };
        up.map(line).collect()
    }

    /// Returns the leader of the newest term, if any node leads.
    pub fn leader(&self) -> Option<NodeId> {
        let leading = self.nodes.iter().filter(|(_, node)| node.leads());
        leading
            .max_by_key(|(_, node)| node.standing.map(|standing| standing.term))
            .map(|(id, _)| *id)
    }

    /// Runs rounds until a node leads.
    pub fn elect(&mut self, rounds: usize) -> NodeId {
        for _ in 0..rounds {
            if let Some(leader) = self.leader() {
                return leader;
            }
            self.round();
        }
        panic!("no leader after {rounds} rounds");
    }
}
