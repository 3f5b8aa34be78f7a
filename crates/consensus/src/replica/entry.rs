//! Entries of the replicated log, and the members that decide about it.

use crate::replica::ids::{ByteCount, Index, NodeId, Sequence, Term};

/// Descriptor of a frame; the frame's bytes are kept elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Descriptor {
    /// Sequence of its first record.
    pub first: Sequence,
    /// Sequence of its last record.
    pub last: Sequence,
    /// Length of the frame, at most `u32::MAX`.
    pub len: ByteCount,
    /// Checksum of the frame's bytes.
    pub checksum: u32,
}

/// Content of an entry.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum EntryKind {
    /// The first entry of a leader's term.
    Empty,
    /// A frame.
    Frame(Descriptor),
    /// Start of a change of members. Until [`EntryKind::MembersFinal`] every decision takes a majority of the old voters and a
    /// majority of the new ones.
    Members(Box<Members>),
    /// End of a change of members: the old voters no longer count.
    MembersFinal,
}

/// An entry of the replicated log.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Entry {
    /// The term whose leader created the entry.
    pub term: Term,
    /// The position in the log.
    pub index: Index,
    /// The content.
    pub kind: EntryKind,
}

/// The nodes that have a copy of the log: voters count for majorities, learners do not.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Members {
    voters: Vec<NodeId>,
    learners: Vec<NodeId>,
}

/// Invalid list of members.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MembersError {
    /// The list has no voter.
    #[error("no voters: name at least one")]
    NoVoters,
    /// A node is named twice.
    #[error("node {0} is named twice: name each node once, as a voter or as a learner")]
    Twice(NodeId),
    /// The list is longer than its encoding allows.
    #[error("{0} nodes: name at most 255 voters and 255 learners")]
    Many(usize),
}

impl Members {
    /// Creates a list of members; the nodes may be in any order.
    pub fn new(
        voters: impl IntoIterator<Item = NodeId>,
        learners: impl IntoIterator<Item = NodeId>,
    ) -> Result<Members, MembersError> {
        let mut voters: Vec<NodeId> = voters.into_iter().collect();
        let mut learners: Vec<NodeId> = learners.into_iter().collect();
        voters.sort_unstable();
        learners.sort_unstable();
        if voters.is_empty() {
            return Err(MembersError::NoVoters);
        }
        let mut all: Vec<NodeId> = voters.iter().chain(&learners).copied().collect();
        all.sort_unstable();
        if let Some(pair) = all.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(MembersError::Twice(pair[0]));
        }
        if voters.len().max(learners.len()) > usize::from(u8::MAX) {
            return Err(MembersError::Many(all.len()));
        }
        Ok(Members { voters, learners })
    }

    /// Returns the voters, ascending.
    pub fn voters(&self) -> &[NodeId] {
        &self.voters
    }

    /// Returns the learners, ascending.
    pub fn learners(&self) -> &[NodeId] {
        &self.learners
    }

    /// Returns all members, the voters first.
    pub fn iter(&self) -> impl Iterator<Item = NodeId> {
        self.voters.iter().chain(&self.learners).copied()
    }
}

/// The members that are in force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Membership {
    /// The members; during a change, the new ones.
    pub members: Members,
    /// The old voters during a change, whose majority is also required; empty otherwise.
    pub outgoing: Vec<NodeId>,
}

impl Membership {
    /// Returns true during a change, when two majorities are required.
    pub fn is_joint(&self) -> bool {
        !self.outgoing.is_empty()
    }

    /// Returns all voters and learners, including the old voters during a change.
    pub fn nodes(&self) -> impl Iterator<Item = NodeId> {
        self.members.iter().chain(self.outgoing.iter().copied())
    }

    /// Returns true when the node has a vote.
    pub fn has_vote(&self, node: NodeId) -> bool {
        self.members.voters.contains(&node) || self.outgoing.contains(&node)
    }

    /// Returns true when these nodes are a majority; during a change, of the old and of the new voters.
    pub fn is_quorum(&self, has: impl Fn(NodeId) -> bool) -> bool {
        let majority = |of: &[NodeId]| of.iter().filter(|node| has(**node)).count() * 2 > of.len();
        majority(&self.members.voters) && (self.outgoing.is_empty() || majority(&self.outgoing))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nodes(numbers: &[u64]) -> Vec<NodeId> {
        numbers.iter().filter_map(|number| NodeId::new(*number)).collect()
    }

    #[test]
    fn members_are_named_once_and_somebody_votes() {
        let members = |voters, learners| Members::new(nodes(voters), nodes(learners));
        assert_eq!(members(&[3, 1], &[2]).unwrap().voters(), nodes(&[1, 3]));
        assert_eq!(members(&[], &[2]), Err(MembersError::NoVoters));
        let two = NodeId::new(2).unwrap();
        assert_eq!(members(&[1, 2], &[2]), Err(MembersError::Twice(two)));
        assert_eq!(members(&[2, 2], &[]), Err(MembersError::Twice(two)));
        let many: Vec<u64> = (1..=256).collect();
        assert_eq!(members(&many, &[]), Err(MembersError::Many(256)));
    }

    #[test]
    fn a_change_takes_both_majorities() {
        let members = Members::new(nodes(&[3, 4, 5]), []).unwrap();
        let joint = Membership { members, outgoing: nodes(&[1, 2, 3]) };
        let quorum = |these: &[u64]| joint.is_quorum(|node| these.contains(&node.get()));
        assert!(quorum(&[2, 3, 4]) && quorum(&[1, 2, 4, 5]));
        assert!(!quorum(&[3, 4, 5]) && !quorum(&[1, 2, 3]));
        assert!(joint.has_vote(nodes(&[1])[0]) && joint.is_joint());
    }
}
