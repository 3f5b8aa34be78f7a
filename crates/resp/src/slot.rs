//! Hash slots as in Redis Cluster: assigns each key to one of 16,384 slots.

use crc::{CRC_16_XMODEM, Crc};

/// Number of slots.
pub const SLOTS: u16 = 16_384;

const CRC: Crc<u16> = Crc::<u16>::new(&CRC_16_XMODEM);

/// Returns the slot of a key: CRC16 of its hash tag, the bytes between the first `{` and the next `}`, if it has one,
/// else of the whole key.
pub fn slot(key: &[u8]) -> u16 {
    CRC.checksum(hash_tag(key).unwrap_or(key)) % SLOTS
}

fn hash_tag(key: &[u8]) -> Option<&[u8]> {
    let open = key.iter().position(|&byte| byte == b'{')?;
    let tag = &key[open + 1..];
    let close = tag.iter().position(|&byte| byte == b'}')?;
    // An empty tag (`{}`) does not count: the whole key is hashed.
    (close > 0).then(|| &tag[..close])
}

#[cfg(test)]
mod tests {
    use super::slot;

    /// The expected slots are from a Valkey server (CLUSTER KEYSLOT).
    #[test]
    fn slots_are_those_of_valkey() {
        for (key, expected) in [
            ("", 0),
            ("123456789", 12_739),
            ("foo", 12_182),
            ("{foo}bar", 12_182),
            ("foo{}{bar}", 8_363),
            ("foo{{bar}}zap", 4_015),
            ("foo{bar}{zap}", 5_061),
            ("{user1000}.following", 3_443),
            ("a{b", 13_340),
        ] {
            assert_eq!(slot(key.as_bytes()), expected, "{key}");
        }
    }
}
