//! Nodes, their disks and the network between them.

use crate::disk::Disk;
use crate::network::{Network, Packet};
use crate::truth::Truth;
use scurry_model::Random;
use scurry_replica::{
    Base, Descriptor, Effects, Index, Members, Membership, Message, NodeId, ReadTicket, Recovered,
    ReplaceError, Replica, Role, Settings, Standing, Term,
};
use std::collections::{BTreeMap, BTreeSet};

/// The node with this number.
///
/// # Panics
/// When it is 0.
pub fn node(number: u64) -> NodeId {
    NodeId::new(number).expect("not 0")
}

/// A node.
pub struct Node {
    settings: Settings,
    /// None when it is down.
    pub replica: Option<Replica>,
    /// The disk.
    pub disk: Disk,
    /// True while it does nothing, and goes on later as if nothing had been.
    pub is_paused: bool,
    /// The standing that it has shown last.
    pub standing: Option<Standing>,
    membership: Membership,
    committed: Index,
    /// Reads that wait, and what was committed when they were asked for.
    reads: BTreeMap<ReadTicket, Index>,
    /// Nodes that it streams a snapshot to.
    streams: BTreeSet<NodeId>,
    starts: u64,
}

impl Node {
    /// True when it takes part.
    pub fn is_up(&self) -> bool {
        self.replica.is_some() && !self.is_paused
    }

    /// True when it takes itself for the leader.
    pub fn leads(&self) -> bool {
        self.is_up() && self.standing.is_some_and(|standing| standing.role == Role::Leader)
    }
}

/// Counts of what has happened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Messages that were taken.
    pub taken: u64,
    /// Reads that were confirmed.
    pub reads: u64,
    /// Reads asked of a leader that others have overtaken, and that has nothing of its own to wait for.
    pub overtaken: u64,
    /// Stores that remove entries.
    pub truncations: u64,
    /// Nodes that got a snapshot.
    pub snapshots: u64,
    /// Other members in force.
    pub memberships: u64,
    /// A digest of all that was sent, in its order.
    pub digest: u64,
}

/// The world.
pub struct World {
    /// The nodes.
    pub nodes: BTreeMap<NodeId, Node>,
    /// The network.
    pub network: Network,
    /// The judge of what must hold.
    pub truth: Truth,
    /// Counts of what has happened.
    pub counts: Counts,
    sequence: u64,
}

