//! Headers of files: magic (8 bytes), version u16, the fields of the kind of file, checksum u32 of all
//! before it. The magic is looked at first, then the version: a newer one may have another length.

use crate::Checksum;
use alloc::vec::Vec;
use core::fmt;

/// A file's header or footer is not one that this program can read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeaderError {
    /// A file that begins, or a footer that ends, with other bytes than it must: `kind` says which it is not.
    Magic(FileKind),
    /// A newer program wrote it.
    Newer {
        /// Format of the file.
        found: u16,
        /// The newest format that this program reads.
        known: u16,
    },
    /// A format that never was.
    Version(u16),
    /// A file that is shorter than a header.
    Short,
    /// The checksum is another.
    Checksum,
}

/// Kinds of files, and of the ends of files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// A segment of a log.
    Segment,
    /// A snapshot.
    Snapshot,
    /// A snapshot that was written to its end.
    SnapshotEnd,
    /// The note of how far logs had come.
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

/// The magic of a kind of file, and the newest format of it that is known.
#[derive(Clone, Copy)]
pub(crate) struct Format {
    pub(crate) kind: FileKind,
    pub(crate) magic: [u8; MAGIC_LEN],
    pub(crate) version: u16,
}

const MAGIC_LEN: usize = 8;
/// Magic and version.
pub(crate) const FORMAT_LEN: usize = MAGIC_LEN + 2;

/// Appends magic, version, fields, and the checksum of all of these.
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

/// The version that a header names, whatever else it holds.
pub(crate) fn version(bytes: &[u8]) -> Option<u16> {
    bytes.get(MAGIC_LEN..)?.first_chunk().map(|version| u16::from_le_bytes(*version))
}

/// The fields of a header of `len` bytes, at the start of `bytes`.
pub(crate) fn decode(
    format: Format,
    len: usize,
    checksum: Checksum,
    bytes: &[u8],
) -> Result<Fields<'_>, HeaderError> {
    let magic = &bytes[..bytes.len().min(MAGIC_LEN)];
    if !format.magic.starts_with(magic) || magic.is_empty() {
        return Err(HeaderError::Magic(format.kind));
    }
    let mut head = Fields(bytes.get(MAGIC_LEN..).ok_or(HeaderError::Short)?);
    match u16::from_le_bytes(head.take()?) {
        version if version == format.version => {}
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

/// Fields of fixed widths, one behind the other.
pub(crate) struct Fields<'a>(pub(crate) &'a [u8]);

impl Fields<'_> {
    pub(crate) fn take<const N: usize>(&mut self) -> Result<[u8; N], HeaderError> {
        let (field, rest) = self.0.split_first_chunk().ok_or(HeaderError::Short)?;
        self.0 = rest;
        Ok(*field)
    }

    pub(crate) fn u32(&mut self) -> Result<u32, HeaderError> {
        Ok(u32::from_le_bytes(self.take()?))
    }

    pub(crate) fn u64(&mut self) -> Result<u64, HeaderError> {
        Ok(u64::from_le_bytes(self.take()?))
    }

    pub(crate) fn i64(&mut self) -> Result<i64, HeaderError> {
        Ok(i64::from_le_bytes(self.take()?))
    }
}
