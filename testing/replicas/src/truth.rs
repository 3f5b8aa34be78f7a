//! The invariants of replication, checked by an observer that sees all nodes.

use crate::disk::Disk;
use crate::network::Packet;
use scurry_consensus::replica::{
    Entry, EntryKind, Index, Membership, Message, NodeId, Replica, Role, RoleAndTerm, Term,
};
use std::collections::BTreeMap;

/// Maximum number of frames that a server sends in a packet. It drops a longer one, and the engine would repeat it
/// unchanged.
const BODIES_MAX: usize = 4096;

/// Every leader, entry, commit and vote of the whole run.
#[derive(Debug, Default)]
pub struct InvariantChecker {
    leaders: BTreeMap<Term, NodeId>,
    /// Each entry that was ever on a device or in a message: its content, and the term of the entry before it.
    made: BTreeMap<(Index, Term), (EntryKind, Term)>,
    /// Committed entries, with the term in which each was committed.
    committed: Vec<(Entry, Term)>,
    votes: BTreeMap<(NodeId, Term), NodeId>,
}

impl InvariantChecker {
    /// Returns the greatest index that any node has called committed.
    pub fn committed(&self) -> Index {
        Index(self.committed.len() as u64)
    }

    /// Returns a committed entry.
    pub fn entry(&self, index: Index) -> Option<&Entry> {
        let at = usize::try_from(index.0.checked_sub(1)?).ok()?;
        self.committed.get(at).map(|(entry, _)| entry)
    }

    /// Returns how many terms had a leader.
    pub fn leaders(&self) -> usize {
        self.leaders.len()
    }

    /// Checks a node's standing. Each term has one leader, and a leader has every entry committed in earlier terms. A
    /// node may become the leader of an old term late; it then lacks newer entries.
    pub fn stands(&mut self, replica: &Replica, standing: RoleAndTerm) {
        if standing.role != Role::Leader {
            return;
        }
        let id = replica.id();
        let leader = *self.leaders.entry(standing.term).or_insert(id);
        assert_eq!(leader, id, "{:?} has two leaders", standing.term);
        for (entry, _) in self.committed.iter().filter(|(_, term)| *term < standing.term) {
            assert!(replica.last() >= entry.index, "leader {id} lacks {:?}", entry.index);
            self.agrees(replica, entry);
        }
        // The first entry of its leadership is the first entry of its term.
        let begins = standing.begins.expect("a leader has a first entry");
        assert_eq!(replica.term_of(begins), Some(standing.term));
        assert!(replica.term_of(Index(begins.0 - 1)) < Some(standing.term));
    }

    /// Asserts that a node has the entry, or that its base covers it.
    fn agrees(&self, replica: &Replica, entry: &Entry) {
        if entry.index == replica.base().index {
            assert_eq!(replica.base().term, entry.term, "the base of {}", replica.id());
        } else if entry.index > replica.base().index {
            let own = replica.entry(entry.index);
            assert_eq!(own.as_ref(), Some(entry), "the log of {}", replica.id());
        }
    }

    /// Records an entry that is on a device or in a message. If two logs have an entry with the same index and term,
    /// the entries and everything before them are the same (log matching).
    pub fn is_made(&mut self, entry: &Entry, before: Term) {
        let made = (entry.kind.clone(), before);
        let known = self.made.entry((entry.index, entry.term)).or_insert_with(|| made.clone());
        assert_eq!(*known, made, "{:?} of {:?} was another one", entry.index, entry.term);
    }

    /// Checks a message as it is sent, from its bytes. A node votes once per term, and neither the vote nor any message
    /// as leader is sent before the disk holds the vote. An append has no more entries than a packet takes.
    pub fn sends(&mut self, packet: &Packet, message: &Message, disk: &Disk) {
        assert!(message.entries().len() <= BODIES_MAX, "more entries than a packet takes");
        let bytes = &packet.bytes;
        let term_at = |at: usize| {
            Term(u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes")))
        };
        // The offsets repeat the layout of messages, so that a decoding bug shows: version and kind take one byte each,
        // the node ids 8 bytes each, then the term follows.
        let term = term_at(18);
        let mut before = Term(0);
        for (at, entry) in message.entries().iter().enumerate() {
            self.is_made(entry, if at == 0 { term_at(34) } else { before });
            before = entry.term;
        }
        let vote = disk.device.vote;
        // Kind 4 asks for a vote, and its sender votes for itself; kind 5 answers that; 1, 6 and 8 come from a leader.
        // A byte of 0 after the term says that it is not a pre-vote.
        let candidate = match (bytes[1], bytes.get(26), bytes.get(27)) {
            (4, Some(0), _) => packet.from,
            (5, Some(0), Some(1)) => packet.to,
            (1 | 6 | 8, ..) => {
                assert!(vote.term >= term, "{} leads {term:?}, which is not stored", packet.from);
                return;
            }
            _ => return,
        };
        let given = *self.votes.entry((packet.from, term)).or_insert(candidate);
        assert_eq!(given, candidate, "{} votes twice in {term:?}", packet.from);
        let is_stored =
            vote.term > term || (vote.term == term && vote.candidate == Some(candidate));
        assert!(is_stored, "a vote of {} is not stored", packet.from);
    }

    /// Checks entries that a node calls committed. No other entry was committed at these indexes, and newly committed
    /// ones are on the disks of a majority: of the members in force before the step, or of the members after it.
    pub fn commits<'a>(
        &mut self,
        replica: &Replica,
        from: Index,
        to: Index,
        memberships: [&Membership; 2],
        disk: impl Fn(NodeId) -> Option<&'a Disk>,
    ) {
        for index in (from.0 + 1..=to.0).map(Index) {
            if let Some(entry) = self.entry(index).cloned() {
                self.agrees(replica, &entry);
                continue;
            }
            assert_eq!(index.0, self.committed().0 + 1, "{} skips what is committed", replica.id());
            let entry = replica.entry(index).expect("what is committed is there");
            let has = |node| disk(node).is_some_and(|disk| disk.has(index, entry.term));
            let is_stored = memberships.iter().any(|members| members.is_quorum(has));
            assert!(is_stored, "{index:?} is committed and on too few disks");
            self.committed.push((entry, replica.standing().term));
        }
    }

    /// Checks a confirmed read: it shows everything that was committed when it was requested.
    pub fn reads(&self, asked: Index, shows: Index) {
        assert!(shows >= asked, "a read shows {shows:?}, and {asked:?} was committed before it");
    }
}
