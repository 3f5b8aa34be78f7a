//! A shard's log: frames of what was committed, in segments. docs/formats/log.md has the bytes.
//!
//! [`Commits`] stays with the shard and says what is durable; [`LogWriter`] stands where writes
//! may block; [`LogReader`] reads back what is good and decides what is a torn end and what is
//! damage. [`LogFollower`] reads along while it is written.

mod ahead;
mod base;
mod commits;
mod error;
mod follower;
mod note;
mod reader;
mod spare;
mod tail;
mod truncate;
mod window;
mod writer;

pub(crate) use base::give_way;
pub use base::{BASE_NAME, clear_incoming, incoming_name, read_base, write_base};
pub use commits::{Batch, Commits, Durability, Failed, is_want_of_room};
pub use error::LogError;
pub use follower::{FollowError, FramePosition, LogFollower};
pub use note::{LogBallot, LogReach, Note, NoteError, Noted, Vote};
pub use reader::{Cut, History, LogReader};
pub use spare::{give_up_spares, is_spare};
pub use writer::{LogWriter, SEGMENT_LEN_MAX, forget, sync_behind};

/// Room that is set aside. What is committed within it cannot find the disk full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// Bytes that the open segment still takes, 0 before the first one.
    pub left: u64,
    /// Bytes of frames that the next segment takes, 0 while its room is not set aside.
    pub ahead: u64,
}

impl Room {
    /// Nobody has looked.
    const UNKNOWN: Room = Room { left: u64::MAX, ahead: 0 };

    /// Bytes that are sure to be taken, in whatever batches they come: a batch that does not fit
    /// into what is left goes to the next segment as a whole, and those behind it as well.
    pub fn sure(self) -> u64 {
        self.left.max(self.ahead)
    }
}

const PREFIX: &str = "log-";

/// The file of the segment whose first record has this sequence.
pub fn segment_name(first: u64) -> String {
    format!("{PREFIX}{first:020}")
}

/// The sequence of a segment's first record, by the file's name.
pub fn segment_of(name: &str) -> Option<u64> {
    let digits = name.strip_prefix(PREFIX).filter(|digits| digits.len() == 20)?;
    digits.parse().ok()
}
