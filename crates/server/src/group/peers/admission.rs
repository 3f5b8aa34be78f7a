//! The request of a node that wants to join a group, and the answers to it.

use crate::group::view::Addresses;
use scurry_consensus::replica::NodeId;
use std::net::SocketAddr;

/// A node's request to join. It may be repeated, and then gets the same answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct JoinRequest {
    /// The id that the node has drawn at random.
    pub(crate) node: NodeId,
    /// The member that it replaces, if any.
    pub(crate) replaces: Option<u64>,
    /// The addresses of the node.
    pub(crate) addresses: Addresses,
}

/// The answer to a request to join.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum JoinAnswer {
    /// The node is a member now.
    Accepted(Box<Accepted>),
    /// Ask the leader, at this address.
    Elsewhere(SocketAddr),
    /// The node cannot join now, for this reason: it may ask again.
    Later(String),
    /// The node cannot join, for this reason.
    Refused(String),
}

/// What a node needs to know of the group that has admitted it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Accepted {
    pub(crate) store: u64,
    /// The generation of the logs, and by how much positions of events begin higher after restores.
    pub(crate) generation: u32,
    pub(crate) restored: u32,
    /// The only member at the beginning of the log.
    pub(crate) founder: NodeId,
    pub(crate) threads: u16,
    pub(crate) members: Vec<GroupMember>,
}

/// A member, as a joining node is told of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct GroupMember {
    pub(crate) id: NodeId,
    pub(crate) votes: bool,
    pub(crate) addresses: Addresses,
}
