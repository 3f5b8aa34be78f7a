//! How far a log had come, as a file beside it says. docs/formats/reach.md has the bytes.

use crate::header::{self, FORMAT_LEN, FileKind, Format};
use crate::{Checksum, HeaderError};
use alloc::vec::Vec;

const FORMAT: Format = Format { kind: FileKind::Reach, magic: *b"SCURRCH\0", version: 1 };

/// How far a log had come at least.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reach {
    /// The log, by the number that was chosen at random when it began.
    pub log_id: u64,
    /// The core whose log it is.
    pub core: u32,
    /// Everything up to this sequence was on the device.
    pub sequence: u64,
}

impl Reach {
    /// Bytes of it.
    pub const LEN: usize = FORMAT_LEN + 8 + 4 + 8 + 4;

    /// Appends its bytes.
    pub fn encode(&self, checksum: Checksum, out: &mut Vec<u8>) {
        let (log_id, core) = (self.log_id.to_le_bytes(), self.core.to_le_bytes());
        header::encode(FORMAT, &[&log_id, &core, &self.sequence.to_le_bytes()], checksum, out);
    }

    /// Reads what is at the start of `bytes`.
    pub fn decode(checksum: Checksum, bytes: &[u8]) -> Result<Reach, HeaderError> {
        let mut fields = header::decode(FORMAT, Reach::LEN, checksum, bytes)?;
        Ok(Reach { log_id: fields.u64()?, core: fields.u32()?, sequence: fields.u64()? })
    }
}
