//! Headers of files: magic (8 bytes), version u16, the fields of the kind of file, checksum u32 of everything before
//! it. The magic is checked first, then the version: a header of a newer version may have another length.

use crate::Checksum;
use alloc::vec::Vec;
use core::fmt;

/// Reasons why a file's header or footer cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeaderError {
    /// The header begins, or the footer ends, with other bytes than those of this kind.
    Magic(FileKind),
    /// A newer program wrote the file.
    Newer {
        /// Format of the file.
        found: u16,
        /// The newest format that this program reads.
        known: u16,
    },
    /// A format number that was never used.
    Version(u16),
    /// The file is shorter than a header.
    Short,
    /// The checksum differs.
    Checksum,
}

/// Kinds of files, and of footers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// A segment of a log.
    Segment,
    /// A snapshot.
    Snapshot,
    /// The footer of a snapshot that was written completely.
    SnapshotEnd,
    /// The note of how much of a log was on the device at least.
    Reach,
    /// The note of the votes that a node of a group has given.
    Ballot,
    /// The state of a group's log before the first entry that is kept.
    Base,
}

impl fmt::Display for HeaderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            HeaderError::Magic(FileKind::Segment) => "not a log segment",
            HeaderError::Magic(FileKind::Snapshot) => "not a snapshot",
            HeaderError::Magic(FileKind::SnapshotEnd) => "not the end of a snapshot",
            HeaderError::Magic(FileKind::Reach) => "not the reach of a log",
            HeaderError::Magic(FileKind::Ballot) => "not the ballot of a node",
            HeaderError::Magic(FileKind::Base) => "not the base of a log",
            HeaderError::Newer { found, known } => {
                return write!(
                    f,
                    "written by a newer Scurry (format {found}); this one reads up to {known}"
                );
            }
            HeaderError::Version(version) => return write!(f, "unknown format {version}"),
            HeaderError::Short => "ends inside of its header",
            HeaderError::Checksum => "header is damaged: its checksum is another",
        })
    }
}

impl core::error::Error for HeaderError {}

/// The magic of a kind of file, and its newest known format.
#[derive(Clone, Copy)]
pub(crate) struct Format {
    pub(crate) kind: FileKind,
    pub(crate) magic: [u8; MAGIC_LEN],
    pub(crate) version: u16,
}

const MAGIC_LEN: usize = 8;
/// Magic and version.
pub(crate) const FORMAT_LEN: usize = MAGIC_LEN + 2;

/// Appends magic, version, fields, and the checksum of all three.
pub(crate) fn encode(format: Format, fields: &[&[u8]], checksum: Checksum, out: &mut Vec<u8>) {
    let start = out.len();
    out.extend_from_slice(&format.magic);
    out.extend_from_slice(&format.version.to_le_bytes());
    for field in fields {
        out.extend_from_slice(field);
    }
    let sum = checksum(0, &out[start..]);
    out.extend_from_slice(&sum.to_le_bytes());
}

/// Returns the version in a header without checking anything else.
pub(crate) fn version(bytes: &[u8]) -> Option<u16> {
    bytes.get(MAGIC_LEN..)?.first_chunk().map(|version| u16::from_le_bytes(*version))
}

/// Returns the fields of a header of `len` bytes at the start of `bytes`.
pub(crate) fn decode(
    format: Format,
    len: usize,
    checksum: Checksum,
    bytes: &[u8],
) -> Result<Fields<'_>, HeaderError> {
    let magic = &bytes[..bytes.len().min(MAGIC_LEN)];
    // A file that is cut inside its magic counts as short, an empty one as another kind of file.
    if !format.magic.starts_with(magic) || magic.is_empty() {
        return Err(HeaderError::Magic(format.kind));
    }
    let mut head = Fields(bytes.get(MAGIC_LEN..).ok_or(HeaderError::Short)?);
    match u16::from_le_bytes(head.read_array()?) {
        version if version == format.version => {}
        // Before length and checksum, which a newer version may define differently.
        version if version > format.version => {
            return Err(HeaderError::Newer { found: version, known: format.version });
        }
        version => return Err(HeaderError::Version(version)),
    }
    let whole = bytes.get(..len).ok_or(HeaderError::Short)?;
    let (checked, sum) = whole.split_at(len - 4);
    if checksum(0, checked).to_le_bytes() != sum {
        return Err(HeaderError::Checksum);
    }
    Ok(Fields(&checked[FORMAT_LEN..]))
}

/// A reader of consecutive fields of fixed width.
pub(crate) struct Fields<'a>(pub(crate) &'a [u8]);

impl Fields<'_> {
    pub(crate) fn read_array<const N: usize>(&mut self) -> Result<[u8; N], HeaderError> {
        let (field, rest) = self.0.split_first_chunk().ok_or(HeaderError::Short)?;
        self.0 = rest;
        Ok(*field)
    }

    pub(crate) fn u32(&mut self) -> Result<u32, HeaderError> {
        Ok(u32::from_le_bytes(self.read_array()?))
    }

    pub(crate) fn u64(&mut self) -> Result<u64, HeaderError> {
        Ok(u64::from_le_bytes(self.read_array()?))
    }

    pub(crate) fn i64(&mut self) -> Result<i64, HeaderError> {
        Ok(i64::from_le_bytes(self.read_array()?))
    }
}
