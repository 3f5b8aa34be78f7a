//! Messages between replicas, and their bytes: docs/formats/replica-messages.md.

use crate::replica::entry::{Descriptor, Entry, EntryKind, Members};
use crate::replica::ids::{ByteCount, Index, NUMBER_MAX, NodeId, Round, Sequence, Term};
use crate::replica::wire::WireReader;

/// Version of the encoding.
const VERSION: u8 = 1;

/// Minimum bytes of an encoded entry.
const ENTRY_LEN_MIN: usize = 9;

/// A message from one replica to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    pub(crate) from: NodeId,
    pub(crate) to: NodeId,
    pub(crate) term: Term,
    pub(crate) body: MessageBody,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum MessageBody {
    Append {
        /// The entry before the first of `entries`.
        previous: Index,
        previous_term: Term,
        committed: Index,
        entries: Vec<Entry>,
    },
    Appended {
        /// The last entry that matches the leader's log.
        index: Index,
        committed: Index,
    },
    NotAppended {
        /// The entry before the first of the append; the sender's log lacks it.
        previous: Index,
        /// The last entry on which both logs may agree.
        hint: Index,
        hint_term: Term,
        committed: Index,
    },
    AskVote {
        /// True for a pre-vote: the sender promises nothing, and asks whether an election could succeed.
        before: bool,
        /// True when the leader has requested the election to transfer leadership.
        transfer: bool,
        last: Index,
        last_term: Term,
        committed: Index,
        committed_term: Term,
    },
    Vote {
        before: bool,
        granted: bool,
        committed: Index,
        committed_term: Term,
    },
    Heartbeat {
        committed: Index,
        /// The round that confirms reads; 0 for none.
        round: Round,
    },
    Alive {
        committed: Index,
        round: Round,
    },
    TimeoutNow,
}

/// Invalid bytes of a message. The sender speaks another protocol, or the bytes were changed on the way: close the
/// connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The version is not known to this program.
    #[error(
        "version {0} of a message between replicas: this program knows {VERSION}; run the same version on all nodes"
    )]
    Version(u8),
    /// The bytes are not a message.
    #[error(
        "no message between replicas: the bytes end early, go on too long, or have a value that cannot be"
    )]
    Malformed,
}

impl Message {
    /// Returns the sender.
    pub fn from(&self) -> NodeId {
        self.from
    }

    /// Returns the receiver.
    pub fn to(&self) -> NodeId {
        self.to
    }

    /// Returns the sender's term; in a pre-vote, the term of the election that it asks about.
    pub fn term(&self) -> Term {
        self.term
    }

    /// Returns the entries of an append, in order; empty for other messages. Their bodies are sent before the message.
    pub fn entries(&self) -> &[Entry] {
        match &self.body {
            MessageBody::Append { entries, .. } => entries,
            _ => &[],
        }
    }

    /// Reports whether it is a heartbeat of a leader.
    pub(crate) fn is_heartbeat(&self) -> bool {
        matches!(self.body, MessageBody::Heartbeat { .. })
    }

    /// Returns an append with its first entries only. The sender must take the others for lost.
    pub(crate) fn shortened(&self, count: usize) -> Message {
        let mut message = self.clone();
        if let MessageBody::Append { entries, .. } = &mut message.body {
            entries.truncate(count);
        }
        message
    }

    /// Asserts what [`Message::decode`] requires of a message: the receiver would refuse any other and close the
    /// connection.
    fn check(&self) {
        let is_term = |term: Term| term > Term(0) && term.0 < NUMBER_MAX;
        assert!(is_term(self.term), "a message has no term: {:?}", self.term);
        let is_position = |index, term| (index == Index(0)) == (term == Term(0));
        match &self.body {
            MessageBody::Append { previous, previous_term, entries, .. } => {
                assert!(is_position(*previous, *previous_term), "an append is after no entry");
                assert!(*previous_term <= self.term, "an append is after an entry of a later term");
                let (Some(first), Some(last)) = (entries.first(), entries.last()) else { return };
                assert!(first.index == previous.next(), "an append has a gap before its entries");
                let end = previous.0 + entries.len() as u64;
                assert!(last.index == Index(end), "an append has a gap within its entries");
                assert!(first.term >= *previous_term, "terms fall before an append's entries");
                assert!(last.term >= first.term, "terms fall within an append");
                assert!(last.term <= self.term, "an append has an entry of a later term");
            }
            MessageBody::AskVote { last, last_term, committed, committed_term, .. } => {
                assert!(
                    is_position(*last, *last_term),
                    "a candidate names an entry without a term"
                );
                assert!(is_position(*committed, *committed_term), "a commit has no term");
            }
            MessageBody::Vote { committed, committed_term, .. } => {
                assert!(is_position(*committed, *committed_term), "a commit has no term");
            }
            _ => {}
        }
    }

