//! Snapshots, written while the shard serves. docs/formats/snapshot.md has the bytes.
//!
//! A snapshot is a walk over the table in the order of positions, a chunk at a time. Nothing is
//! copied ahead of it and nothing waits for it: each chunk says which sequence of the log it
//! shows, and recovery applies to each range of positions what the log has after that. So a
//! step costs the copying of one chunk, and memory a chunk or two.

use crate::KeyHasher;
use crate::key::position;
use foldhash::fast::FixedState;
use scurry_codec::SnapshotOrder;
use std::hash::BuildHasher;

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

/// The order that the chunks of a snapshot are in: that of the table which was walked over, whose
/// secret ended with its process.
#[derive(Debug)]
pub(crate) enum Order {
    /// Version 1 of the format: foldhash's fast hash with its own, public secrets.
    Seeded(FixedState),
    Keyed(KeyHasher),
}

impl Order {
    pub(crate) fn new(of: SnapshotOrder) -> Order {
        match of {
            SnapshotOrder::Seed(seed) => Order::Seeded(FixedState::with_seed(seed)),
            SnapshotOrder::Key(key) => Order::Keyed(KeyHasher::new(key)),
        }
    }

    /// Where a key stands.
    pub(crate) fn position(&self, key: &[u8]) -> u64 {
        match self {
            Order::Seeded(hasher) => position(hasher.hash_one(key)),
            Order::Keyed(hasher) => hasher.position(key),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use scurry_codec::HashKey;

    /// Snapshots are read by programs that are built later: these must never change, whatever a
    /// library does.
    #[test]
    fn positions_stay_what_they_were() {
        let orders =
            [SnapshotOrder::Seed(7), SnapshotOrder::Key(HashKey::new(*b"0123456789abcdef"))];
        let positions = orders.map(|order| {
            let order = Order::new(order);
            [&b""[..], b"15550100", b"user:000000000001", &[0xa5; 300]]
                .map(|key| order.position(key))
        });
        expect_test::expect!["[[4bf35356366f103a, 96d10fe5aa39484a, 10142351a2a65dca, 60e2a10faa19c1c9], [52e0e61b29826c1d, 33bca402d6795bcf, ee8f4bb7894148cb, 2fac90ce9d6ef2b2]]"].assert_eq(&format!("{positions:016x?}"));
    }
}
