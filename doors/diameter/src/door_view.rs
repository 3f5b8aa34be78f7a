//! What an operator sees of an open door.

use crate::metrics::{DoorCounts, DoorMetrics};
use crate::own_counts::OwnCounts;
use crate::peer_table::PeerTable;
use crate::peer_view::PeerView;
use scurry_session_notices::{NoticeCounters, NoticeCounts};
use std::sync::Arc;

/// Reads the counters and the peers of a door, also while it ends.
#[derive(Clone, Debug)]
pub struct DoorView {
    pub(crate) metrics: Arc<DoorMetrics>,
    pub(crate) peers: Arc<PeerTable>,
    pub(crate) notices: Arc<NoticeCounters>,
}

impl DoorView {
    /// Returns the counters of the door as a whole.
    pub fn counts(&self) -> DoorCounts {
        self.metrics.snapshot()
    }

    /// Returns all peers that are remembered, in the order of their names.
    pub fn peers(&self) -> Vec<PeerView> {
        self.peers.views()
    }

    /// Returns the counters of the requests to clients that events of the store have led to (RAR, ASR).
    pub fn notices(&self) -> NoticeCounts {
        self.notices.snapshot()
    }

    /// Returns what became of requests to clients that are no peers and behind no relay.
    pub fn requests_to_strangers(&self) -> OwnCounts {
        self.peers.requests_to_strangers()
    }
}
