//! Finds a command by its name, in any case, with one multiplication and one comparison: a hash without collisions is
//! searched for at compile time.

use super::{ALL, Spec};

/// Greatest length of a command's name, bytes.
const NAME_LEN_MAX: usize = 16;
/// Number of slots: many more than commands, so that the search below ends soon. With n commands a multiplier is good
/// with a probability of about exp(-n * n / 2 / SLOTS).
const SLOTS: usize = 1 << SLOT_BITS;
const SLOT_BITS: u32 = 11;
const COMMANDS: usize = ALL.len();
/// Marks a slot without a command.
const FREE: u8 = u8::MAX;

const _: () = assert!(COMMANDS < FREE as usize);

/// Returns the name in upper case, padded with zeros, as one number.
const fn pack(name: &[u8]) -> u128 {
    let mut padded = [0u8; NAME_LEN_MAX];
    let mut at = 0;
    while at < name.len() {
        padded[at] = name[at].to_ascii_uppercase();
        at += 1;
    }
    u128::from_le_bytes(padded)
}

#[expect(clippy::cast_possible_truncation, reason = "the halves of a number are folded into one")]
const fn slot(packed: u128, multiplier: u64) -> usize {
    let folded = (packed as u64) ^ ((packed >> 64) as u64).rotate_left(29);
    (folded.wrapping_mul(multiplier) >> (u64::BITS - SLOT_BITS)) as usize
}

struct Index {
    multiplier: u64,
    slots: [u8; SLOTS],
    packed: [u128; COMMANDS],
}

static INDEX: Index = build();

/// Tries multipliers until no two names share a slot.
#[expect(clippy::cast_possible_truncation, reason = "COMMANDS fits a byte: asserted above")]
const fn build() -> Index {
    let mut packed = [0u128; COMMANDS];
    let mut at = 0;
    while at < COMMANDS {
        let name = ALL[at].name.as_bytes();
        assert!(name.len() <= NAME_LEN_MAX);
        packed[at] = pack(name);
        at += 1;
    }
    let mut multiplier = 0x9e37_79b9_7f4a_7c15u64;
    loop {
        let mut slots = [FREE; SLOTS];
        let mut at = 0;
        while at < COMMANDS {
            let slot = slot(packed[at], multiplier);
            if slots[slot] != FREE {
                break;
            }
            slots[slot] = at as u8;
            at += 1;
        }
        if at == COMMANDS {
            return Index { multiplier, slots, packed };
        }
        multiplier = multiplier
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
    }
}

/// Loads a name of at most 16 bytes as two words, padded with zeros. The reads overlap if the length is not a whole
/// number of words: copying so few bytes would take a call.
#[inline]
fn load(name: &[u8]) -> (u64, u64) {
    if let (Some(first), Some(last)) = (name.first_chunk::<8>(), name.last_chunk::<8>()) {
        let beyond = 8 * (NAME_LEN_MAX - name.len()) as u32;
        let rest = u64::from_le_bytes(*last).checked_shr(beyond).unwrap_or(0);
        return (u64::from_le_bytes(*first), rest);
    }
    if let (Some(first), Some(last)) = (name.first_chunk::<4>(), name.last_chunk::<4>()) {
        let last = u64::from(u32::from_le_bytes(*last)) << (8 * (name.len() - 4));
        return (u64::from(u32::from_le_bytes(*first)) | last, 0);
    }
    let byte = |at: usize| u64::from(name.get(at).copied().unwrap_or(0)) << (8 * at);
    (byte(0) | byte(1) | byte(2), 0)
}

/// Converts eight bytes at once as [`u8::to_ascii_uppercase`] does each of them.
#[inline]
const fn upper_case(word: u64) -> u64 {
    const EACH: u64 = u64::MAX / 0xff;
    const HIGH: u64 = 0x80 * EACH;
    let low = word & !HIGH;
    // Sets the high bit of each byte that is at least `a`, and of each that is above `z`.
    let from_a = low + (0x80 - b'a' as u64) * EACH;
    let beyond_z = low + (0x7f - b'z' as u64) * EACH;
    let lower_case = (from_a ^ beyond_z) & !word & HIGH;
    word ^ (lower_case >> 2)
}

/// Returns the command of this name, in any case. Subcommands are looked up in their container.
#[inline]
pub fn find(name: &[u8]) -> Option<&'static Spec> {
    if name.len() > NAME_LEN_MAX {
        return None;
    }
    // A zero at the end of a name would look like padding.
    if name.last() == Some(&0) {
        return None;
    }
    let (first, rest) = load(name);
    let packed = u128::from(upper_case(first)) | u128::from(upper_case(rest)) << 64;
    let index = usize::from(INDEX.slots[slot(packed, INDEX.multiplier)]);
    // The slot only says which command it can be.
    if INDEX.packed.get(index) != Some(&packed) {
        return None;
    }
    ALL.get(index)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_upper_case_byte_by_byte() {
        for byte in 0..=u8::MAX {
            for at in 0..8 {
                for around in [0, b'a' - 1, b'a', b'z', b'z' + 1, 0x7f, 0x80, u8::MAX] {
                    let mut bytes = [around; 8];
                    bytes[at] = byte;
                    let upper = upper_case(u64::from_le_bytes(bytes)).to_le_bytes();
                    assert_eq!(upper, bytes.map(|byte| byte.to_ascii_uppercase()), "{bytes:?}");
                }
            }
        }
    }

    #[test]
    fn a_name_of_any_length_is_padded_with_zeros() {
        let bytes: [u8; NAME_LEN_MAX] = std::array::from_fn(|at| at as u8 + 1);
        for len in 0..=NAME_LEN_MAX {
            let mut padded = [0; NAME_LEN_MAX];
            padded[..len].copy_from_slice(&bytes[..len]);
            let (first, rest) = load(&bytes[..len]);
            let loaded = u128::from(first) | u128::from(rest) << 64;
            assert_eq!(loaded, u128::from_le_bytes(padded), "{len} bytes");
        }
    }

    /// Tests each name in three cases, and with each of its bytes changed, added or left out.
    #[test]
    fn names_are_found_in_any_case_and_nothing_else_is() {
        let linear = |name: &[u8]| {
            ALL.iter().find(|spec| spec.name.as_bytes().eq_ignore_ascii_case(name)).map(|s| s.id)
        };
        for spec in ALL {
            let (upper, lower) = (spec.name.to_ascii_uppercase(), spec.name.to_ascii_lowercase());
            let mut mixed = lower.clone().into_bytes();
            mixed[0].make_ascii_uppercase();
            for name in [upper.as_bytes(), lower.as_bytes(), &mixed] {
                assert_eq!(find(name).map(|spec| spec.id), Some(spec.id), "{}", spec.name);
                for at in 0..name.len() {
                    for byte in 0..=u8::MAX {
                        let mut other = name.to_vec();
                        other[at] = byte;
                        assert_eq!(find(&other).map(|spec| spec.id), linear(&other), "{other:?}");
                        other[at] = name[at];
                        other.insert(at + 1, byte);
                        assert_eq!(find(&other).map(|spec| spec.id), linear(&other), "{other:?}");
                    }
                    let mut other = name.to_vec();
                    other.remove(at);
                    assert_eq!(find(&other).map(|spec| spec.id), linear(&other), "{other:?}");
                }
            }
        }
    }
}
