//! The header that frames of the log have before their records, and chunks of a snapshot before their entries,
//! little-endian (docs/formats/log.md, docs/formats/snapshot.md):
//!
//! | at | bytes | of a frame | of a chunk |
//! |---|---|---|---|
//! | 0 | u32 | length of all of it | the same |
//! | 4 | u32 | checksum of the log id and all from 8 on | the same |
//! | 8 | u64 | sequence of the first record | first position |
//! | 16 | u64 | greatest sequence known to be on the device | end of the positions, exclusive |
//! | 24 | u64 | time, ms | last sequence that it includes |
//! | 32 | u32 | count of records | count of entries |
//! | 36 | | records | entries |
//!
//! The checksum function is an argument: the fast one asks the processor for its features, which a crate without std
//! cannot do; docs/adr/0013-bytes-on-disk.md.

use core::fmt;

/// Length of the header of a frame and of a chunk, bytes: length u32, checksum u32, three numbers u64, count u32.
pub(crate) const HEADER_LEN: usize = 4 + 4 + 3 * 8 + 4;
/// Length of the header of a frame of a replicated log, bytes; see `entry_frame.rs`.
pub(crate) const ENTRY_HEADER_LEN: usize = 68;
/// Offset of the first byte that the checksum covers.
const CHECKED_FROM: usize = 8;

/// Greatest length of a frame or a chunk, bytes.
pub const FRAME_LEN_MAX: usize = 1 << 30;

/// crc32c (Castagnoli), continued from the checksum of the bytes before, which is 0 at the beginning:
/// `checksum(checksum(0, a), b)` is the checksum of `a` followed by `b`.
pub type Checksum = fn(u32, &[u8]) -> u32;

/// Seals the frames and chunks of one log: the checksum begins with the id of the log. Frames do not hold the id, so
/// those of another log fail the check.
#[derive(Clone, Copy, Debug)]
pub struct Seal {
    checksum: Checksum,
    /// Checksum of the log's id.
    start: u32,
    format: LogFormat,
}

/// Format of a log; the number is the version of its segments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogFormat {
    /// Format 1: frames of a store on one machine.
    #[default]
    Single,
    /// Format 2: frames that are entries of the log of a group, or marks between them.
    Replicated,
}

impl Seal {
    /// Returns a seal for the log of this id, which is chosen at random when a log begins.
    pub fn new(checksum: Checksum, log_id: u64) -> Seal {
        let start = checksum(0, &log_id.to_le_bytes());
        Seal { checksum, start, format: LogFormat::Single }
    }

    /// Returns the same seal for frames of another format.
    pub fn in_format(self, format: LogFormat) -> Seal {
        Seal { format, ..self }
    }

    /// Returns the format of the frames.
    pub fn format(&self) -> LogFormat {
        self.format
    }

    /// Returns the chain of a log's first entry.
    pub fn chain_start(&self) -> u32 {
        self.start
    }

    pub(crate) fn checksum(&self, bytes: &[u8]) -> u32 {
        self.on(self.start, bytes)
    }

    /// Continues a checksum.
    pub(crate) fn on(&self, before: u32, bytes: &[u8]) -> u32 {
        (self.checksum)(before, bytes)
    }

    /// Returns the length of the header of a frame, bytes.
    pub(crate) fn header_len(&self) -> usize {
        match self.format {
            LogFormat::Single => HEADER_LEN,
            LogFormat::Replicated => ENTRY_HEADER_LEN,
        }
    }
}

/// Reasons why bytes are no frame of this log, or no chunk of this snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameError {
    /// The length is below that of a header, or above [`FRAME_LEN_MAX`].
    Length(u32),
    /// The checksum differs: bytes have changed, or belong to another log.
    Checksum {
        /// Checksum in the header.
        stored: u32,
        /// Checksum computed from the bytes and the log's id.
        computed: u32,
    },
}

impl fmt::Display for FrameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FrameError::Length(len) => {
                write!(f, "length {len} is not within {HEADER_LEN} to {FRAME_LEN_MAX}")
            }
            FrameError::Checksum { stored, computed } => write!(
                f,
                "checksum is {stored:08x}, of the bytes {computed:08x}: they have changed, or belong to another log"
            ),
        }
    }
}

impl core::error::Error for FrameError {}

/// A header and a body with a valid checksum.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Framing<'a> {
    pub(crate) numbers: [u64; 3],
    pub(crate) count: u32,
    pub(crate) body: &'a [u8],
}

/// Result of reading a frame or a chunk at the start of some bytes.
pub(crate) enum FrameStart<'a> {
    Whole(Framing<'a>),
    Torn,
    Damaged(FrameError),
}

/// Fills in the header before a body; `bytes` are both.
///
/// # Panics
/// If they are more than [`FRAME_LEN_MAX`] bytes: a reader would refuse data that was acknowledged.
pub(crate) fn close(seal: Seal, bytes: &mut [u8], numbers: [u64; 3], count: u32) {
    assert!(bytes.len() <= FRAME_LEN_MAX, "a frame is at most {FRAME_LEN_MAX} bytes: seal sooner");
    for (index, number) in numbers.into_iter().enumerate() {
        let at = CHECKED_FROM + 8 * index;
        bytes[at..at + 8].copy_from_slice(&number.to_le_bytes());
    }
    bytes[HEADER_LEN - 4..HEADER_LEN].copy_from_slice(&count.to_le_bytes());
    let len = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
    bytes[..4].copy_from_slice(&len.to_le_bytes());
    // The checksum comes last: it covers the rest of the header and the body.
    let checksum = seal.checksum(&bytes[CHECKED_FROM..]);
    bytes[4..8].copy_from_slice(&checksum.to_le_bytes());
}

pub(crate) fn open(seal: Seal, bytes: &[u8]) -> FrameStart<'_> {
    let Some(len) = word(bytes, 0) else { return FrameStart::Torn };
    // A header of zeros is space that was never written, not damage.
    if len == 0 && bytes.iter().take(HEADER_LEN).all(|&byte| byte == 0) {
        return FrameStart::Torn;
    }
    let whole = match usize::try_from(len) {
        Ok(len @ HEADER_LEN..=FRAME_LEN_MAX) => bytes.get(..len),
        _ => return FrameStart::Damaged(FrameError::Length(len)),
    };
    let Some(whole) = whole else { return FrameStart::Torn };
    let computed = seal.checksum(&whole[CHECKED_FROM..]);
    match (word(whole, 4), numbers(whole), word(whole, HEADER_LEN - 4)) {
        (Some(stored), Some(numbers), Some(count)) if stored == computed => {
            FrameStart::Whole(Framing { numbers, count, body: &whole[HEADER_LEN..] })
        }
        (stored, ..) => {
            let stored = stored.unwrap_or_default();
            FrameStart::Damaged(FrameError::Checksum { stored, computed })
        }
    }
}

/// Reads a frame that [`open`] has already checked, without computing its checksum again.
pub(crate) fn reopen(whole: &[u8]) -> Option<Framing<'_>> {
    let (numbers, count) = (numbers(whole)?, word(whole, HEADER_LEN - 4)?);
    Some(Framing { numbers, count, body: whole.get(HEADER_LEN..)? })
}

pub(crate) fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

pub(crate) fn number(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn numbers(bytes: &[u8]) -> Option<[u64; 3]> {
    let mut numbers = [0; 3];
    for (index, number) in numbers.iter_mut().enumerate() {
        *number = self::number(bytes, CHECKED_FROM + 8 * index)?;
    }
    Some(numbers)
}
