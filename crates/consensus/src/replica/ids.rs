//! Newtypes for ids, terms, indexes, sequences and tickets, so that they cannot be confused.

use std::fmt;
use std::num::NonZeroU64;

/// Upper bound (exclusive) of terms and indexes from outside, so that the engine can increment them without overflow.
pub(crate) const NUMBER_MAX: u64 = 1 << 62;

/// Id of a node, drawn once and never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(NonZeroU64);

impl NodeId {
    /// Returns the id with this number; None for 0.
    pub fn new(number: u64) -> Option<NodeId> {
        NonZeroU64::new(number).map(NodeId)
    }

    /// Returns the number.
    pub fn get(self) -> u64 {
        self.0.get()
    }
}

/// Formats the id as 16 hexadecimal digits, as all output shows it.
impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// A term: it has one leader or none. 0 is before the first.
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

/// A round of heartbeats that confirms reads, from 1; 0 means no round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Round(pub(crate) u64);

/// Id of a store. Stores are written in the order of their tickets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(pub(crate) u64);

/// Id of a read that waits for confirmation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ReadTicket(pub(crate) u64);
