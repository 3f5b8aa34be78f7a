//! Runs one seed.

use crate::plan::Plan;
use crate::world::{Counts, ReplicaNode, World};
use scurry_consensus::replica::{ByteCount, Index, Members, NodeId, Role};
use scurry_model::Random;

/// Ticks of every node within which healed nodes must elect a leader, and again within which they must agree.
const ROUNDS_MAX: usize = 200;

/// Totals over runs, which show that the seeds reach the interesting cases.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Terms that had a leader.
    pub leaders: u64,
    /// Entries that were committed.
    pub committed: u64,
    /// Frames that were refused because too many bytes were uncommitted.
    pub full: u64,
    /// Crashes.
    pub crashes: u64,
    /// Leaders that were paused and resumed.
    pub awakened: u64,
    /// Membership changes that were started.
    pub changes: u64,
    /// Times that a node started to yield leadership.
    pub yields: u64,
    /// Counts of the world.
    pub counts: Counts,
}

impl Report {
    /// Adds the figures of another run.
    pub fn add(&mut self, other: &Report) {
        self.leaders += other.leaders;
        self.committed += other.committed;
        self.full += other.full;
        self.crashes += other.crashes;
        self.awakened += other.awakened;
        self.changes += other.changes;
        self.yields += other.yields;
        let (counts, of) = (&mut self.counts, &other.counts);
        counts.taken += of.taken;
        counts.reads += of.reads;
        counts.overtaken += of.overtaken;
        counts.truncations += of.truncations;
        counts.snapshots += of.snapshots;
        counts.memberships += of.memberships;
        counts.digest ^= of.digest;
    }
}

/// Runs a seed.
///
/// # Panics
/// When an invariant does not hold; the message says which.
pub fn run(seed: u64) -> Report {
    let mut random = Random::new(seed);
    let plan = Plan::new(&mut random);
    let world = World::new(plan.settings.clone(), plan.members.clone());
    let yielding = Random::new(seed ^ 0x7969_656c_6473);
    let mut run = Run { world, plan, random, yielding, steps: 0, report: Report::default() };
    for _ in 0..run.plan.steps {
        run.step();
    }
    run.heal();
    run.report.leaders = run.world.truth.leaders() as u64;
    run.report.committed = run.world.truth.committed().0;
    run.report.counts = run.world.counts;
    run.report
}

struct Run {
    world: World,
    plan: Plan,
    random: Random,
    /// Generator for yielding alone: seeds that were found before yielding existed keep their behavior.
    yielding: Random,
    steps: usize,
    report: Report,
}

impl Run {
    fn happens(&mut self, once_in: usize) -> bool {
        once_in > 0 && self.random.one_in(once_in)
    }

    /// Picks a random node that satisfies the predicate.
    fn one(&mut self, holds: impl Fn(&ReplicaNode) -> bool) -> Option<NodeId> {
        let nodes = self.world.nodes.iter().filter(|(_, node)| holds(node));
        let ids: Vec<NodeId> = nodes.map(|(id, _)| *id).collect();
        (!ids.is_empty()).then(|| self.random.pick(&ids))
    }

    /// Picks a leader in half of the calls when one exists, otherwise a node that satisfies the predicate.
    fn leader_or(&mut self, holds: impl Fn(&ReplicaNode) -> bool) -> Option<NodeId> {
        let leader = if self.random.one_in(2) { self.one(ReplicaNode::leads) } else { None };
        leader.or_else(|| self.one(holds))
    }

    fn step(&mut self) {
        self.steps += 1;
        self.fail();
        self.yield_or_not();
        let (disk, ask) = (self.plan.disk, self.plan.ask);
        // Of 16 steps `disk` finish stores, `ask` send requests, 4 tick nodes, and the others deliver packets.
        match self.random.below(16) {
            at if at < disk => self.finish(),
            at if at < disk + ask => self.ask(),
            at if at < disk + ask + 4 => {
                for _ in 0..2 {
                    if let Some(id) = self.one(ReplicaNode::is_up) {
                        self.world.tick(id);
                    }
                }
            }
            // Deliveries keep up with sends on average; otherwise packets would pile up and elections would time out.
            _ => (0..4).for_each(|_| self.deliver()),
        }
    }

