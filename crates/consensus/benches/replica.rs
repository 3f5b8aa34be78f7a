//! Cost of an entry for the leader and for a follower of three nodes, without the frame, its checksum, sockets and
//! files. The leader appends, takes the effects, processes both responses and completes its store; the follower
//! receives, takes the effects and completes its store. An entry is a frame of one Change or of many: with 64 in a
//! frame, a Change costs a 64th.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use scurry_consensus::replica::{
    Base, ByteCount, Descriptor, Effects, Index, Members, Message, NodeId, Recovered, Replica,
    Role, Sequence, Settings, Term, Vote,
};
use std::time::{Duration, Instant};

/// Entries between two readings of the clock, each with its own effects.
const ENTRIES: u32 = 64;

fn node(number: u64) -> NodeId {
    NodeId::new(number).expect("not 0")
}

/// Returns three replicas; the first leads.
fn group() -> Vec<Replica> {
    let members = Members::new([node(1), node(2), node(3)], []).expect("three nodes");
    let base = Base { index: Index(0), term: Term(0), members };
    let recovered = Recovered { vote: Vote::default(), base, entries: vec![], committed: Index(0) };
    let replica = |number| Replica::new(Settings::new(node(number), 1), recovered.clone());
    let mut group: Vec<Replica> = (1..=3).map(|n| replica(n).expect("an empty log")).collect();
    group[0].campaign();
    while !(group[0].standing().role == Role::Leader && group[0].committed() == group[0].last()) {
        for at in 0..3 {
            let Effects { send, store, .. } = group[at].effects();
            send.into_iter().for_each(|message| hand_on(&mut group, message));
            if let Some(store) = store {
                group[at].stored(store.ticket);
            }
        }
    }
    group
}

fn hand_on(group: &mut [Replica], message: Message) {
    let at = usize::try_from(message.to().get() - 1).expect("one of three");
    group[at].receive(message).expect("a member's message");
}

/// Returns the time that `ENTRIES` entries took on the leader and on one follower.
#[expect(clippy::disallowed_methods, reason = "a benchmark measures")]
fn entries(group: &mut [Replica]) -> [Duration; 2] {
    let begin = Instant::now();
    let (mut sent, mut tickets) = (Vec::new(), Vec::new());
    for first in 0..u64::from(ENTRIES) {
        let frame = Descriptor {
            first: Sequence(first),
            last: Sequence(first),
            len: ByteCount(200),
            checksum: 7,
        };
        group[0].append(frame).expect("it leads, and the window is not full");
        let effects = group[0].effects();
        sent.extend(effects.send);
        tickets.extend(effects.store.map(|store| store.ticket));
    }
    let mut leader = begin.elapsed();
    let mut answers = Vec::new();
    let begin = Instant::now();
    for message in sent {
        let at = usize::try_from(message.to().get() - 1).expect("one of three");
        group[at].receive(message).expect("of the leader");
        if let Some(store) = group[at].effects().store {
            group[at].stored(store.ticket);
        }
        answers.extend(group[at].effects().send);
    }
    let follower = begin.elapsed() / 2;
    let begin = Instant::now();
    for answer in answers {
        group[0].receive(answer).expect("of a follower");
        group[0].effects();
    }
    for ticket in tickets {
        group[0].stored(ticket);
        group[0].effects();
    }
    leader += begin.elapsed();
    assert_eq!(group[0].committed(), group[0].last(), "all of them are committed");
    if group[0].last().0 % 4096 < u64::from(ENTRIES) {
        for replica in group {
            replica.compact(replica.committed());
        }
    }
    [leader, follower]
}

fn replica(c: &mut Criterion) {
    for (at, name) in ["leader", "follower"].into_iter().enumerate() {
        let mut entry = c.benchmark_group("entry");
        entry.throughput(Throughput::Elements(u64::from(ENTRIES)));
        let mut group = group();
        entry.bench_function(name, |bench| {
            bench.iter_custom(|count| (0..count).map(|_| entries(&mut group)[at]).sum());
        });
        entry.finish();
    }
}

criterion_group!(benches, replica);
criterion_main!(benches);
