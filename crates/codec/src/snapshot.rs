//! Header and footer of a snapshot, little-endian; docs/formats/snapshot.md has the whole file. The
//! header, version 1:
//!
//! | at | bytes |
//! |---|---|
//! | 0 | magic `SCURSNP\0` |
//! | 8 | version u16 |
//! | 10 | log id u64 |
//! | 18 | core u32 |
//! | 22 | key of the hash, 16 bytes |
//! | 38 | next sequence of the log u64 |
//! | 46 | time i64, ms |
//! | 54 | checksum u32 of all before it |
//!
//! The footer:
//!
//! | at | bytes |
//! |---|---|
//! | 0 | chunks u64 |
//! | 8 | entries u64 |
//! | 16 | greatest sequence that a chunk includes u64 |
//! | 24 | last version of an entity u64 |
//! | 32 | time i64, ms |
//! | 40 | checksum u32 of the log id and all before it |
//! | 44 | magic `SCUREND\0` |

use crate::header::{self, FORMAT_LEN, Fields, FileKind, Format};
use crate::{Checksum, HashKey, HeaderError, Seal};
use alloc::vec::Vec;
use scurry_ledger::Time;

const FORMAT: Format = Format { kind: FileKind::Snapshot, magic: *b"SCURSNP\0", version: 1 };
/// The last bytes of a snapshot that was written completely.
const END_MAGIC: [u8; 8] = *b"SCUREND\0";

/// Header of a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SnapshotHeader {
    /// Id of the log that continues where the snapshot ends.
    pub log_id: u64,
    /// Core whose keys the snapshot holds.
    pub core: u32,
    /// Key of the PolymurHash 2.0 that determines the order of the chunks: that of the process that wrote the snapshot.
    pub key: HashKey,
    /// Next sequence of the log when the snapshot began.
    pub log_next: u64,
    /// When the snapshot began, UTC ms.
    pub at: Time,
}

impl SnapshotHeader {
    /// Length of the header, bytes: the first chunk begins after it.
    pub const LEN: usize = FORMAT_LEN + 8 + 4 + HashKey::LEN + 8 + 8 + 4;

    /// Appends the bytes of the header.
    pub fn encode(&self, checksum: Checksum, out: &mut Vec<u8>) {
        let (log_id, core) = (self.log_id.to_le_bytes(), self.core.to_le_bytes());
        let (log_next, at) = (self.log_next.to_le_bytes(), self.at.0.to_le_bytes());
        header::encode(FORMAT, &[&log_id, &core, self.key.bytes(), &log_next, &at], checksum, out);
    }

    /// Reads the header at the start of a snapshot.
    pub fn decode(checksum: Checksum, bytes: &[u8]) -> Result<SnapshotHeader, HeaderError> {
        let mut fields = header::decode(FORMAT, SnapshotHeader::LEN, checksum, bytes)?;
        Ok(SnapshotHeader {
            log_id: fields.u64()?,
            core: fields.u32()?,
            key: HashKey::new(fields.read_array()?),
            log_next: fields.u64()?,
            at: Time(fields.i64()?),
        })
    }
}

/// Footer of a snapshot. Without it the snapshot was not written completely.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SnapshotFooter {
    /// Number of chunks.
    pub chunks: u64,
    /// Number of entries in all chunks.
    pub entries: u64,
    /// Greatest sequence of the log that a chunk includes.
    pub as_of: u64,
    /// Last version that the shard gave to an entity.
    pub version_last: u64,
    /// When the footer was written, UTC ms.
    pub at: Time,
}

impl SnapshotFooter {
    /// Length of the footer, bytes.
    pub const LEN: usize = 5 * 8 + 4 + END_MAGIC.len();

    /// Appends the bytes of the footer.
    #[expect(clippy::cast_sign_loss, reason = "the bits of the number")]
    pub fn encode(&self, seal: Seal, out: &mut Vec<u8>) {
        let start = out.len();
        let at = self.at.0 as u64;
        for number in [self.chunks, self.entries, self.as_of, self.version_last, at] {
            out.extend_from_slice(&number.to_le_bytes());
        }
        let sum = seal.checksum(&out[start..]);
        out.extend_from_slice(&sum.to_le_bytes());
        out.extend_from_slice(&END_MAGIC);
    }

    /// Reads the footer, which is the last [`SnapshotFooter::LEN`] bytes of a snapshot.
    pub fn decode(seal: Seal, bytes: &[u8]) -> Result<SnapshotFooter, HeaderError> {
        // The magic comes first: it tells whether the snapshot was written completely.
        let fields = bytes.strip_suffix(&END_MAGIC);
        let fields = fields.ok_or(HeaderError::Magic(FileKind::SnapshotEnd))?;
        if bytes.len() != SnapshotFooter::LEN {
            return Err(HeaderError::Short);
        }
        let (checked, sum) = fields.split_at(fields.len() - 4);
        if seal.checksum(checked).to_le_bytes() != sum {
            return Err(HeaderError::Checksum);
        }
        let mut fields = Fields(checked);
        Ok(SnapshotFooter {
            chunks: fields.u64()?,
            entries: fields.u64()?,
            as_of: fields.u64()?,
            version_last: fields.u64()?,
            at: Time(fields.i64()?),
        })
    }
}
