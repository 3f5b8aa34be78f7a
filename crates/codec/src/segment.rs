//! The header of a log segment. docs/formats/log.md has the bytes.

use crate::header::{self, FORMAT_LEN, FileKind, Format};
use crate::{Checksum, HeaderError};
use alloc::vec::Vec;

const FORMAT: Format = Format { kind: FileKind::Segment, magic: *b"SCURLOG\0", version: 1 };

/// Head of a segment of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentHeader {
    /// The log, by the number that was chosen at random when it began.
    pub log_id: u64,
    /// The core whose log it is.
    pub core: u32,
    /// The sequence of the first record in it.
    pub first: u64,
}

impl SegmentHeader {
    /// Bytes of the header.
    pub const LEN: usize = FORMAT_LEN + 8 + 4 + 8 + 4;

    /// Appends the bytes of the header.
    pub fn encode(&self, checksum: Checksum, out: &mut Vec<u8>) {
        let (log_id, core) = (self.log_id.to_le_bytes(), self.core.to_le_bytes());
        header::encode(FORMAT, &[&log_id, &core, &self.first.to_le_bytes()], checksum, out);
    }

    /// Reads the header at the start of a segment.
    pub fn decode(checksum: Checksum, bytes: &[u8]) -> Result<SegmentHeader, HeaderError> {
        let mut fields = header::decode(FORMAT, SegmentHeader::LEN, checksum, bytes)?;
        Ok(SegmentHeader { log_id: fields.u64()?, core: fields.u32()?, first: fields.u64()? })
    }
}
