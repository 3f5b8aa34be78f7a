//! Scripted tests of a few nodes: the guarantees, and the cases that the engine does not prevent by itself.

use scurry_consensus::replica::{
    AppendError, Base, ByteCount, ChangeError, Descriptor, Entry, EntryKind, Index, Members,
    Message, NodeId, Recovered, Role, Sequence, Settings, Term, Vote,
};
use scurry_replicas::{ReplicaNode, World, node};

fn settings(number: u64) -> Settings {
    Settings { heartbeat_ticks: 1, ..Settings::new(node(number), number) }
}

fn members(voters: &[u64], learners: &[u64]) -> Members {
    let nodes = |numbers: &[u64]| numbers.iter().copied().map(node).collect::<Vec<NodeId>>();
    Members::new(nodes(voters), nodes(learners)).unwrap()
}

/// Returns three idle voters and the leader among them.
fn three() -> (World, NodeId) {
    let mut world = World::new((1..=3).map(settings).collect(), members(&[1, 2, 3], &[]));
    let leader = world.elect(100);
    world.round();
    (world, leader)
}

fn others(world: &World, leader: NodeId) -> [NodeId; 2] {
    let others: Vec<NodeId> = world.ids().into_iter().filter(|id| *id != leader).collect();
    others.try_into().expect("three nodes")
}

/// Delivers and stores until nothing is in flight, except on the disk of one node.
fn rest_without_disk_of(world: &mut World, id: NodeId) {
    loop {
        let packets = world.network.take_all();
        let stored = |world: &World| {
            world.nodes.iter().all(|(of, node)| *of == id || node.disk.queue.is_empty())
        };
        if packets.is_empty() && stored(world) {
            return;
        }
        for packet in packets {
            world.deliver(&packet);
        }
        for other in world.ids().into_iter().filter(|other| *other != id) {
            world.finish(other, usize::MAX);
        }
    }
}

/// Cuts the power so that everything unsynced is lost.
fn crash_and_lose(world: &mut World, id: NodeId) {
    let node = world.at(id);
    node.disk.queue.clear();
    node.replica = None;
    node.standing = None;
}

/// Encodes a message with these numbers.
fn bytes_of(kind: u8, from: NodeId, to: NodeId, term: u64, numbers: &[u64]) -> Vec<u8> {
    let mut bytes = vec![1, kind];
    for number in [&[from.get(), to.get(), term], numbers].concat() {
        bytes.extend(number.to_le_bytes());
    }
    bytes
}

#[test]
fn a_leader_whose_disk_stands_still_commits_by_the_others() {
    let (mut world, leader) = three();
    for len in [100, 200, 300].map(ByteCount) {
        let index = world.append(leader, len).unwrap();
        rest_without_disk_of(&mut world, leader);
        assert_eq!(world.truth.committed(), index);
    }
    assert_eq!(world.at(leader).disk.queue.len(), 3, "several stores are under way");
    assert_eq!(world.replica(leader).committed(), world.truth.committed());
}

#[test]
fn a_follower_whose_disk_stands_still_is_alive_and_counts_for_nothing() {
    let (mut world, leader) = three();
    let [slow, gone] = others(&world, leader);
    world.network.cut(gone, &[leader, slow], true, true);
    let index = world.append(leader, ByteCount(100)).unwrap();
    for _ in 0..50 {
        world.tick(leader);
        world.tick(slow);
        rest_without_disk_of(&mut world, slow);
    }
    assert!(world.at(leader).leads(), "it hears a majority");
    assert!(world.truth.committed() < index);
    world.come_to_rest();
    assert_eq!(world.truth.committed(), index);
}

