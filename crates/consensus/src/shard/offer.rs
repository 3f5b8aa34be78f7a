//! Messages between a leader and a node that needs a snapshot because the leader's log no longer has the entries it
//! lacks.

use crate::replica::{ByteCount, Sequence, Term};
use scurry_codec::{GroupMembers, LogBase};
use scurry_engine::{Disk, File, LogId, shown_by_snapshots, snapshot_name};
use std::io;

/// Offer of a snapshot and the log after it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SnapshotOffer {
    /// The term of the leader.
    pub term: Term,
    /// The base after which the log begins.
    pub base: LogBase,
    /// The sequence at which the snapshot was begun.
    pub begun: Sequence,
    /// The greatest sequence that the snapshot shows. Everything up to it is committed.
    pub as_of: Sequence,
    /// Length of the snapshot's file.
    pub len: ByteCount,
    /// The newest members that the log has named, with their addresses; None when it has named none.
    pub members: Option<GroupMembers>,
}

impl SnapshotOffer {
    /// Opens the snapshot's file, and sets its length and the sequence that it shows: a newer snapshot that was begun
    /// at the same sequence may have replaced the offered one.
    pub fn open<D: Disk>(&mut self, disk: &mut D, log: LogId) -> io::Result<D::File> {
        let mut file = disk.open(&snapshot_name(self.begun.get()))?;
        self.len = ByteCount(file.len()?);
        // If the file is replaced between opening it and this, the newer sequence is greater, and all of it is
        // committed.
        let mut snapshots = shown_by_snapshots(disk, log)?.into_iter();
        let shown = snapshots.find(|shown| shown.begun == self.begun);
        self.as_of = shown.ok_or(io::ErrorKind::NotFound)?.as_of;
        Ok(file)
    }
}

/// Message about a snapshot; each carries the number that the leader has given to the snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SnapshotMessage {
    /// The leader offers a snapshot.
    Offer(Box<SnapshotOffer>),
    /// Bytes of the file from an offset on, which are the body of the packet.
    Part {
        /// Offset of the first byte.
        offset: ByteCount,
    },
    /// The receiver has written all bytes up to an offset.
    Have {
        /// The number of bytes written.
        offset: ByteCount,
    },
    /// The receiver has the snapshot, and its log begins after it.
    Done,
    /// The receiver refuses the snapshot, for this reason.
    Refused(String),
}
