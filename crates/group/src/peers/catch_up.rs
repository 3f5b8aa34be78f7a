//! Messages between two nodes about a snapshot, which the leader sends to a node that lacks more than its log still
//! has. docs/formats/between-nodes.md has the bytes.

use super::bytes::{PacketReader, put_bytes};
use scurry_codec::{GroupMembers, LogBase};
use scurry_consensus::replica::{Sequence, Term};
use scurry_consensus::shard::{SnapshotMessage, SnapshotOffer};
use scurry_engine::{LogId, checksum};

/// A message and the number of the snapshot that it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CatchUp {
    pub(crate) number: u64,
    pub(crate) word: SnapshotMessage,
}

impl CatchUp {
    pub(crate) fn encode(&self, log: LogId) -> Vec<u8> {
        let mut out = self.number.to_le_bytes().to_vec();
        match &self.word {
            SnapshotMessage::Offer(offer) => {
                let SnapshotOffer { term, base, begun, as_of, len, members } = &**offer;
                out.push(1);
                for number in [term.get(), begun.get(), as_of.get(), len.get()] {
                    out.extend(number.to_le_bytes());
                }
                let mut bytes = Vec::new();
                base.encode((log.id, log.core), checksum, &mut bytes);
                put_bytes(&mut out, &bytes);
                bytes.clear();
                members.iter().for_each(|members| members.encode(&mut bytes));
                put_bytes(&mut out, &bytes);
            }
            SnapshotMessage::Part { offset } => {
                out.push(2);
                out.extend(offset.get().to_le_bytes());
            }
            SnapshotMessage::Have { offset } => {
                out.push(3);
                out.extend(offset.get().to_le_bytes());
            }
            SnapshotMessage::Done => out.push(4),
            SnapshotMessage::Refused(why) => {
                out.push(5);
                put_bytes(&mut out, why.as_bytes());
            }
        }
        out
    }

    /// Decodes a message about a snapshot of this log. An error if it is not one, or has extra bytes.
    pub(crate) fn decode(log: LogId, bytes: &[u8]) -> Result<CatchUp, String> {
        let mut from = PacketReader(bytes);
        let read = (|| {
            let (number, kind) = (from.u64()?, from.u8()?);
            let word = match kind {
                1 => {
                    let (term, begun) = (Term(from.u64()?), Sequence(from.u64()?));
                    let (as_of, len) = (Sequence(from.u64()?), from.byte_count()?);
                    let (of, base) = LogBase::decode(checksum, from.bytes()?).ok()?;
                    let members = from.bytes()?;
                    let members = match members {
                        [] => None,
                        bytes => Some(GroupMembers::decode(bytes).ok()?),
                    };
                    if of != (log.id, log.core) {
                        return None;
                    }
                    SnapshotMessage::Offer(Box::new(SnapshotOffer {
                        term,
                        base,
                        begun,
                        as_of,
                        len,
                        members,
                    }))
                }
                2 => SnapshotMessage::Part { offset: from.byte_count()? },
                3 => SnapshotMessage::Have { offset: from.byte_count()? },
                4 => SnapshotMessage::Done,
                5 => SnapshotMessage::Refused(from.text()?),
                _ => return None,
            };
            from.0.is_empty().then_some(CatchUp { number, word })
        })();
        read.ok_or_else(|| "a word about a snapshot is none that this release knows".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use scurry_codec::{ByteCount, Index};

    const LOG: LogId = LogId { id: 7, core: 1 };

    fn words() -> Vec<SnapshotMessage> {
        let base = LogBase {
            index: Index(4),
            term: Term(2),
            sequence: Sequence(9),
            voters: vec![1, 2],
            ..LogBase::default()
        };
        let (term, begun, as_of) = (Term(3), Sequence(10), Sequence(12));
        let offer = |members| SnapshotOffer {
            term,
            base: base.clone(),
            begun,
            as_of,
            len: ByteCount(99),
            members,
        };
        vec![
            SnapshotMessage::Offer(Box::new(offer(None))),
            SnapshotMessage::Offer(Box::new(offer(Some(GroupMembers::default())))),
            SnapshotMessage::Part { offset: ByteCount(1 << 40) },
            SnapshotMessage::Have { offset: ByteCount(0) },
            SnapshotMessage::Done,
            SnapshotMessage::Refused("because".to_owned()),
        ]
    }

    #[test]
    fn words_come_back_and_nothing_else_is_one() {
        for word in words() {
            let said = CatchUp { number: u64::MAX, word };
            let bytes = said.encode(LOG);
            assert_eq!(CatchUp::decode(LOG, &bytes), Ok(said.clone()));
            for len in 0..bytes.len() {
                assert!(CatchUp::decode(LOG, &bytes[..len]).is_err(), "{len} of {said:?}");
            }
            assert!(CatchUp::decode(LOG, &[&bytes[..], &[0]].concat()).is_err());
            let other = CatchUp::decode(LogId { core: 2, ..LOG }, &bytes);
            assert_eq!(
                other.is_err(),
                matches!(said.word, SnapshotMessage::Offer(_)),
                "of another log"
            );
        }
    }
}