#[test]
fn a_node_that_decides_alone_leads_a_term_once() {
    let mut world = World::new((1..=2).map(settings).collect(), members(&[1], &[2]));
    let leader = world.elect(100);
    world.round();
    let lives = 5;
    for life in 1..=lives {
        crash_and_lose(&mut world, leader);
        world.start(leader);
        while !world.at(leader).leads() {
            world.tick(leader);
        }
        // Each life appends different frames; the learner receives them, and the leader stores none.
        for _ in 0..life {
            world.append(leader, ByteCount(10));
        }
        rest_without_disk_of(&mut world, leader);
    }
    world.round();
    let index = world.append(leader, ByteCount(10)).unwrap();
    world.round();
    assert_eq!(world.truth.committed(), index);
    assert_eq!(world.replica(node(2)).last(), index);
}

#[test]
fn a_lone_voter_that_stores_is_not_moved_to_a_newer_term() {
    let mut world = World::new((1..=2).map(settings).collect(), members(&[1], &[2]));
    let leader = world.elect(100);
    world.round();
    let index = world.append(leader, ByteCount(100)).unwrap();
    let term = world.replica(leader).standing().term;
    // Message kind 8 is TimeoutNow.
    let bytes = bytes_of(8, node(2), leader, term.0 + 4, &[]);
    world.replica(leader).receive(Message::decode(&bytes).unwrap()).unwrap();
    assert_eq!(world.replica(leader).standing().term, term);
    world.come_to_rest();
    assert!(world.at(leader).leads());
    assert_eq!(world.truth.committed(), index);
}

#[test]
fn a_deposed_leader_confirms_no_read() {
    let (mut world, old) = three();
    let before = world.counts.reads;
    let early = world.read(old).unwrap();
    world.come_to_rest();
    assert!(!world.waits(old, early), "a leader confirms");
    world.at(old).is_paused = true;
    // The other two nodes elect a new leader without it.
    let [a, b] = others(&world, old);
    let new = loop {
        world.round();
        if let Some(new) = [a, b].into_iter().find(|id| world.at(*id).leads()) {
            break new;
        }
    };
    world.append(new, ByteCount(10)).unwrap();
    world.come_to_rest();
    // It resumes, and serves a read before it hears of the new leader.
    world.at(old).is_paused = false;
    assert!(world.at(old).leads());
    let late = world.read(old).unwrap();
    assert!(world.waits(old, late));
    world.tick(old);
    assert!(world.waits(old, late));
    world.come_to_rest();
    assert!(!world.at(old).leads());
    assert_eq!(world.counts.reads, before + 1, "nobody has confirmed the second");
}

#[test]
fn a_read_before_the_first_entry_of_a_term_is_confirmed_behind_it() {
    let (mut world, old) = three();
    let [next, _] = others(&world, old);
    world.replica(old).transfer(next).unwrap();
    world.pump(old);
    while !world.at(next).leads() {
        for packet in world.network.take_all() {
            world.deliver(&packet);
        }
        for id in world.ids() {
            if !world.at(id).leads() {
                world.finish(id, usize::MAX);
            }
        }
    }
    let begins = world.at(next).standing.unwrap().begins.unwrap();
    assert!(world.replica(next).committed() < begins);
    let ticket = world.read(next).unwrap();
    assert!(world.waits(next, ticket));
    world.come_to_rest();
    assert!(!world.waits(next, ticket));
    assert_eq!(world.replica(next).committed(), begins);
}

#[test]
fn an_entry_behind_a_read_confirms_it_without_a_round() {
    let (mut world, leader) = three();
    let ticket = world.replica(leader).read().unwrap();
    let descriptor =
        Descriptor { first: Sequence(1), last: Sequence(1), len: ByteCount(1), checksum: 1 };
    let index = world.replica(leader).append(descriptor).unwrap();
    let effects = world.replica(leader).effects();
    let kind = |message: &Message| {
        let mut bytes = Vec::new();
        message.encode(&mut bytes);
        bytes[1]
    };
    let kinds: Vec<u8> = effects.send.iter().map(kind).collect();
    assert_eq!(kinds, [1, 1], "two appends and no heartbeat");
    assert_eq!((effects.reads, effects.committed), (vec![], Index(index.0 - 1)));
    let follower = effects.send[0].to();
    world.replica(follower).receive(effects.send[0].clone()).unwrap();
    let store = world.replica(follower).effects().store.unwrap();
    world.replica(follower).stored(store.ticket);
    let answer = world.replica(follower).effects().send.pop().unwrap();
    world.replica(leader).receive(answer).unwrap();
    // The follower has stored the entry and the leader has not, which is no majority.
    assert_eq!(world.replica(leader).effects().reads, []);
    world.replica(leader).stored(effects.store.unwrap().ticket);
    assert_eq!(world.replica(leader).effects().reads, [ticket]);
}