impl World {
    /// Nodes with these settings, up, of which those named are members.
    pub fn new(settings: Vec<Settings>, members: Members) -> World {
        let mut world = World {
            nodes: BTreeMap::new(),
            network: Network::default(),
            truth: Truth::default(),
            counts: Counts::default(),
            sequence: 0,
        };
        let base = Base { index: Index(0), term: Term(0), members };
        for settings in settings {
            let membership = Membership { members: base.members.clone(), outgoing: Vec::new() };
            let id = settings.id;
            let node = Node {
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

    /// All nodes.
    pub fn ids(&self) -> Vec<NodeId> {
        self.nodes.keys().copied().collect()
    }

    /// A node.
    pub fn at(&mut self, id: NodeId) -> &mut Node {
        self.nodes.get_mut(&id).expect("a node")
    }

    /// The replica of a node that is up.
    pub fn replica(&mut self, id: NodeId) -> &mut Replica {
        self.at(id).replica.as_mut().expect("it is up")
    }

    /// Starts a node that is down, with what is on its device.
    pub fn start(&mut self, id: NodeId) {
        let node = self.at(id);
        if node.replica.is_some() {
            return;
        }
        node.starts += 1;
        let seed = node.settings.seed ^ (node.starts << 32);
        let settings = Settings { seed, ..node.settings.clone() };
        let replica = Replica::new(settings, node.disk.device.clone()).expect("what was stored");
        node.committed = node.disk.device.committed.min(replica.last()).max(replica.base().index);
        node.replica = Some(replica);
        node.is_paused = false;
        self.pump(id);
    }

    /// The node's power fails.
    pub fn crash(&mut self, id: NodeId, random: &mut Random) {
        self.at(id).disk.crash(random);
        self.look_at_disk(id);
        let node = self.at(id);
        node.replica = None;
        node.standing = None;
        node.reads.clear();
        node.streams.clear();
    }

    /// A node's time goes on.
    pub fn tick(&mut self, id: NodeId) {
        self.replica(id).tick();
        self.pump(id);
    }

    /// A node takes a packet.
    pub fn take(&mut self, packet: &Packet) {
        let message = Message::decode(&packet.bytes).expect("what was sent is a message");
        assert_eq!((message.from(), message.to()), (packet.from, packet.to));
        // A node that was removed may still speak.
        let _ = self.replica(packet.to).receive(message);
        self.counts.taken += 1;
        self.pump(packet.to);
    }

    /// The disk of a node finishes its first stores, this many.
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

    /// A device has what its replica has, once nothing is under way.
    fn same(&mut self, id: NodeId) {
        let Node { replica: Some(replica), disk, .. } = self.at(id) else { return };
        if disk.queue.is_empty() {
            let last = replica.last();
            assert_eq!(disk.last(), last, "the end of the log of {id}");
            assert!(disk.has(last, replica.term_of(last).expect("it is there")));
        }
    }

    /// A leader appends a frame of this length; its index when it was taken.
    pub fn append(&mut self, id: NodeId, len: u32) -> Option<Index> {
        self.sequence += 1;
        let (first, last) = (self.sequence * 10, self.sequence * 10 + 9);
        let checksum = u32::try_from(self.sequence * 77 % 1_000_003).unwrap_or(0);
        let bound = self.at(id).settings.uncommitted_bytes;
        let replica = self.replica(id);
        let before = replica.uncommitted_bytes();
        let index = replica.append(Descriptor { first, last, len, checksum }).ok();
        if index.is_some() {
            assert!(before == 0 || before + u64::from(len) <= bound, "{before} + {len} bytes");
        }
        self.pump(id);
        index
    }

    /// A leader is asked for a read.
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

    /// True while the read waits.
    pub fn waits(&self, id: NodeId, ticket: ReadTicket) -> bool {
        self.nodes[&id].reads.contains_key(&ticket)
    }

    /// A node forgets entries up to here, which are in a snapshot.
    pub fn compact(&mut self, id: NodeId, to: Index) {
        let replica = self.replica(id);
        replica.compact(to);
        let base = replica.base().clone();
        self.at(id).disk.compact(&base);
    }

    /// A stream of a node comes to its end, or breaks.
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
                let vote = target.disk.device.vote;
                target.disk.device = Recovered { vote, ..sent };
                target.committed = target.committed.max(committed);
                target.replica = Some(replica);
                self.counts.snapshots += 1;
                self.replica(from).caught_up(to, committed);
                self.pump(to);
            }
            (Some(Err(ReplaceError::Present(index))), _) => {
                self.replica(from).caught_up(to, index);
            }
            (Some(Err(ReplaceError::Busy)), _) => {
                self.at(from).streams.insert(to);
            }
            _ => self.replica(from).snapshot_failed(to),
        }
        self.pump(from);
    }

    /// Streams that are under way: from, to.
    pub fn streams(&self) -> Vec<(NodeId, NodeId)> {
        let up = self.nodes.iter().filter(|(_, node)| node.is_up());
        up.flat_map(|(from, node)| node.streams.iter().map(|to| (*from, *to))).collect()
    }

    /// Does what a replica asks for.
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
                |of: Option<Standing>| of.filter(|of| of.role == Role::Leader).map(|of| of.term);
            if leads(node.standing) != leads(Some(standing)) {
                node.reads.clear();
                node.streams.clear();
            }
            node.standing = Some(standing);
        }
        node.streams.extend(effects.behind);
        self.nodes.insert(id, node);
    }

    /// Nothing fails any more: all nodes are up and reach each other.
    pub fn heal(&mut self) {
        self.network.cuts.clear();
        for id in self.ids() {
            self.at(id).is_paused = false;
            self.start(id);
        }
    }

    /// Delivers and stores until nothing is on its way.
    pub fn come_to_rest(&mut self) {
        // Answers to answers end: no node says anything twice without a tick.
        for _ in 0..1_000 {
            let packets = self.network.take_all();
            let mut up = self.nodes.values().filter(|node| node.is_up());
            let is_idle = packets.is_empty() && up.all(|node| node.disk.queue.is_empty());
            if is_idle && self.streams().is_empty() {
                return;
            }
            for packet in packets {
                if self.nodes.get(&packet.to).is_some_and(Node::is_up) {
                    self.take(&packet);
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

    /// A tick of every node that is up, and all that comes of it.
    pub fn round(&mut self) {
        for id in self.ids() {
            if self.at(id).is_up() {
                self.tick(id);
            }
        }
        self.come_to_rest();
    }

    /// The nodes, a line for each that is up.
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

    /// The leader of the newest term, if one leads.
    pub fn leader(&self) -> Option<NodeId> {
        let leading = self.nodes.iter().filter(|(_, node)| node.leads());
        leading
            .max_by_key(|(_, node)| node.standing.map(|standing| standing.term))
            .map(|(id, _)| *id)
    }

    /// Rounds until a node leads.
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
