//! The request of a node that wants to join a group, and the answers to it.

use crate::view::Addresses;
use scurry_consensus::replica::NodeId;
use std::net::SocketAddr;

/// A node's request to join. It may be repeated, and then gets the same answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JoinRequest {
    /// The id that the node has drawn at random.
    pub node: NodeId,
    /// The member that it replaces, if any.
    pub replaces: Option<u64>,
    /// The addresses of the node.
    pub addresses: Addresses,
    /// Whether it is to have no vote.
    pub observes: bool,
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
pub struct Accepted {
    /// The id of the group's store.
    pub store: u64,
    /// The generation of the logs.
    pub generation: u32,
    /// By how much positions of events begin higher after restores.
    pub restored: u32,
    /// The only member at the beginning of the log.
    pub founder: NodeId,
    /// The number of threads, which is the number of shards.
    pub threads: u16,
    /// All members.
    pub members: Vec<GroupMember>,
}

/// A member, as a joining node is told of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupMember {
    /// The id of the node.
    pub id: NodeId,
    /// Whether it has a vote.
    pub votes: bool,
    /// The addresses of the node.
    pub addresses: Addresses,
}

/// What a node of the new group tells one of the lost group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Succession {
    /// The id of the lost group's store.
    pub(super) lost: u64,
    /// The id of the store of the new one.
    pub(super) store: u64,
    /// The addresses of the node that tells it.
    pub(super) addresses: Addresses,
}
