//! LEB128 without a loop: up to 56 bits are spread to groups of seven in three steps, and gathered again.

/// Numbers below this take at most eight bytes.
pub(crate) const SPREAD_END: u64 = 1 << 56;

/// Returns the length of a number's LEB128, bytes.
#[inline]
pub(crate) fn len(number: u64) -> usize {
    let bits = 64 - (number | 1).leading_zeros() as usize;
    // This is bits / 7, rounded up, for 1 to 64 bits.
    (bits * 9 + 64) / 64
}

/// Returns the LEB128 of a number below `SPREAD_END`, of this length.
#[inline]
pub(crate) fn spread(number: u64, len: usize) -> u64 {
    let halves = (number & 0x0fff_ffff) | (number & 0x00ff_ffff_f000_0000) << 4;
    let quarters = (halves & 0x0000_3fff_0000_3fff) | (halves & 0x0fff_c000_0fff_c000) << 2;
    let groups = (quarters & 0x007f_007f_007f_007f) | (quarters & 0x3f80_3f80_3f80_3f80) << 1;
    // Each byte but the last has the bit for "more bytes follow".
    groups | (MORE & ((1 << ((8 * (len - 1)) & 63)) - 1))
}

/// Returns the number at the start of eight bytes and its length; `None` if it is longer.
#[inline]
pub(crate) fn gather(bytes: &[u8; 8]) -> Option<(u64, usize)> {
    let word = u64::from_le_bytes(*bytes);
    let ends = !word & MORE;
    // Keeps the bits up to the first byte that ends a number.
    let groups = word & (ends ^ ends.checked_sub(1)?) & !MORE;
    let quarters = (groups & 0x007f_007f_007f_007f) | (groups & 0x7f00_7f00_7f00_7f00) >> 1;
    let halves = (quarters & 0x0000_3fff_0000_3fff) | (quarters & 0x3fff_0000_3fff_0000) >> 2;
    let number = (halves & 0x0fff_ffff) | (halves & 0x0fff_ffff_0000_0000) >> 4;
    Some((number, ends.trailing_zeros() as usize / 8 + 1))
}

/// Returns the length of the number at the start of eight bytes; `None` if it is longer.
#[inline]
pub(crate) fn end(bytes: &[u8; 8]) -> Option<usize> {
    let ends = !u64::from_le_bytes(*bytes) & MORE;
    (ends != 0).then(|| ends.trailing_zeros() as usize / 8 + 1)
}

const MORE: u64 = 0x8080_8080_8080_8080;

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    /// Encodes a number with the usual loop.
    fn looped(mut number: u64) -> Vec<u8> {
        let mut bytes = Vec::new();
        while number >= 0x80 {
            bytes.push((number & 0x7f) as u8 | 0x80);
            number >>= 7;
        }
        bytes.push(number as u8);
        bytes
    }

    fn numbers() -> impl Iterator<Item = u64> {
        let near = |shift| {
            let power = 1_u64 << shift;
            [power - 1, power, power + 1]
        };
        let mixed = (0..64).map(|shift| 0x9e37_79b9_7f4a_7c15_u64 >> shift);
        (0..64).flat_map(near).chain(mixed)
    }

    #[test]
    fn spread_numbers_are_those_of_a_loop() {
        for number in numbers() {
            let expected = looped(number);
            assert_eq!(len(number), expected.len(), "{number:x}");
            if number >= SPREAD_END {
                assert_eq!(expected.first_chunk().and_then(gather), None, "{number:x}");
                assert_eq!(expected.first_chunk().and_then(end), None, "{number:x}");
                continue;
            }
            let bytes = spread(number, expected.len());
            assert_eq!(bytes.to_le_bytes()[..expected.len()], expected, "{number:x}");
            assert!(expected.len() == 8 || bytes >> (8 * expected.len()) == 0);
            // The result must not depend on the bytes that follow.
            for fill in [0, 0x7f, 0x80, 0xff] {
                let mut padded = [fill; 8];
                padded[..expected.len()].copy_from_slice(&expected);
                assert_eq!(gather(&padded), Some((number, expected.len())), "{number:x}");
                assert_eq!(end(&padded), Some(expected.len()), "{number:x}");
            }
        }
    }
}
