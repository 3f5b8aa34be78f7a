//! What two nodes say to each other about a snapshot that the leader sends to one that is too far behind for its log.

use scurry_codec::{GroupMembers, LogBase};
use scurry_engine::{Disk, File, LogId, shown_by_snapshots, snapshot_name};
use std::io;

/// A snapshot that a node is offered, and the log behind it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer {
    /// The term of the leader.
    pub term: u64,
    /// The log begins behind this.
    pub base: LogBase,
    /// The sequence at which the snapshot was begun.
    pub begun: u64,
    /// The greatest sequence that it shows. All up to there is committed.
    pub as_of: u64,
    /// Bytes of its file.
    pub len: u64,
    /// The members and where they are reached, as far as the log has named them.
    pub members: Option<GroupMembers>,
}

impl Offer {
    /// Opens the file of the snapshot, and notes how long it is and what it shows: another that was begun at the same
    /// sequence may have taken the place of the one that was offered.
    pub fn open<D: Disk>(&mut self, disk: &mut D, log: LogId) -> io::Result<D::File> {
        let mut file = disk.open(&snapshot_name(self.begun))?;
        self.len = file.len()?;
        // Where it is exchanged in between, the newer one's is the greater, and all of it is committed.
        let mut snapshots = shown_by_snapshots(disk, log)?.into_iter();
        let shown = snapshots.find(|shown| shown.begun == self.begun);
        self.as_of = shown.ok_or(io::ErrorKind::NotFound)?.as_of;
        Ok(file)
    }
}

/// A word about a snapshot; each has the number that the leader has given to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Word {
    /// The leader has one.
    Offer(Box<Offer>),
    /// Bytes from an offset on, which come as the body of the packet.
    Part {
        /// The first of them.
        offset: u64,
    },
    /// All bytes up to an offset were written.
    Have {
        /// How many.
        offset: u64,
    },
    /// The node has it, and its log begins behind it.
    Done,
    /// The node does not take it.
    Refused(String),
}
