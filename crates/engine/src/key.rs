//! A key with its hash. The hash is needed to choose a place in the table, to load that place
//! early and to remember a timer.

use polymur_hash::PolymurHash;
use scurry_codec::HashKey;
use std::fmt;

/// A key and its hash. All shards of one server share the secret, so a key that was made for one
/// of them fits the others.
#[derive(Clone, Copy, Debug)]
pub struct Key<'a> {
    bytes: &'a [u8],
    hash: u64,
}

impl<'a> Key<'a> {
    /// A key that was hashed before: `hash` is [`Key::hash`] of the same bytes.
    pub fn hashed(bytes: &'a [u8], hash: u64) -> Key<'a> {
        Key { bytes, hash }
    }

    /// The key itself.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Hash under the secret of the shard that made it.
    pub fn hash(&self) -> u64 {
        self.hash
    }
}

/// Makes keys: what a host needs that prepares a batch before it knows the shard.
///
/// The hash is PolymurHash: outsiders choose the keys, so it must be one of which it is proven that no
/// two keys collide under many secrets (docs/adr/0009-table.md).
#[derive(Clone)]
pub struct KeyHasher(PolymurHash);

impl KeyHasher {
    /// The secret is [`crate::Config::hash_key`].
    pub fn new(secret: HashKey) -> KeyHasher {
        KeyHasher(PolymurHash::new(u128::from_le_bytes(*secret.bytes())))
    }

    /// The key with its hash.
    pub fn key<'a>(&self, bytes: &'a [u8]) -> Key<'a> {
        Key { bytes, hash: self.hash(bytes) }
    }

    /// Where a key stands in the order in which snapshots are written.
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

/// Where a hash stands in the order in which [`crate::Shard::scan`] walks. hashbrown chooses
/// the bucket by the lowest bits and the tag by the highest seven, so the bits that divide the
/// table into segments, the first of this order, are those below the tag.
pub(crate) fn position(hash: u64) -> u64 {
    hash.rotate_left(7)
}

/// Bits of a position that a cursor leaves out, so that a host finds room above a cursor for
/// the number of a shard. Entries that differ in these alone are visited together.
pub(crate) const CURSOR_SHIFT: u32 = 16;
