//! Snapshots, written while the shard serves. docs/formats/snapshot.md has the bytes.
//!
//! A snapshot is a walk over the table in the order of positions, a chunk at a time. Nothing is
//! copied ahead of it and nothing waits for it: each chunk says which sequence of the log it
//! shows, and recovery applies to each range of positions what the log has after that. So a
//! step costs the copying of one chunk, and memory a chunk or two.

mod plan;
mod reader;
mod writer;

pub use plan::{Piece, Snapshot};
pub use reader::{Ranges, Shown, SnapshotError, SnapshotReader, shown_by_snapshots};
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

#[cfg(test)]
mod tests {
    use crate::KeyHasher;
    use scurry_codec::HashKey;

    /// Snapshots are read by programs that are built later: these must never change, whatever a
    /// library does.
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
