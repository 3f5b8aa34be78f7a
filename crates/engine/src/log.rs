//! A shard's log: frames of committed records, in segments. docs/formats/log.md has the bytes.
//!
//! [`Commits`] belongs to the shard and knows what is durable. [`LogWriter`] runs where writes may block. [`LogReader`]
//! reads a log back and tells a torn end from damage. [`LogFollower`] reads the log while it is being written.

mod base;
mod commits;
mod error;
mod follower;
mod next_segment;
mod note;
mod reader;
mod retention;
mod spare;
mod tail;
mod truncate;
mod window;
mod writer;

pub(crate) use base::remove_replaced_log;
pub use base::{BASE_NAME, clear_incoming, incoming_name, read_base, write_base};
pub use commits::{Batch, Commits, Durability, Failed, is_disk_full};
pub use error::LogError;
pub use follower::{FollowError, FramePosition, LogFollower};
pub use note::{LogBallot, LogReach, Note, NoteError, NoteFile, Vote};
pub use reader::{DiscardedTail, History, LogReader};
pub use retention::{LogExtent, LogRetention, extent, forget};
pub use spare::{is_spare, remove_unclaimed_spares};
pub use writer::{LogWriter, SEGMENT_LEN_MAX, sync_behind};

/// Reserved space of the log. Commits that fit into it cannot find the disk full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogSpace {
    /// Bytes that the open segment can still take, 0 before the first one.
    pub left: u64,
    /// Bytes of frames that the next segment can take, 0 while its space is not reserved.
    pub ahead: u64,
}

impl LogSpace {
    /// State before the writer has reported its space.
    const UNKNOWN: LogSpace = LogSpace { left: u64::MAX, ahead: 0 };

    /// Returns the bytes that surely fit, however they are divided into batches: a batch that does not fit into the
    /// open segment goes to the next one as a whole, and so do all later batches.
    pub fn sure(self) -> u64 {
        self.left.max(self.ahead)
    }
}

const PREFIX: &str = "log-";

/// Returns the file name of the segment whose first record has this sequence.
pub fn segment_name(first: u64) -> String {
    format!("{PREFIX}{first:020}")
}

/// Parses a segment's file name and returns the sequence of its first record.
pub fn segment_of(name: &str) -> Option<u64> {
    let digits = name.strip_prefix(PREFIX).filter(|digits| digits.len() == 20)?;
    digits.parse().ok()
}
