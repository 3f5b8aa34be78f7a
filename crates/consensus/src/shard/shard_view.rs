//! The state of a shard's group, for status and metrics.

use crate::replica::{Index, NodeId, Role, Sequence, Term};

/// State of a shard's group, as this node sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShardView {
    /// Role of this node.
    pub role: Role,
    /// Term of this node.
    pub term: Term,
    /// The leader; None when it is not known.
    pub leader: Option<NodeId>,
    /// True when this node leads and has applied everything committed: it executes commands.
    pub serves: bool,
    /// Last sequence that a majority has stored, as far as this node knows.
    pub committed: Sequence,
    /// Last sequence on this node's device.
    pub stored: Sequence,
    /// Last sequence that this node's memory shows.
    pub applied: Sequence,
    /// Number of times that this node has seen a new leader.
    pub elections: u64,
    /// The last entry that was removed from this node's log; 0 when it has all.
    pub base: Index,
    /// Last sequence at which a part of this node's memory was compared with the leader's and was the same; on the
    /// leader, the last at which it wrote a digest.
    pub compared: Sequence,
    /// Ticks since the leader had no more than this node's memory shows; None while that is not known. 0 where this node
    /// serves.
    pub age_ticks: Option<u64>,
}
