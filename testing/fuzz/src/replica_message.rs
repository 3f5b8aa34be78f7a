//! Messages between replicas: an accepted message has one encoding and one meaning, and a replica processes it without
//! a panic, whatever its sender; all other bytes are rejected.

use scurry_consensus::replica::{
    Base, ByteCount, Descriptor, Entry, EntryKind, Index, Members, Message, NodeId, Recovered,
    Replica, Sequence, Settings, Term, Vote,
};

/// Maximum number of messages in an input; each is preceded by its length.
const MESSAGES_MAX: usize = 8;

/// Runs the input: the first byte selects the replica, then messages follow, each after a length of one byte.
pub fn check(data: &[u8]) {
    let Some((choice, mut rest)) = data.split_first() else { return };
    let mut replica = replica(*choice);
    for _ in 0..MESSAGES_MAX {
        let Some((len, behind)) = rest.split_first() else { return };
        let (bytes, behind) = behind.split_at(behind.len().min(usize::from(*len)));
        rest = behind;
        let Ok(message) = Message::decode(bytes) else { continue };
        let mut written = Vec::new();
        message.encode(&mut written);
        assert_eq!(written, bytes, "a message has one form");
        let indexes = message.entries().iter().map(|entry| entry.index.0);
        assert!(indexes.is_sorted_by(|one, next| one + 1 == *next));
        if replica.receive(message).is_err() {
            continue;
        }
        let effects = replica.effects();
        for message in &effects.send {
            let mut bytes = Vec::new();
            message.encode(&mut bytes);
            assert_eq!(Message::decode(&bytes).as_ref(), Ok(message), "an answer is a message");
        }
        if let Some(store) = effects.store.filter(|_| choice & 4 > 0) {
            replica.stored(store.ticket);
        }
    }
}

/// Creates a replica with a short log. Bits 0 and 1 select a follower, a candidate, the only voter as leader, or a
/// learner. With bit 3 a leader has another entry that is not stored yet.
fn replica(choice: u8) -> Replica {
    let node = |number| NodeId::new(number).expect("not 0");
    let (voters, learners) = match choice & 3 {
        0 | 1 => (vec![node(1), node(2), node(3)], vec![]),
        2 => (vec![node(1)], vec![node(2)]),
        _ => (vec![node(2), node(3)], vec![node(1)]),
    };
    let members = Members::new(voters, learners).expect("each is named once");
    let frame = |index| {
        let descriptor = Descriptor {
            first: Sequence(index),
            last: Sequence(index),
            len: ByteCount(9),
            checksum: 9,
        };
        Entry { term: Term(2 + index / 4), index: Index(index), kind: EntryKind::Frame(descriptor) }
    };
    let recovered = Recovered {
        vote: Vote { term: Term(3), candidate: None },
        base: Base { index: Index(1), term: Term(1), members },
        entries: (2..=5).map(frame).collect(),
        committed: Index(2),
    };
    let mut replica =
        Replica::new(Settings::new(node(1), 1), recovered).expect("a log without a gap");
    if choice & 3 != 0 {
        replica.campaign();
        if let Some(store) = replica.effects().store {
            replica.stored(store.ticket);
        }
    }
    if choice & 8 != 0 {
        // Fails unless the replica leads. The store stays in progress while the messages are processed.
        let _ = replica.append(Descriptor {
            first: Sequence(6),
            last: Sequence(6),
            len: ByteCount(9),
            checksum: 9,
        });
        replica.effects();
    }
    replica
}
