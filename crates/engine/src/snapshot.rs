//! Snapshots, written while the shard serves. docs/formats/snapshot.md has the bytes.
//!
//! A snapshot is a walk over the table in the order of positions, a chunk at a time. Nothing is
//! copied ahead of it and nothing waits for it: each chunk says which sequence of the log it
//! shows, and recovery applies to each range of positions what the log has after that. So a
//! step costs the copying of one chunk, and memory a chunk or two.

mod order;
mod plan;
mod reader;
mod writer;

pub(crate) use order::Order;
pub use plan::{Piece, Snapshot};
pub use reader::{Ranges, SnapshotError, SnapshotReader};
pub use writer::SnapshotWriter;

const PREFIX: &str = "snapshot-";

/// The file of the snapshot that was begun when the log had this sequence.
pub fn snapshot_name(begun: u64) -> String {
    format!("{PREFIX}{begun:020}")
}

/// The sequence at which a snapshot was begun, by the file's name.
pub fn snapshot_of(name: &str) -> Option<u64> {
    let digits = name.strip_prefix(PREFIX).filter(|digits| digits.len() == 20)?;
    digits.parse().ok()
}