    /// Appends the message's bytes to `out`.
    pub fn encode(&self, out: &mut Vec<u8>) {
        self.check();
        let kind = match &self.body {
            MessageBody::Append { .. } => 1,
            MessageBody::Appended { .. } => 2,
            MessageBody::NotAppended { .. } => 3,
            MessageBody::AskVote { .. } => 4,
            MessageBody::Vote { .. } => 5,
            MessageBody::Heartbeat { .. } => 6,
            MessageBody::Alive { .. } => 7,
            MessageBody::TimeoutNow => 8,
        };
        out.extend([VERSION, kind]);
        put(out, &[self.from.get(), self.to.get(), self.term.0]);
        match &self.body {
            MessageBody::Append { previous, previous_term, committed, entries } => {
                put(out, &[previous.0, previous_term.0, committed.0]);
                // No append comes near this: the log returns at most `ENTRIES_MAX` entries at a time, and the engine adds
                // those of the step in which it sends.
                out.extend(u32::try_from(entries.len()).unwrap_or(u32::MAX).to_le_bytes());
                entries.iter().for_each(|entry| put_entry(out, entry));
            }
            MessageBody::Appended { index, committed } => put(out, &[index.0, committed.0]),
            MessageBody::NotAppended { previous, hint, hint_term, committed } => {
                put(out, &[previous.0, hint.0, hint_term.0, committed.0]);
            }
            MessageBody::AskVote {
                before,
                transfer,
                last,
                last_term,
                committed,
                committed_term,
            } => {
                out.extend([u8::from(*before), u8::from(*transfer)]);
                put(out, &[last.0, last_term.0, committed.0, committed_term.0]);
            }
            MessageBody::Vote { before, granted, committed, committed_term } => {
                out.extend([u8::from(*before), u8::from(*granted)]);
                put(out, &[committed.0, committed_term.0]);
            }
            MessageBody::Heartbeat { committed, round }
            | MessageBody::Alive { committed, round } => {
                put(out, &[committed.0, round.0]);
            }
            MessageBody::TimeoutNow => {}
        }
    }

    /// Decodes a message that takes up all of the bytes. Memory is allocated for at most as many entries as the bytes
    /// can hold, whatever length they claim.
    pub fn decode(bytes: &[u8]) -> Result<Message, DecodeError> {
        let mut reader = WireReader(bytes);
        let version = reader.u8().ok_or(DecodeError::Malformed)?;
        if version != VERSION {
            return Err(DecodeError::Version(version));
        }
        // Bytes after the message make it invalid too.
        let message = read(&mut reader).filter(|_| reader.0.is_empty());
        message.ok_or(DecodeError::Malformed)
    }
}

fn put(out: &mut Vec<u8>, numbers: &[u64]) {
    for number in numbers {
        out.extend(number.to_le_bytes());
    }
}

fn put_entry(out: &mut Vec<u8>, entry: &Entry) {
    let kind = match &entry.kind {
        EntryKind::Empty => 1,
        EntryKind::Frame(_) => 2,
        EntryKind::Members(_) => 3,
        EntryKind::MembersFinal => 4,
    };
    out.push(kind);
    put(out, &[entry.term.0]);
    match &entry.kind {
        EntryKind::Empty | EntryKind::MembersFinal => {}
        EntryKind::Frame(Descriptor { first, last, len, checksum }) => {
            put(out, &[first.0, last.0]);
            let len = u32::try_from(len.get()).expect("a frame is shorter than 4 GiB");
            out.extend(len.to_le_bytes());
            out.extend(checksum.to_le_bytes());
        }
        EntryKind::Members(members) => {
            for nodes in [members.voters(), members.learners()] {
                // `Members::new` allows at most 255 of each.
                out.push(u8::try_from(nodes.len()).unwrap_or(u8::MAX));
                nodes.iter().for_each(|node| put(out, &[node.get()]));
            }
        }
    }
}

