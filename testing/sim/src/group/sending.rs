//! The state of snapshots in transfer, at the sender and at the receiver.

use crate::SimFile;
use scurry_consensus::replica::{ByteCount, NodeId};
use scurry_consensus::shard::SnapshotOffer;

/// A snapshot that is being sent. The file is None until it is opened.
pub(super) struct Sending {
    pub(super) number: u64,
    pub(super) offer: SnapshotOffer,
    pub(super) file: Option<SimFile>,
}

impl Sending {
    pub(super) fn new(number: u64, offer: SnapshotOffer) -> Sending {
        Sending { number, offer, file: None }
    }
}

/// A snapshot that is being received, with the number of bytes written. The file is None once it is complete.
pub(super) struct Receiving {
    pub(super) from: NodeId,
    pub(super) number: u64,
    pub(super) file: Option<SimFile>,
    pub(super) have: ByteCount,
    pub(super) is_refused: bool,
}

impl Receiving {
    /// Returns the state after the node has refused the snapshot.
    pub(super) fn refused(self) -> Receiving {
        Receiving { is_refused: true, ..self }
    }
}
