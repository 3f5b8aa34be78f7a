//! Words of a node that asks to be admitted, and the answers to it.

use crate::group::view::Addresses;
use scurry_consensus::replica::NodeId;
use std::net::SocketAddr;

/// A node asks to be admitted. It may ask more than once, and gets the same answer then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct JoinRequest {
    /// The id that the node has drawn.
    pub(crate) node: NodeId,
    /// A member that it comes in the place of.
    pub(crate) replaces: Option<u64>,
    /// Where it is reached.
    pub(crate) addresses: Addresses,
}

/// The answer to a node that asks to be admitted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum JoinAnswer {
    /// The node is a member.
    Accepted(Box<Accepted>),
    /// The node there leads.
    Elsewhere(SocketAddr),
    /// Not now, because of this.
    Later(String),
    /// Not at all, because of this.
    Refused(String),
}

/// Facts that a node needs of the group that has admitted it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Accepted {
    pub(crate) store: u64,
    /// Generation of the logs, and by how much positions of events begin higher.
    pub(crate) generation: u32,
    pub(crate) restored: u32,
    /// The member at the beginning of the log.
    pub(crate) founder: NodeId,
    pub(crate) threads: u16,
    pub(crate) members: Vec<GroupMember>,
}

/// A member, as a joiner gets to know it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct GroupMember {
    pub(crate) id: NodeId,
    pub(crate) votes: bool,
    pub(crate) addresses: Addresses,
}
