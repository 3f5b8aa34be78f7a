//! Pairs of numbers about the same log, with named fields so that they cannot be swapped.

use crate::replica::{Index, Sequence};

pub use scurry_codec::LogPosition;

/// Progress that a frame carries for a node that reads it after a crash. Ordered by `synced`, then by `committed`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Mark {
    /// The last record that this node's device had synced.
    pub(crate) synced: Sequence,
    /// The last committed entry.
    pub(crate) committed: Index,
}
