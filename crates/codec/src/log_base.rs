//! The base of a group's log: its state before the first entry that a node keeps; docs/formats/base.md. The bytes,
//! little-endian:
//!
//! | at | bytes |
//! |---|---|
//! | 0 | magic `SCURBAS\0` |
//! | 8 | version u16, 1 |
//! | 10 | log id u64 |
//! | 18 | core u32 |
//! | 22 | index u64 |
//! | 30 | term u64 |
//! | 38 | sequence u64 |
//! | 46 | time i64 |
//! | 54 | chain u32 |
//! | 58 | count of voters u8 |
//! | 59 | count of learners u8 |
//! | 60 | each voter u64, each learner u64 |
//! | | checksum u32 of all before it |

use crate::header::{self, FORMAT_LEN, FileKind, Format};
use crate::log_numbers::{Index, LogPosition, Sequence, Term};
use crate::{Checksum, HeaderError};
use alloc::vec::Vec;

const BASE: Format = Format { kind: FileKind::Base, magic: *b"SCURBAS\0", version: 1 };

const COUNTS_AT: usize = FORMAT_LEN + 8 + 4 + 8 + 8 + 8 + 8 + 4;

/// The last entry that is not kept, and the group's state after it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogBase {
    /// Index of the entry.
    pub index: Index,
    /// Term of the entry.
    pub term: Term,
    /// Sequence of the last record of the entry.
    pub sequence: Sequence,
    /// Time of the entry, ms since 1970.
    pub at: i64,
    /// Chain of the next entry.
    pub chain: u32,
    /// Ids of the nodes with a vote, ascending.
    pub voters: Vec<u64>,
    /// Ids of the nodes without a vote, ascending.
    pub learners: Vec<u64>,
}

impl LogBase {
    /// Greatest length of a base, bytes.
    pub const LEN_MAX: usize = COUNTS_AT + 2 + 2 * 255 * 8 + 4;

    /// Returns the end of the entry.
    pub fn position(&self) -> LogPosition {
        LogPosition { index: self.index, sequence: self.sequence }
    }

    /// Appends the bytes of the base, for the log with this id and core.
    ///
    /// # Panics
    /// With more than 255 voters or 255 learners.
    pub fn encode(&self, (log_id, core): (u64, u32), checksum: Checksum, out: &mut Vec<u8>) {
        let LogBase { index, term, sequence, at, chain, voters, learners } = self;
        let count = |nodes: &[u64]| u8::try_from(nodes.len()).expect("a group has few nodes");
        let counts = [count(voters), count(learners)];
        let nodes: Vec<u8> =
            voters.iter().chain(learners).flat_map(|node| node.to_le_bytes()).collect();
        let fields = [
            &log_id.to_le_bytes()[..],
            &core.to_le_bytes(),
            &index.get().to_le_bytes(),
            &term.get().to_le_bytes(),
            &sequence.get().to_le_bytes(),
            &at.to_le_bytes(),
            &chain.to_le_bytes(),
            &counts,
            &nodes,
        ];
        header::encode(BASE, &fields, checksum, out);
    }

    /// Reads all of `bytes`. Returns the id and the core of the log, and its base.
    pub fn decode(checksum: Checksum, bytes: &[u8]) -> Result<((u64, u32), LogBase), HeaderError> {
        // The counts determine the length, so they are read before the checksum is verified.
        let counts = bytes.get(COUNTS_AT..COUNTS_AT + 2).unwrap_or(&[0, 0]);
        let [voters, learners] = [counts[0], counts[1]].map(usize::from);
        let len = COUNTS_AT + 2 + 8 * (voters + learners) + 4;
        let mut fields = header::decode(BASE, len, checksum, bytes)?;
        // Bytes after the base are an error too.
        if bytes.len() != len {
            return Err(HeaderError::Short);
        }
        let log = (fields.u64()?, fields.u32()?);
        let (index, term) = (Index(fields.u64()?), Term(fields.u64()?));
        let sequence = Sequence(fields.u64()?);
        let (at, chain) = (fields.u64()?.cast_signed(), fields.u32()?);
        let _counts: [u8; 2] = fields.read_array()?;
        let mut nodes = |count| (0..count).map(|_| fields.u64()).collect::<Result<Vec<u64>, _>>();
        let (voters, learners) = (nodes(voters)?, nodes(learners)?);
        Ok((log, LogBase { index, term, sequence, at, chain, voters, learners }))
    }
}
