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

impl Term {
    /// Returns the number, as it is written and shown.
    pub const fn get(self) -> u64 {
        self.0
    }
}

/// A position in the replicated log, from 1; 0 is before the first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Index(pub u64);

impl Index {
    /// Returns the number, as it is written and shown.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// Returns the index of the next entry.
    pub const fn next(self) -> Index {
        Index(self.0 + 1)
    }
}

/// The number of a record in a shard's log, from 1; 0 is before the first. An entry has one record or many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Sequence(pub u64);

impl Sequence {
    /// Returns the number, as it is written and shown.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// Returns the sequence of the next record.
    pub const fn next(self) -> Sequence {
        Sequence(self.0 + 1)
    }
}

/// A round of heartbeats that confirms reads, from 1; 0 stands for none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Round(pub(crate) u64);

/// The name of a store. Stores are made in the order of their tickets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(pub(crate) u64);

/// The name of a read that waits for its confirmation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ReadTicket(pub(crate) u64);