/// Returns a log with entries of these terms.
fn log(terms: &[u64]) -> Recovered {
    let entry = |(index, term): (u64, &u64)| {
        let frame = Descriptor {
            first: Sequence(index),
            last: Sequence(index),
            len: ByteCount(1),
            checksum: 1,
        };
        Entry { term: Term(*term), index: Index(index), kind: EntryKind::Frame(frame) }
    };
    Recovered {
        vote: Vote { term: Term(*terms.last().unwrap()), candidate: None },
        base: Base { index: Index(0), term: Term(0), members: members(&[1, 2, 3], &[]) },
        entries: (1..).zip(terms).map(entry).collect(),
        committed: Index(0),
    }
}

#[test]
fn two_of_three_elect_a_leader_when_the_preferred_one_has_a_longer_and_older_log() {
    let patient = Settings { extra_election_ticks: 5, ..settings(1) };
    let all = vec![patient, settings(2), settings(3)];
    let mut world = World::new(all, members(&[1, 2, 3], &[]));
    for (number, terms) in [(1, &[1, 1, 5][..]), (2, &[1, 1, 4, 4, 4]), (3, &[1, 1, 5])] {
        crash_and_lose(&mut world, node(number));
        world.at(node(number)).disk.device = log(terms);
    }
    world.start(node(1));
    world.start(node(2));
    assert_eq!(world.elect(100), node(1));
    world.round();
    assert_eq!(world.truth.committed(), world.replica(node(2)).last());
    assert_eq!(world.replica(node(2)).term_of(Index(3)), Some(Term(5)));
}

#[test]
fn a_preferred_node_leads() {
    for seed in 0..20 {
        let all = (1..=3).map(|number| Settings {
            extra_election_ticks: if number == 2 { 0 } else { 11 },
            seed,
            ..settings(number)
        });
        let mut world = World::new(all.collect(), members(&[1, 2, 3], &[]));
        assert_eq!(world.elect(100), node(2));
    }
}

#[test]
fn an_answer_from_before_does_not_take_back_what_is_sure() {
    let (mut world, leader) = three();
    let [follower, _] = others(&world, leader);
    for _ in 0..3 {
        world.append(leader, ByteCount(10));
    }
    world.come_to_rest();
    let last = world.replica(leader).last();
    world.replica(leader).unreachable(follower);
    world.pump(leader);
    let term = world.replica(leader).standing().term;
    let bytes = bytes_of(3, follower, leader, term.0, &[last.0, 0, 0, 0]);
    let answer = Message::decode(&bytes).unwrap();
    world.replica(leader).receive(answer).unwrap();
    assert_eq!(world.replica(leader).effects().send, []);
}

#[test]
fn a_message_about_entries_that_are_not_here_is_refused_in_words() {
    let (mut world, leader) = three();
    let [follower, _] = others(&world, leader);
    let (term, last) = (world.replica(leader).standing().term, world.replica(leader).last());
    for (kind, from, to) in [(6, leader, follower), (2, follower, leader)] {
        let bytes = bytes_of(kind, from, to, term.0, &[last.0 + 1, 0]);
        let error = world.replica(to).receive(Message::decode(&bytes).unwrap()).unwrap_err();
        assert!(error.to_string().ends_with("let this node join again"), "{error}");
        assert!(world.replica(to).effects().is_empty());
    }
}

