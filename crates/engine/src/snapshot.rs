//! Snapshots, written while the shard serves. docs/formats/snapshot.md has the bytes.
//!
//! A snapshot is a walk over the table in the order of positions, one chunk at a time. Nothing is copied in advance and
//! no command waits for it: each chunk records the log sequence that it shows, and recovery applies to each range of
//! positions the later records of the log. So a step costs the copying of one chunk, and memory for a chunk or two.

mod plan;
mod reader;
mod writer;

pub use plan::{Piece, Snapshot};
pub use reader::{Ranges, SnapshotError, SnapshotReader, SnapshotSequences, shown_by_snapshots};
pub use writer::SnapshotWriter;

const PREFIX: &str = "snapshot-";

/// Returns the file name of the snapshot that was begun at this sequence of the log.
pub fn snapshot_name(begun: u64) -> String {
    format!("{PREFIX}{begun:020}")
}

/// Parses a snapshot's file name and returns the sequence at which it was begun.
pub fn snapshot_of(name: &str) -> Option<u64> {
    let digits = name.strip_prefix(PREFIX).filter(|digits| digits.len() == 20)?;
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use crate::KeyHasher;
    use scurry_codec::HashKey;

    /// Later versions must read today's snapshots, so these positions must never change, even if a library changes.
    #[test]
    fn positions_stay_what_they_were() {
        let hasher = KeyHasher::new(HashKey::new(*b"0123456789abcdef"));
        let positions = [&b""[..], b"15550100", b"user:000000000001", &[0xa5; 300]]
            .map(|key| hasher.position(key));
        expect_test::expect![
            "[52e0e61b29826c1d, 33bca402d6795bcf, ee8f4bb7894148cb, 2fac90ce9d6ef2b2]"
        ]
        .assert_eq(&format!("{positions:016x?}"));
    }
}
