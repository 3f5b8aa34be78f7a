//! Frames of a replicated log: each is an entry of the log that the nodes of a group agree on, or a mark of the node
//! that wrote it. docs/formats/log.md has the bytes; the header, little-endian:
//!
//! | at | bytes | what |
//! |---|---|---|
//! | 0 | u32 | length of all of it |
//! | 4 | u32 | checksum of the log id and the header from 8 on |
//! | 8 | u64 | sequence of the first record; of a mark, which has none, that of the next one |
//! | 16 | u64 | greatest sequence known to be on this node's device |
//! | 24 | u64 | time, ms |
//! | 32 | u32 | count of records |
//! | 36 | u64 | term |
//! | 44 | u64 | index |
//! | 52 | u64 | greatest index known to be committed |
//! | 60 | u32 | chain: over all entries before it |
//! | 64 | u32 | content: checksum of the log id, of 8 to 16, 24 to 36, and of the records |
//! | 68 | | records |
//!
//! No checksum that nodes compare covers the fields that each node has for itself (16, 52), so a node can write its own
//! values there without reading the body.

use crate::framing::{
    ENTRY_HEADER_LEN, FRAME_LEN_MAX, FrameError, FrameStart, Framing, Seal, number, word,
};
use crate::log_numbers::{Index, Sequence, Term};

/// Offset of the first byte that the checksum covers.
const CHECKED_FROM: usize = 8;

/// An entry in the log of a group, as its frame's header describes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogEntry {
    /// Term in which a leader appended it.
    pub term: Term,
    /// Index of the entry, from 1. A mark has the index and term of the entry before it.
    pub index: Index,
    /// Greatest index that the node which wrote the frame knew to be committed.
    pub committed: Index,
    /// Checksum over all entries before it, in order.
    pub chain: u32,
    /// Checksum of the part that is the same on every node.
    pub content: u32,
}

impl LogEntry {
    /// Returns the chain of the next entry. After a mark the chain is the mark's own.
    pub fn next_chain(&self, seal: Seal) -> u32 {
        let mut bytes = [0; 20];
        bytes[..8].copy_from_slice(&self.term.get().to_le_bytes());
        bytes[8..16].copy_from_slice(&self.index.get().to_le_bytes());
        bytes[16..].copy_from_slice(&self.content.to_le_bytes());
        seal.on(self.chain, &bytes)
    }
}

/// Fills in the header fields that the writer of the records knows; `bytes` are the frame with its body. [`content_of`]
/// and [`put_entry`] fill in the rest.
///
/// # Panics
/// If the frame is longer than [`FRAME_LEN_MAX`].
pub(crate) fn begin(bytes: &mut [u8], first: u64, at: u64, count: u32) {
    assert!(bytes.len() <= FRAME_LEN_MAX, "a frame is at most {FRAME_LEN_MAX} bytes: seal sooner");
    let len = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
    bytes[..4].copy_from_slice(&len.to_le_bytes());
    bytes[8..16].copy_from_slice(&first.to_le_bytes());
    bytes[24..32].copy_from_slice(&at.to_le_bytes());
    bytes[32..36].copy_from_slice(&count.to_le_bytes());
}

/// Returns the checksum of the part of a frame that is the same on every node; `None` if `bytes` are shorter than a
/// header.
pub fn content_of(seal: Seal, bytes: &[u8]) -> Option<u32> {
    let body = bytes.get(ENTRY_HEADER_LEN..)?;
    let head = seal.checksum(&bytes[8..16]);
    let head = seal.on(head, &bytes[24..36]);
    Some(seal.on(head, body))
}

/// Makes a frame an entry in the log of this node. `synced` is the greatest sequence known to be on its device. Returns
/// false if `bytes` are shorter than a header.
pub fn put_entry(seal: Seal, bytes: &mut [u8], entry: &LogEntry, synced: Sequence) -> bool {
    let Some(head) = bytes.get_mut(..ENTRY_HEADER_LEN) else { return false };
    head[16..24].copy_from_slice(&synced.get().to_le_bytes());
    head[36..44].copy_from_slice(&entry.term.get().to_le_bytes());
    head[44..52].copy_from_slice(&entry.index.get().to_le_bytes());
    head[52..60].copy_from_slice(&entry.committed.get().to_le_bytes());
    head[60..64].copy_from_slice(&entry.chain.to_le_bytes());
    head[64..68].copy_from_slice(&entry.content.to_le_bytes());
    let checksum = seal.checksum(&head[CHECKED_FROM..]);
    head[4..8].copy_from_slice(&checksum.to_le_bytes());
    true
}

/// Reads a frame at the start of `bytes`.
pub(crate) fn open(seal: Seal, bytes: &[u8]) -> (FrameStart<'_>, Option<LogEntry>) {
    let Some(len) = word(bytes, 0) else { return (FrameStart::Torn, None) };
    // A header of zeros is space that was never written, not damage.
    if len == 0 && bytes.iter().take(ENTRY_HEADER_LEN).all(|&byte| byte == 0) {
        return (FrameStart::Torn, None);
    }
    let whole = match usize::try_from(len) {
        Ok(len @ ENTRY_HEADER_LEN..=FRAME_LEN_MAX) => bytes.get(..len),
        _ => return (FrameStart::Damaged(FrameError::Length(len)), None),
    };
    let Some(whole) = whole else { return (FrameStart::Torn, None) };
    // The checksum of the header, then that of the content that all nodes share.
    let sums = [
        (word(whole, 4), seal.checksum(&whole[CHECKED_FROM..ENTRY_HEADER_LEN])),
        (word(whole, 64), content_of(seal, whole).unwrap_or_default()),
    ];
    for (stored, computed) in sums {
        let stored = stored.unwrap_or_default();
        if stored != computed {
            return (FrameStart::Damaged(FrameError::Checksum { stored, computed }), None);
        }
    }
    match reopen(whole) {
        Some((framing, entry)) => (FrameStart::Whole(framing), Some(entry)),
        None => (FrameStart::Torn, None),
    }
}

/// Reads a frame that [`open`] has already checked, without computing its checksums again.
pub(crate) fn reopen(whole: &[u8]) -> Option<(Framing<'_>, LogEntry)> {
    let numbers = [number(whole, 8)?, number(whole, 16)?, number(whole, 24)?];
    let body = whole.get(ENTRY_HEADER_LEN..)?;
    let entry = LogEntry {
        term: Term(number(whole, 36)?),
        index: Index(number(whole, 44)?),
        committed: Index(number(whole, 52)?),
        chain: word(whole, 60)?,
        content: word(whole, 64)?,
    };
    Some((Framing { numbers, count: word(whole, 32)?, body }, entry))
}