#[test]
fn a_vote_that_nobody_was_asked_for_does_not_count() {
    let (mut world, leader) = three();
    let [follower, other] = others(&world, leader);
    world.network.cut(follower, &world.ids(), true, true);
    while world.replica(follower).standing().role != Role::Candidate {
        world.tick(follower);
    }
    let term = world.replica(follower).standing().term;
    let vote = |before, granted, term: Term| {
        let mut bytes = bytes_of(5, other, follower, term.0, &[]);
        bytes.extend([before, granted]);
        bytes.extend([0; 16]);
        Message::decode(&bytes).unwrap()
    };
    let next = Term(term.0 + 1);
    world.replica(follower).receive(vote(1, 1, next)).unwrap();
    assert_eq!(world.replica(follower).standing().term, next, "it stands for election");
    // Its own vote is not stored yet, so it has not asked any peer for one.
    world.replica(follower).receive(vote(0, 1, next)).unwrap();
    assert_eq!(world.replica(follower).standing().role, Role::Candidate);
}

#[test]
fn more_than_the_bound_is_not_taken() {
    let (mut world, leader) = three();
    let bound = settings(1).uncommitted_bytes;
    let len = ByteCount(bound.get() / 2);
    assert!(world.append(leader, len).is_some() && world.append(leader, len).is_some());
    let frame =
        Descriptor { first: Sequence(1), last: Sequence(1), len: ByteCount(1), checksum: 1 };
    assert_eq!(world.replica(leader).append(frame), Err(AppendError::Full(bound)));
    world.come_to_rest();
    // A frame is accepted whatever its length when nothing else is uncommitted.
    assert!(world.append(leader, ByteCount(u32::MAX.into())).is_some());
    assert!(world.append(leader, ByteCount(1)).is_none());
    world.come_to_rest();
    assert!(world.append(leader, ByteCount(1)).is_some());
}

#[test]
fn a_leader_hands_over_and_takes_nothing_meanwhile() {
    let (mut world, leader) = three();
    let [to, _] = others(&world, leader);
    world.append(leader, ByteCount(10));
    world.replica(leader).transfer(to).unwrap();
    let frame =
        Descriptor { first: Sequence(1), last: Sequence(1), len: ByteCount(1), checksum: 1 };
    assert_eq!(world.replica(leader).append(frame), Err(AppendError::Moving(to)));
    world.pump(leader);
    world.come_to_rest();
    assert_eq!(world.leader(), Some(to));
}

#[test]
fn a_leader_that_is_no_member_any_more_stops() {
    let (mut world, leader) = three();
    let [next, other] = others(&world, leader);
    let rest = Members::new([leader, other], []).unwrap();
    let none = Members::new([next, other], []).unwrap();
    assert_eq!(world.replica(leader).change(none), Err(ChangeError::Leader));
    world.replica(leader).change(rest.clone()).unwrap();
    assert_eq!(world.replica(leader).change(rest.clone()), Err(ChangeError::Busy));
    world.pump(leader);
    // The start of the change is on all disks, no node has acknowledged it, and a node that it removes becomes leader.
    for packet in world.network.take_all() {
        world.deliver(&packet);
    }
    world.finish(next, usize::MAX);
    world.finish(other, usize::MAX);
    world.network.take_all();
    let term = world.replica(leader).standing().term;
    let stand = Message::decode(&bytes_of(8, leader, next, term.0, &[])).unwrap();
    world.replica(next).receive(stand).unwrap();
    world.pump(next);
    world.at(leader).is_paused = true;
    world.come_to_rest();
    assert!(world.at(next).leads());
    world.at(leader).is_paused = false;
    for _ in 0..100 {
        world.round();
    }
    let last = world.leader().unwrap();
    assert_ne!(last, next);
    assert_eq!(world.replica(last).membership().members, rest);
    assert_eq!(world.replica(last).change(rest), Err(ChangeError::Same));
    assert_eq!(world.replica(next).standing().role, Role::Learner);
    let index = world.append(last, ByteCount(10)).unwrap();
    world.round();
    assert_eq!(world.truth.committed(), index);
}

