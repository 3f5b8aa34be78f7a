//! Snapshots on their way: what the leader has sent, and what the other node has received.

use crate::SimFile;
use scurry_consensus::replica::NodeId;
use scurry_consensus::shard::Offer;

/// A snapshot that is being sent.
pub(super) struct Sending {
    pub(super) number: u64,
    pub(super) offer: Offer,
    pub(super) file: Option<SimFile>,
}

impl Sending {
    pub(super) fn new(number: u64, offer: Offer) -> Sending {
        Sending { number, offer, file: None }
    }
}

/// A snapshot that is being received.
pub(super) struct Receiving {
    pub(super) from: NodeId,
    pub(super) number: u64,
    pub(super) file: Option<SimFile>,
    pub(super) have: u64,
    pub(super) is_refused: bool,
}

impl Receiving {
    /// The node does not take it.
    pub(super) fn refused(self) -> Receiving {
        Receiving { is_refused: true, ..self }
    }
}