    fn finish(&mut self) {
        let Some(id) = self.one(|node| node.is_up() && !node.disk.queue.is_empty()) else { return };
        let is_stalled = self.plan.stalled.is_some_and(|at| self.world.ids()[at] == id);
        if !is_stalled || self.random.one_in(50) {
            let count = 1 + self.random.below(3);
            self.world.finish(id, count);
        }
    }

    fn deliver(&mut self) {
        let double = self.happens(self.plan.double);
        let nodes = &self.world.nodes;
        // Packets to a paused node stay in the queue.
        let takes = |to| nodes.get(&to).is_some_and(|node: &ReplicaNode| !node.is_paused);
        let reach = self.plan.reach;
        let packet = self.world.network.remove_packet(&mut self.random, reach, double, takes);
        if let Some(packet) = packet.filter(|packet| self.world.nodes[&packet.to].is_up()) {
            self.world.deliver(&packet);
        }
    }

    fn ask(&mut self) {
        let Some(any) = self.one(ReplicaNode::leads) else { return };
        // Most writers know the newest leader. Some readers still ask an old leader, which gets no writes.
        let newest = self.world.leader().filter(|_| !self.random.one_in(8)).unwrap_or(any);
        let is_idle = self.plan.idle > 0 && self.steps / self.plan.idle % 2 == 1;
        if is_idle || self.random.one_in(3) {
            self.world.read(any);
        } else {
            let len = ByteCount(self.random.pick(&[1, 100, 700]));
            let taken = self.world.append(newest, len).is_some();
            self.report.full += u64::from(!taken && self.world.at(newest).leads());
        }
        if let Some((from, to)) = self.world.streams().first().copied()
            && self.random.one_in(3)
        {
            self.world.stream(from, to);
        }
    }

    fn fail(&mut self) {
        if self.happens(self.plan.lose) {
            self.world.network.lose(&mut self.random);
        }
        if self.happens(self.plan.cut) {
            let ids = self.world.ids();
            let id = self.leader_or(|_| true).unwrap_or(ids[0]);
            match self.random.below(4) {
                0 => self.world.network.cuts.clear(),
                1 => self.world.network.cut(id, &ids, true, false),
                2 => self.world.network.cut(id, &ids, false, true),
                _ => self.world.network.cut(id, &ids, true, true),
            }
        }
        if self.happens(self.plan.pause) {
            // One node is paused at a time, and mostly until the others have a leader without it.
            let is_paused = |node: &ReplicaNode| node.is_paused && node.replica.is_some();
            let others_lead = self.world.leader().is_some();
            let id = match self.one(is_paused) {
                Some(paused) => Some(paused).filter(|_| others_lead || self.random.one_in(8)),
                None => self.leader_or(|node| node.replica.is_some()),
            };
            if let Some(id) = id {
                let node = self.world.at(id);
                node.is_paused = !node.is_paused;
                // Requests arrived while it was paused.
                if node.leads() {
                    self.report.awakened += 1;
                    self.world.read(id);
                }
            }
        }
        if self.happens(self.plan.crash) {
            let ids = self.world.ids();
            let id = self.random.pick(&ids);
            if self.world.at(id).replica.is_some() {
                self.world.crash(id, &mut self.random);
                self.report.crashes += 1;
            }
        }
        // Nodes restart more often than they crash, so that most of them are up.
        if self.happens(self.plan.crash / 2)
            && let Some(id) = self.one(|node| node.replica.is_none())
        {
            self.world.start(id);
        }
        if self.happens(self.plan.lead)
            && let Some(id) = self.one(ReplicaNode::is_up)
        {
            let ids = self.world.ids();
            let other = self.random.pick(&ids);
            match self.random.below(3) {
                0 => self.world.replica(id).campaign(),
                1 => self.world.replica(id).unreachable(other),
                _ => drop(self.world.replica(id).transfer(other)),
            }
            self.world.pump(id);
        }
        if self.happens(self.plan.change)
            && let Some(id) = self.one(ReplicaNode::leads)
        {
            self.change(id);
        }
        if self.happens(self.plan.compact)
            && let Some(id) = self.one(ReplicaNode::is_up)
        {
            let replica = self.world.replica(id);
            let (base, committed) = (replica.base().index.0, replica.committed().0);
            let span = usize::try_from(committed - base).unwrap_or(0) + 1;
            let to = Index(base + self.random.below(span) as u64);
            self.world.compact(id, to);
        }
    }