fn read(reader: &mut WireReader<'_>) -> Option<Message> {
    let kind = reader.u8()?;
    let (from, to) = (NodeId::new(reader.u64()?)?, NodeId::new(reader.u64()?)?);
    let sender_term = term(reader).filter(|term| *term > Term(0))?;
    let body = match kind {
        1 => {
            let (previous, previous_term) = position(reader)?;
            let committed = index(reader)?;
            let entries = entries(reader, previous, previous_term, sender_term)?;
            MessageBody::Append { previous, previous_term, committed, entries }
        }
        2 => MessageBody::Appended { index: index(reader)?, committed: index(reader)? },
        3 => {
            let previous = index(reader)?;
            let (hint, hint_term) = (index(reader)?, term(reader)?);
            MessageBody::NotAppended { previous, hint, hint_term, committed: index(reader)? }
        }
        4 => {
            let (before, transfer) = (flag(reader)?, flag(reader)?);
            let (last, last_term) = position(reader)?;
            let (committed, committed_term) = position(reader)?;
            MessageBody::AskVote { before, transfer, last, last_term, committed, committed_term }
        }
        5 => {
            let (before, granted) = (flag(reader)?, flag(reader)?);
            let (committed, committed_term) = position(reader)?;
            MessageBody::Vote { before, granted, committed, committed_term }
        }
        6 => MessageBody::Heartbeat { committed: index(reader)?, round: Round(reader.u64()?) },
        7 => MessageBody::Alive { committed: index(reader)?, round: Round(reader.u64()?) },
        8 => MessageBody::TimeoutNow,
        _ => return None,
    };
    Some(Message { from, to, term: sender_term, body })
}

/// Reads a number that is valid as a term or an index.
fn number(reader: &mut WireReader<'_>) -> Option<u64> {
    reader.u64().filter(|number| *number < NUMBER_MAX)
}

fn index(reader: &mut WireReader<'_>) -> Option<Index> {
    number(reader).map(Index)
}

fn term(reader: &mut WireReader<'_>) -> Option<Term> {
    number(reader).map(Term)
}

/// Reads an index and its term: both are 0 or neither is.
fn position(reader: &mut WireReader<'_>) -> Option<(Index, Term)> {
    let (index, term) = (index(reader)?, term(reader)?);
    ((index == Index(0)) == (term == Term(0))).then_some((index, term))
}

fn flag(reader: &mut WireReader<'_>) -> Option<bool> {
    match reader.u8()? {
        0 => Some(false),
        1 => Some(true),
        _ => None,
    }
}

/// Reads entries whose terms never decrease and do not exceed the leader's.
fn entries(
    reader: &mut WireReader<'_>,
    previous: Index,
    previous_term: Term,
    leader: Term,
) -> Option<Vec<Entry>> {
    let count = usize::try_from(reader.u32()?).ok()?;
    // Check before allocating: the count is not trusted.
    if count > reader.0.len() / ENTRY_LEN_MIN {
        return None;
    }
    let mut entries = Vec::with_capacity(count);
    let mut last_term = previous_term.max(Term(1));
    for index in previous.0 + 1..=previous.0 + count as u64 {
        let kind = reader.u8()?;
        last_term = term(reader).filter(|term| (last_term..=leader).contains(term))?;
        let kind = match kind {
            1 => EntryKind::Empty,
            2 => EntryKind::Frame(Descriptor {
                first: Sequence(reader.u64()?),
                last: Sequence(reader.u64()?),
                len: ByteCount(reader.u32()?.into()),
                checksum: reader.u32()?,
            }),
            3 => EntryKind::Members(Box::new(Members::new(nodes(reader)?, nodes(reader)?).ok()?)),
            4 => EntryKind::MembersFinal,
            _ => return None,
        };
        entries.push(Entry { term: last_term, index: Index(index), kind });
    }
    (previous_term <= leader).then_some(entries)
}

