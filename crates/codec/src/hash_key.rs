//! The secret of a hash table, which a snapshot has to name: its chunks are in that table's order.

use core::fmt;

/// The key of the hash under which a table keeps its keys: 16 bytes, drawn by the host from the
/// operating system's randomness at each start.
///
/// Who knows it can choose keys that collide, so it is shown nowhere; `Debug` does not either.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct HashKey([u8; HashKey::LEN]);

impl HashKey {
    /// Bytes of a key.
    pub const LEN: usize = 16;

    /// A key of these bytes.
    pub const fn new(bytes: [u8; HashKey::LEN]) -> HashKey {
        HashKey(bytes)
    }

    /// A key that anybody can guess: for simulations, tests and measurements, which must come out
    /// the same each time.
    pub const fn known(seed: u64) -> HashKey {
        // Spread over both halves, since neighbours would differ in bits that a hash may leave out.
        let spread = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        HashKey(((seed as u128) << 64 | spread as u128).to_le_bytes())
    }

    /// The bytes of the key.
    pub const fn bytes(&self) -> &[u8; HashKey::LEN] {
        &self.0
    }
}

impl fmt::Debug for HashKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HashKey(secret)")
    }
}
