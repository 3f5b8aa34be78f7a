//! Pairs of numbers about the same log, with named fields so that they cannot be swapped.

use crate::replica::{Index, Sequence};

/// The end of an entry: its index, and the sequence of its last record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogPosition {
    /// The entry.
    pub index: Index,
    /// The last record of that entry.
    pub sequence: Sequence,
}

/// Progress that a frame carries for a node that reads it after a crash. Ordered by `synced`, then by `committed`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Mark {
    /// The last record that this node's device had synced.
    pub(crate) synced: Sequence,
    /// The last committed entry.
    pub(crate) committed: Index,
}
