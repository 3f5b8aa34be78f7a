//! What a replica asks of its host.

use crate::entry::{Entry, Membership};
use crate::ids::{Index, NodeId, ReadTicket, Term, Ticket};
use crate::message::Message;

/// The part that a node plays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The only one of its term that makes entries.
    Leader,
    /// Takes entries from the leader.
    Follower,
    /// Asks for votes.
    Candidate,
    /// Takes entries and has no vote.
    Learner,
}

/// Where a node stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    /// The part that it plays.
    pub role: Role,
    /// The term that it is in.
    pub term: Term,
    /// The leader of this term, as far as it is known.
    pub leader: Option<NodeId>,
    /// Of a leader: its first entry. It serves when this is committed and all before it is applied.
    pub begins: Option<Index>,
}

/// Content that is to be written and synced before the messages that depend on it leave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Store {
    /// The name of the store; the ticket before it is stored first.
    pub ticket: Ticket,
    /// The vote, when it has changed.
    pub vote: Option<Vote>,
    /// All entries from here on are removed, durably before the first of `entries` is written.
    pub truncate_from: Option<Index>,
    /// Entries to be written behind what is there.
    pub entries: Vec<Entry>,
    /// The commit index, to be written with the entries: a node that is started again must know at least what it
    /// knew when it took them, or it counts votes by members that are no longer in force.
    pub committed: Index,
}

/// The promises of a node about elections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Vote {
    /// The greatest term that it has seen.
    pub term: Term,
    /// The candidate that has its vote in this term.
    pub candidate: Option<NodeId>,
}

/// Everything that has come of the inputs since the effects were taken last.
#[derive(Debug)]
pub struct Effects {
    /// Messages that may leave now.
    pub send: Vec<Message>,
    /// The store to be made.
    pub store: Option<Store>,
    /// The commit index, also where this node has not stored as much yet: what is applied beyond that is not there
    /// after a crash.
    pub committed: Index,
    /// The node's standing, when it has changed. Reads of a leader of another term or that leads no more are void.
    pub standing: Option<Standing>,
    /// The members, when other ones are in force.
    pub membership: Option<Membership>,
    /// Reads that may leave: what they show is committed, and no other leader has committed more before they
    /// were asked for.
    pub reads: Vec<ReadTicket>,
    /// Nodes that need a snapshot: the log does not reach back to where they are. Each is told once; the host says
    /// by [`Replica::caught_up`](crate::Replica::caught_up) or
    /// [`Replica::snapshot_failed`](crate::Replica::snapshot_failed) what has become of it, and does not compact
    /// meanwhile.
    pub behind: Vec<NodeId>,
}

impl Effects {
    /// True when there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.send.is_empty()
            && self.store.is_none()
            && self.standing.is_none()
            && self.membership.is_none()
            && self.reads.is_empty()
            && self.behind.is_empty()
    }
}