#[test]
fn a_refused_vote_of_an_older_term_still_tells_what_is_committed() {
    let (mut world, other) = three();
    let [leader, follower] = others(&world, other);
    world.replica(other).transfer(leader).unwrap();
    world.pump(other);
    world.come_to_rest();
    let index = world.append(leader, ByteCount(10)).unwrap();
    world.come_to_rest();
    assert!(world.replica(follower).committed() < index, "it learns that with a heartbeat");
    let term = world.replica(follower).term_of(index).unwrap();
    let refusal = |committed: u64| {
        let mut bytes = bytes_of(5, other, follower, term.0 - 1, &[]);
        bytes.extend([1, 0]);
        bytes.extend(committed.to_le_bytes());
        bytes.extend(term.0.to_le_bytes());
        Message::decode(&bytes).unwrap()
    };
    world.replica(follower).receive(refusal(index.0 + 1)).unwrap();
    assert!(world.replica(follower).committed() < index, "it has no such entry");
    world.replica(follower).receive(refusal(index.0)).unwrap();
    assert_eq!(world.replica(follower).committed(), index);
}

#[test]
fn one_node_becomes_three_and_one_again_under_load() {
    let mut world = World::new((1..=3).map(settings).collect(), members(&[1], &[]));
    let leader = world.elect(100);
    let steps = [(&[1][..], &[2, 3][..]), (&[1, 2, 3], &[]), (&[1], &[2, 3]), (&[1], &[])];
    for (voters, learners) in steps {
        world.round();
        world.replica(leader).change(members(voters, learners)).unwrap();
        for _ in 0..5 {
            world.append(leader, ByteCount(10));
            world.round();
        }
        assert_eq!(world.leader(), Some(leader));
        let membership = world.replica(leader).membership().clone();
        assert_eq!(
            (membership.members.voters().len(), membership.is_joint()),
            (voters.len(), false)
        );
    }
    assert_eq!(world.replica(node(2)).standing().role, Role::Learner);
}

#[test]
fn a_node_that_is_behind_gets_a_snapshot_and_goes_on() {
    let (mut world, leader) = three();
    let [gone, _] = others(&world, leader);
    crash_and_lose(&mut world, gone);
    for _ in 0..20 {
        world.append(leader, ByteCount(10));
        world.round();
    }
    for id in world.ids().into_iter().filter(|id| *id != gone) {
        let committed = world.replica(id).committed();
        world.compact(id, committed);
        assert_eq!(world.replica(id).base().index, committed);
    }
    world.start(gone);
    for _ in 0..5 {
        world.round();
    }
    assert_eq!(world.counts.snapshots, 1);
    assert_eq!(world.replica(gone).committed(), world.truth.committed());
    let up = |node: &ReplicaNode| node.disk.last() == world.truth.committed();
    assert!(world.nodes.values().all(up));
}

#[test]
fn a_node_whose_answers_were_lost_needs_no_snapshot() {
    let (mut world, leader) = three();
    let [follower, _] = others(&world, leader);
    let ids = world.ids();
    world.network.cut(follower, &ids, true, false);
    for _ in 0..5 {
        world.append(leader, ByteCount(10));
        world.round();
    }
    let last = world.replica(leader).last();
    assert_eq!(world.replica(follower).last(), last);
    // The leader believes that the follower lags, has compacted the entries that it seems to lack, and then hears from
    // it again.
    world.replica(leader).unreachable(follower);
    world.pump(leader);
    let committed = world.replica(leader).committed();
    world.compact(leader, committed);
    world.network.cuts.clear();
    for _ in 0..5 {
        world.append(leader, ByteCount(10));
        world.round();
    }
    world.round();
    assert_eq!(world.counts.snapshots, 0);
    assert_eq!(world.replica(follower).committed(), world.truth.committed());
    assert_eq!(world.replica(follower).last(), world.replica(leader).last());
}

