//! Newtypes for ids, rounds and tickets, so that they cannot be confused. Those of the log are of the codec, which reads
//! and writes them.

pub use scurry_codec::{ByteCount, Index, Sequence, Term};
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

/// A round of heartbeats that confirms reads, from 1; 0 means no round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Round(pub(crate) u64);

/// Id of a store. Stores are written in the order of their tickets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(pub(crate) u64);

/// Id of a read that waits for confirmation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ReadTicket(pub(crate) u64);
