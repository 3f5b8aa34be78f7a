//! The secret key of a hash table. A snapshot has to name it, because its chunks are in that table's order.

use core::fmt;

/// The key of a table's hash function: 16 bytes, which the host draws from the operating system's randomness at each
/// start, or which the nodes of a group share.
///
/// A client that knows it can choose keys that collide, so it is shown nowhere, not even by `Debug`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct HashKey([u8; HashKey::LEN]);

impl HashKey {
    /// Length of a key, bytes.
    pub const LEN: usize = 16;

    /// Returns the key with these bytes.
    pub const fn new(bytes: [u8; HashKey::LEN]) -> HashKey {
        HashKey(bytes)
    }

    /// Returns a key that can be guessed: for simulations, tests and measurements, which must give the same result each
    /// time.
    pub const fn known(seed: u64) -> HashKey {
        // Spread over both halves: neighbouring seeds would otherwise differ only in bits that a hash may ignore.
        let spread = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        HashKey(((seed as u128) << 64 | spread as u128).to_le_bytes())
    }

    /// Returns the key that all nodes of a group use, so that they compare the same ranges of their tables. It is made of
    /// the random id of the group's first log, which no client sees.
    pub const fn of_group(log_id: u64) -> HashKey {
        HashKey::known(log_id)
    }

    /// Returns the bytes of the key.
    pub const fn bytes(&self) -> &[u8; HashKey::LEN] {
        &self.0
    }
}

impl fmt::Debug for HashKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HashKey(secret)")
    }
}
