//! Headers that name a sequence of a log: the header of a segment (docs/formats/log.md), and the note of how much of
//! the log was on the device at least (docs/formats/reach.md). Both have these bytes, little-endian. The ballot of a
//! node (docs/formats/ballot.md) has term and vote, each u64, instead of the sequence:
//!
//! | at | bytes |
//! |---|---|
//! | 0 | magic, `SCURLOG\0` or `SCURRCH\0` |
//! | 8 | version u16, 1; of a segment of a replicated log 2 |
//! | 10 | log id u64 |
//! | 18 | core u32 |
//! | 22 | sequence u64 |
//! | 30 | checksum u32 of all before it |

use crate::header::{self, FORMAT_LEN, FileKind, Format};
use crate::log_numbers::Term;
use crate::{Checksum, HeaderError, LogFormat};
use alloc::vec::Vec;

const SEGMENT: Format = Format { kind: FileKind::Segment, magic: *b"SCURLOG\0", version: 1 };
const REPLICATED: Format = Format { version: 2, ..SEGMENT };
const REACH: Format = Format { kind: FileKind::Reach, magic: *b"SCURRCH\0", version: 1 };

const BALLOT: Format = Format { kind: FileKind::Ballot, magic: *b"SCURVOT\0", version: 1 };

const LEN: usize = FORMAT_LEN + 8 + 4 + 8 + 4;

/// Header of a segment of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentHeader {
    /// Id of the log, which was chosen at random when the log began.
    pub log_id: u64,
    /// Core that the log belongs to.
    pub core: u32,
    /// Sequence of the first record in the segment.
    pub first: u64,
    /// Format of the frames in the segment.
    pub format: LogFormat,
}

/// The part of a log that was on the device at least.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SyncedPart {
    /// Id of the log, which was chosen at random when the log began.
    pub log_id: u64,
    /// Core that the log belongs to.
    pub core: u32,
    /// Sequence up to which every record was on the device.
    pub sequence: u64,
}

/// The vote that a node has given in the group of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ballot {
    /// Id of the log, which was chosen at random when the log began.
    pub log_id: u64,
    /// Core that the log belongs to.
    pub core: u32,
    /// Greatest term that the node has seen.
    pub term: Term,
    /// Node that it has voted for in this term, 0 for none.
    pub vote: u64,
}

impl SegmentHeader {
    /// Length of the header, bytes.
    pub const LEN: usize = LEN;

    /// Appends the bytes of the header.
    pub fn encode(&self, checksum: Checksum, out: &mut Vec<u8>) {
        let format = match self.format {
            LogFormat::Single => SEGMENT,
            LogFormat::Replicated => REPLICATED,
        };
        encode(format, (self.log_id, self.core, self.first), checksum, out);
    }

    /// Reads the header at the start of a segment.
    pub fn decode(checksum: Checksum, bytes: &[u8]) -> Result<SegmentHeader, HeaderError> {
        // A segment of an unknown version is decoded as the newest format, whose refusal names the version.
        let format = match header::version(bytes) {
            Some(version) if version == SEGMENT.version => LogFormat::Single,
            _ => LogFormat::Replicated,
        };
        let kind = if format == LogFormat::Single { SEGMENT } else { REPLICATED };
        let (log_id, core, first) = decode(kind, checksum, bytes)?;
        Ok(SegmentHeader { log_id, core, first, format })
    }
}

impl SyncedPart {
    /// Length of the note, bytes.
    pub const LEN: usize = LEN;

    /// Appends the bytes of the note.
    pub fn encode(&self, checksum: Checksum, out: &mut Vec<u8>) {
        encode(REACH, (self.log_id, self.core, self.sequence), checksum, out);
    }

    /// Reads the note at the start of `bytes`.
    pub fn decode(checksum: Checksum, bytes: &[u8]) -> Result<SyncedPart, HeaderError> {
        let (log_id, core, sequence) = decode(REACH, checksum, bytes)?;
        Ok(SyncedPart { log_id, core, sequence })
    }
}

impl Ballot {
    /// Length of the ballot, bytes.
    pub const LEN: usize = LEN + 8;

    /// Appends the bytes of the ballot.
    pub fn encode(&self, checksum: Checksum, out: &mut Vec<u8>) {
        let fields = [
            &self.log_id.to_le_bytes()[..],
            &self.core.to_le_bytes(),
            &self.term.get().to_le_bytes(),
            &self.vote.to_le_bytes(),
        ];
        header::encode(BALLOT, &fields, checksum, out);
    }

    /// Reads the ballot at the start of `bytes`.
    pub fn decode(checksum: Checksum, bytes: &[u8]) -> Result<Ballot, HeaderError> {
        let mut fields = header::decode(BALLOT, Ballot::LEN, checksum, bytes)?;
        Ok(Ballot {
            log_id: fields.u64()?,
            core: fields.u32()?,
            term: Term(fields.u64()?),
            vote: fields.u64()?,
        })
    }
}

/// Log id, core and sequence.
type LogPoint = (u64, u32, u64);

fn encode(
    format: Format,
    (log_id, core, sequence): LogPoint,
    checksum: Checksum,
    out: &mut Vec<u8>,
) {
    let fields = [&log_id.to_le_bytes()[..], &core.to_le_bytes(), &sequence.to_le_bytes()];
    header::encode(format, &fields, checksum, out);
}

fn decode(format: Format, checksum: Checksum, bytes: &[u8]) -> Result<LogPoint, HeaderError> {
    let mut fields = header::decode(format, LEN, checksum, bytes)?;
    Ok((fields.u64()?, fields.u32()?, fields.u64()?))
}
