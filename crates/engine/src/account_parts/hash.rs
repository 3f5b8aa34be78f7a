//! The hash of ids in annexes. Clients choose the ids, so each process draws a new secret.

use crate::KeyHasher;
use scurry_codec::HashKey;
use std::hash::{BuildHasher, RandomState};
use std::sync::OnceLock;

/// Returns the hash of an id.
pub(super) fn hash_of(id: &[u8]) -> u64 {
    hasher().hash(id)
}

fn hasher() -> &'static KeyHasher {
    static HASHER: OnceLock<KeyHasher> = OnceLock::new();
    HASHER.get_or_init(|| {
        // The standard library seeds this from the operating system's randomness.
        let random = RandomState::new();
        let halves = [random.hash_one(0_u8), random.hash_one(1_u8)].map(u64::to_le_bytes);
        let mut bytes = [0; HashKey::LEN];
        bytes[..8].copy_from_slice(&halves[0]);
        bytes[8..].copy_from_slice(&halves[1]);
        KeyHasher::new(HashKey::new(bytes))
    })
}
