//! A key with its hash. The hash selects a place in the table, allows preloading that place, and identifies a timer's
//! entry.

use polymur_hash::PolymurHash;
use scurry_codec::HashKey;
use std::fmt;

/// A key and its hash. All shards of one server share the secret, so a key that one shard hashed is valid for the
/// others.
#[derive(Clone, Copy, Debug)]
pub struct Key<'a> {
    bytes: &'a [u8],
    hash: u64,
}

impl<'a> Key<'a> {
    /// Creates a key from a hash computed before: `hash` is [`Key::hash`] of the same bytes.
    pub fn hashed(bytes: &'a [u8], hash: u64) -> Key<'a> {
        Key { bytes, hash }
    }

    /// Returns the bytes of the key.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Returns the hash under the server's secret.
    pub fn hash(&self) -> u64 {
        self.hash
    }
}

/// Hashes keys, for hosts that prepare a batch before they know the shard.
///
/// The hash is PolymurHash: clients choose the keys, so a function is needed with a proof that two keys collide under
/// few secrets only (docs/adr/0009-table.md).
#[derive(Clone)]
pub struct KeyHasher(PolymurHash);

impl KeyHasher {
    /// Creates a hasher; the secret is [`crate::Config::hash_key`].
    pub fn new(secret: HashKey) -> KeyHasher {
        KeyHasher(PolymurHash::new(u128::from_le_bytes(*secret.bytes())))
    }

    /// Returns the key with its hash.
    pub fn key<'a>(&self, bytes: &'a [u8]) -> Key<'a> {
        Key { bytes, hash: self.hash(bytes) }
    }

    /// Returns the position of a key in the order of snapshots.
    pub fn position(&self, bytes: &[u8]) -> u64 {
        position(self.hash(bytes))
    }

    #[inline]
    pub(crate) fn hash(&self, bytes: &[u8]) -> u64 {
        self.0.hash(bytes)
    }
}

impl fmt::Debug for KeyHasher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KeyHasher(secret)")
    }
}

/// Returns the position of a hash in the order in which [`crate::Shard::scan`] walks. hashbrown takes the bucket from
/// the lowest bits and the tag from the highest seven. So the bits below the tag select the segment, and they come
/// first in a position.
pub(crate) fn position(hash: u64) -> u64 {
    hash.rotate_left(7)
}

/// Low bits of a position that a cursor omits, so that a host can put a shard number above the cursor. Entries that
/// differ only in these bits are visited together.
pub(crate) const CURSOR_SHIFT: u32 = 16;