/// Returns three idle voters with election timeouts drawn from this seed, and the leader.
fn three_of(seed: u64) -> (World, NodeId) {
    let drawn = |number| Settings { seed: seed * 10 + number, ..settings(number) };
    let mut world = World::new((1..=3).map(drawn).collect(), members(&[1, 2, 3], &[]));
    let leader = world.elect(100);
    world.round();
    (world, leader)
}

#[test]
fn a_node_that_lets_others_lead_leads_only_where_no_other_can() {
    for seed in 0..40 {
        let (mut world, leader) = three_of(seed);
        let [yields, other] = others(&world, leader);
        world.replica(yields).set_yielding(true);
        crash_and_lose(&mut world, leader);
        assert_eq!(world.elect(100), other, "seed {seed}");
    }
    for seed in 0..40 {
        let (mut world, leader) = three_of(seed);
        let [yields, other] = others(&world, leader);
        world.replica(yields).set_yielding(true);
        world.network.cut(other, &[leader, yields], true, true);
        world.append(leader, ByteCount(10)).expect("it leads");
        world.come_to_rest();
        crash_and_lose(&mut world, leader);
        world.network.cuts.clear();
        // The other node asks within twice its shortest election timeout and is refused, because it lacks the entry.
        assert_eq!(world.elect(30), yields, "seed {seed}");
    }
}

#[test]
fn nodes_that_all_let_others_lead_have_a_leader_in_the_end() {
    for seed in 0..40 {
        let (mut world, leader) = three_of(seed);
        for id in others(&world, leader) {
            world.replica(id).set_yielding(true);
        }
        crash_and_lose(&mut world, leader);
        world.elect(200);
    }
}

#[test]
fn a_node_that_lets_others_lead_takes_no_leadership_over() {
    let (mut world, leader) = three();
    let [yields, other] = others(&world, leader);
    world.replica(yields).set_yielding(true);
    world.replica(leader).transfer(yields).expect("it leads");
    world.pump(leader);
    (0..15).for_each(|_| world.round());
    assert_eq!(world.leader(), Some(leader), "it was given up");
    world.replica(leader).transfer(other).expect("it leads");
    world.pump(leader);
    world.come_to_rest();
    assert_eq!(world.leader(), Some(other));
    world.replica(yields).set_yielding(false);
    world.replica(other).transfer(yields).expect("it leads");
    world.pump(other);
    world.come_to_rest();
    assert_eq!(world.leader(), Some(yields));
}

#[test]
fn a_node_whose_disk_stands_still_tells_an_overtaken_leader_so() {
    let (mut world, old) = three();
    let ids = world.ids();
    world.network.cut(old, &ids, true, true);
    world.at(old).is_paused = true;
    let new = world.elect(100);
    let slow = *ids.iter().find(|id| ![old, new].contains(id)).expect("three nodes");
    world.round();
    world.append(new, ByteCount(10)).expect("it leads");
    rest_without_disk_of(&mut world, slow);
    world.network.cuts.clear();
    world.network.cut(new, &ids, true, true);
    world.at(old).is_paused = false;
    world.tick(old);
    assert!(world.at(old).leads(), "it has heard nothing");
    rest_without_disk_of(&mut world, slow);
    assert!(!world.at(slow).disk.queue.is_empty());
    assert!(!world.at(old).leads());
}

#[test]
fn a_leader_whose_disk_stands_still_sends_a_late_node_no_more_than_a_packet_takes() {
    // `InvariantChecker::sends` checks the length of every append.
    let (mut world, leader) = three();
    let [late, other] = others(&world, leader);
    world.network.cut(late, &[leader, other], true, true);
    for _ in 0..5_000 {
        world.append(leader, ByteCount(10)).expect("it leads");
        rest_without_disk_of(&mut world, leader);
    }
    let last = world.replica(leader).last();
    world.network.cuts.clear();
    for _ in 0..60 {
        world.tick(leader);
        rest_without_disk_of(&mut world, leader);
    }
    assert!(!world.at(leader).disk.queue.is_empty());
    assert_eq!(world.replica(late).last(), last);
    assert_eq!(world.truth.committed(), last);
}