/// Reads a list of nodes in ascending order.
fn nodes(reader: &mut WireReader<'_>) -> Option<Vec<NodeId>> {
    let count = reader.u8()?;
    let nodes: Vec<NodeId> =
        (0..count).map(|_| NodeId::new(reader.u64()?)).collect::<Option<_>>()?;
    nodes.is_sorted().then_some(nodes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(number: u64) -> NodeId {
        NodeId::new(number).unwrap()
    }

    fn messages() -> Vec<Message> {
        let (first, last) = (Sequence(9), Sequence(12));
        let descriptor = Descriptor { first, last, len: ByteCount(700), checksum: 0xdead_beef };
        let members = Members::new([node(1), node(2)], [node(u64::MAX)]).unwrap();
        let kinds = [
            EntryKind::Empty,
            EntryKind::Frame(descriptor),
            EntryKind::Members(Box::new(members)),
            EntryKind::MembersFinal,
        ];
        let entry = |(index, kind)| Entry { term: Term(3), index: Index(index), kind };
        let entries = (8..).zip(kinds).map(entry).collect();
        let (committed, committed_term) = (Index(6), Term(2));
        let bodies = [
            MessageBody::Append { previous: Index(7), previous_term: Term(2), committed, entries },
            MessageBody::Append {
                previous: Index(0),
                previous_term: Term(0),
                committed: Index(0),
                entries: Vec::new(),
            },
            MessageBody::Appended { index: Index(11), committed },
            MessageBody::NotAppended {
                previous: Index(7),
                hint: Index(5),
                hint_term: Term(1),
                committed,
            },
            MessageBody::AskVote {
                before: true,
                transfer: false,
                last: Index(7),
                last_term: Term(2),
                committed,
                committed_term,
            },
            MessageBody::Vote {
                before: false,
                granted: true,
                committed: Index(0),
                committed_term: Term(0),
            },
            MessageBody::Heartbeat { committed, round: Round(77) },
            MessageBody::Alive { committed, round: Round(0) },
            MessageBody::TimeoutNow,
        ];
        let message = |body| Message { from: node(1), to: node(2), term: Term(4), body };
        bodies.into_iter().map(message).collect()
    }

    #[test]
    fn messages_come_back_and_no_part_of_one_is_one() {
        for message in messages() {
            let mut bytes = Vec::new();
            message.encode(&mut bytes);
            assert_eq!(Message::decode(&bytes), Ok(message));
            for len in 0..bytes.len() {
                assert_eq!(Message::decode(&bytes[..len]), Err(DecodeError::Malformed), "{len}");
            }
            bytes.push(0);
            assert_eq!(Message::decode(&bytes), Err(DecodeError::Malformed));
            bytes[0] = 2;
            assert_eq!(Message::decode(&bytes), Err(DecodeError::Version(2)));
        }
    }

    /// Decodes the bytes of the first message with `bytes` written at `at`.
    fn append_with(at: usize, bytes: &[u8]) -> Result<Message, DecodeError> {
        let mut all = Vec::new();
        messages()[0].encode(&mut all);
        all[at..at + bytes.len()].copy_from_slice(bytes);
        Message::decode(&all)
    }

    #[test]
    fn what_the_engine_cannot_count_on_is_no_message() {
        let number = |number: u64| number.to_le_bytes();
        assert!(append_with(34, &number(1)).is_ok(), "another term of the entry before");
        for (at, value, what) in [
            (2, 0, "no sender"),
            (10, 0, "no receiver"),
            (18, 0, "no term"),
            (18, NUMBER_MAX, "a term without a next one"),
            (26, 0, "a first entry behind one that has a term"),
            (34, 0, "an entry before without a term"),
            (26, u64::MAX, "an index without a next one"),
            (34, 5, "an entry before of a newer term"),
            (55, 5, "an entry of a newer term"),
            (55, 1, "an entry of an older term than the one before"),
        ] {
            assert_eq!(append_with(at, &number(value)), Err(DecodeError::Malformed), "{what}");
        }
        let count = u32::MAX.to_le_bytes();
        assert_eq!(
            append_with(50, &count),
            Err(DecodeError::Malformed),
            "entries that are not there"
        );
    }
}
