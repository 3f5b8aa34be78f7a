//! The outputs of a replica that its host must carry out.

use crate::replica::entry::{Entry, Membership};
use crate::replica::ids::{Index, NodeId, ReadTicket, Term, Ticket};
use crate::replica::message::Message;

/// Role of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The only node of its term that creates entries.
    Leader,
    /// Appends the leader's entries.
    Follower,
    /// Requests votes.
    Candidate,
    /// Appends entries and has no vote.
    Learner,
}

/// A node's role, term and leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoleAndTerm {
    /// The node's role.
    pub role: Role,
    /// The node's term.
    pub term: Term,
    /// The leader of this term; None when it is not known.
    pub leader: Option<NodeId>,
    /// On a leader: its first entry. The leader serves when this entry is committed and everything before it is
    /// applied.
    pub begins: Option<Index>,
}

/// Data that must be written and synced before the messages that depend on it are sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Store {
    /// Id of the store; stores with smaller tickets are written first.
    pub ticket: Ticket,
    /// The vote; None when it has not changed.
    pub vote: Option<Vote>,
    /// All entries from this index on are removed, durably, before the first of `entries` is written.
    pub truncate_from: Option<Index>,
    /// Entries to append.
    pub entries: Vec<Entry>,
    /// The commit index, written with the entries. After a restart the node must know at least the commit index that it
    /// knew when it stored them; otherwise it would count votes by members that are no longer in force.
    pub committed: Index,
}

/// The election promises of a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Vote {
    /// The greatest term that the node has seen.
    pub term: Term,
    /// The candidate that got the node's vote in this term.
    pub candidate: Option<NodeId>,
}

/// The effects of all inputs since the last call.
#[derive(Debug)]
pub struct Effects {
    /// Messages that may be sent now.
    pub send: Vec<Message>,
    /// The store to write.
    pub store: Option<Store>,
    /// The commit index. It may be greater than the last entry that this node has stored: if the node applies such an
    /// entry and crashes, the entry is missing on its disk.
    pub committed: Index,
    /// Role, term and leader, when they have changed. When a leader enters another term or no longer leads, its pending
    /// reads are void.
    pub standing: Option<RoleAndTerm>,
    /// The members, when they have changed.
    pub membership: Option<Membership>,
    /// Reads that may be answered: everything they show is committed, and no other leader had committed more before
    /// they were requested.
    pub reads: Vec<ReadTicket>,
    /// Nodes that need a snapshot because this log no longer has the entries that they lack. Each is listed once. The
    /// host reports the outcome with [`Replica::caught_up`](crate::replica::Replica::caught_up) or
    /// [`Replica::snapshot_failed`](crate::replica::Replica::snapshot_failed), and does not compact in the meantime.
    pub need_snapshot: Vec<NodeId>,
}

impl Effects {
    /// Returns true when the host has nothing to do (the commit index is not considered).
    pub fn is_empty(&self) -> bool {
        self.send.is_empty()
            && self.store.is_none()
            && self.standing.is_none()
            && self.membership.is_none()
            && self.reads.is_empty()
            && self.need_snapshot.is_empty()
    }
}