    /// Starts or stops yielding on a random node. Some nodes yield to the end, and the nodes must agree all the same.
    fn yield_or_not(&mut self) {
        if self.plan.yields == 0 || !self.yielding.one_in(self.plan.yields) {
            return;
        }
        let up: Vec<NodeId> = self
            .world
            .nodes
            .values()
            .filter_map(|node| Some(node.replica.as_ref()?.id()))
            .collect();
        if up.is_empty() {
            return;
        }
        let (id, yields) = (self.yielding.pick(&up), self.yielding.one_in(2));
        self.world.replica(id).set_yielding(yields);
        self.report.yields += u64::from(yields);
    }

    fn change(&mut self, id: NodeId) {
        let (mut voters, mut learners) = (Vec::new(), Vec::new());
        for node in self.world.ids() {
            match self.random.below(4) {
                0 => {}
                1 => learners.push(node),
                _ => voters.push(node),
            }
        }
        let Ok(members) = Members::new(voters, learners) else { return };
        self.report.changes += u64::from(self.world.replica(id).change(members).is_ok());
        self.world.pump(id);
    }

    /// Ends all failures and requires that the nodes come to agree.
    fn heal(&mut self) {
        let world = &mut self.world;
        world.heal();
        world.come_to_rest();
        let mut last = None;
        for _ in 0..ROUNDS_MAX {
            world.round();
            let Some(leader) = world.leader() else { continue };
            // The leader may have been deposed without knowing it yet, so the entry is appended again in a new term.
            let term = world.replica(leader).standing().term;
            let index = match last {
                Some((by, of, index)) if (by, of) == (leader, term) => index,
                _ => {
                    let Some(index) = world.append(leader, ByteCount(1)) else { continue };
                    last = Some((leader, term, index));
                    index
                }
            };
            let membership = world.replica(leader).membership().clone();
            let all = membership.members.iter().chain(membership.outgoing.iter().copied());
            let agree = all.into_iter().all(|id| world.replica(id).committed() >= index);
            let ticket = world.read(leader);
            world.come_to_rest();
            let reads = ticket.is_some_and(|ticket| !world.waits(leader, ticket));
            // A joint membership is a change in progress, which has to finish as well.
            if agree && reads && !membership.is_joint() {
                return self.agreed(leader);
            }
        }
        panic!("the nodes do not agree after {ROUNDS_MAX} rounds:\n{}", self.world.tell());
    }

    /// Asserts that every member has all committed entries on its disk.
    fn agreed(&mut self, leader: NodeId) {
        let truth = &self.world.truth;
        let nodes = &self.world.nodes;
        let replica = |id: &NodeId| nodes[id].replica.as_ref().expect("it is up");
        for id in replica(&leader).membership().members.iter() {
            assert_eq!(replica(&id).committed(), replica(&leader).committed(), "{id}");
            for index in (1..=truth.committed().0).map(Index) {
                let term = truth.entry(index).expect("it is committed").term;
                assert!(nodes[&id].disk.has(index, term), "{index:?} is not on the disk of {id}");
            }
            let role = nodes[&id].standing.map(|standing| standing.role);
            let is_learner = !replica(&leader).membership().has_vote(id);
            assert_eq!(role == Some(Role::Learner), is_learner, "{id}");
        }
    }
}
