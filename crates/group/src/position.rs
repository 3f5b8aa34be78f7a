//! Pairs of numbers about the same log, so that neither can be taken for the other.

use scurry_replica::{Index, Sequence};

/// The end of an entry: its index, and the sequence of its last record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogPosition {
    /// The entry.
    pub index: Index,
    /// The last record of that entry.
    pub sequence: Sequence,
}

/// What a frame tells a node that reads it back after a crash. Ordered by `synced`, then by `committed`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Mark {
    /// The device of this node has synced all records up to this one.
    pub(crate) synced: Sequence,
    /// The last committed entry.
    pub(crate) committed: Index,
}
