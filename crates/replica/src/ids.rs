//! Numbers that are not each other's.

use std::fmt;
use std::num::NonZeroU64;

/// Terms and indexes from outside stay below, so that the engine can count on from them.
pub(crate) const NUMBER_MAX: u64 = 1 << 62;

/// The identity of a node, drawn once and never used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(NonZeroU64);

impl NodeId {
    /// The identity with this number; none has 0.
    pub fn new(number: u64) -> Option<NodeId> {
        NonZeroU64::new(number).map(NodeId)
    }

    /// The number.
    pub fn get(self) -> u64 {
        self.0.get()
    }
}

/// 16 hexadecimal digits, as people see it everywhere.
impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// A term: each has one leader or none. 0 is before the first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Term(pub u64);

/// A position in the replicated log, from 1; 0 is before the first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Index(pub u64);

/// The name of a store. Stores are made in the order of their tickets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(pub(crate) u64);

/// The name of a read that waits for its confirmation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ReadTicket(pub(crate) u64);
