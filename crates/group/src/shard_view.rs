//! What a node knows of the group of one shard.

use scurry_replica::{NodeId, Role};

/// The group of one shard, as this node sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShardView {
    /// The part of this node.
    pub role: Role,
    /// The term of that.
    pub term: u64,
    /// The leader, as far as it is known.
    pub leader: Option<NodeId>,
    /// True where this node leads, and has applied all that is committed: commands are executed.
    pub serves: bool,
    /// Sequence up to which a majority has the log.
    pub committed: u64,
    /// Sequence up to which this node's device has it.
    pub stored: u64,
    /// Sequence up to which this node's memory shows it.
    pub applied: u64,
    /// How often another leader was seen.
    pub elections: u64,
    /// The last entry that this node's log does not have any more; 0 where it has all.
    pub base: u64,
}
