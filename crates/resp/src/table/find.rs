//! Finds a command by its name, in any case: one multiplication and one comparison, by a hash
//! without collisions that is searched for when the crate is compiled.

use super::{ALL, Spec};

/// No name of a command is longer.
const NAME_LEN_MAX: usize = 16;
/// Many more than commands, so that the search below ends soon: with n commands a multiplier is
/// good with a probability of about exp(-n * n / 2 / SLOTS).
const SLOTS: usize = 1 << SLOT_BITS;
const SLOT_BITS: u32 = 11;
const COMMANDS: usize = ALL.len();
/// Marks a slot without a command.
const FREE: u8 = u8::MAX;

const _: () = assert!(COMMANDS < FREE as usize);

/// The name in upper case, padded with zeros, as one number.
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

/// A name of at most 16 bytes, padded with zeros. Most have eight or more: two words hold them,
/// of which the second one begins within the first.
#[inline]
fn load(name: &[u8]) -> [u8; NAME_LEN_MAX] {
    let mut padded = [0u8; NAME_LEN_MAX];
    if let (Some(first), Some(last)) = (name.first_chunk::<8>(), name.last_chunk::<8>()) {
        let beyond = 8 * (NAME_LEN_MAX - name.len()) as u32;
        let rest = u64::from_le_bytes(*last).checked_shr(beyond).unwrap_or(0);
        padded[..8].copy_from_slice(first);
        padded[8..].copy_from_slice(&rest.to_le_bytes());
    } else {
        padded[..name.len()].copy_from_slice(name);
    }
    padded
}

/// The command of this name, in any case. Subcommands are found in their container.
#[inline]
pub fn find(name: &[u8]) -> Option<&'static Spec> {
    if name.len() > NAME_LEN_MAX {
        return None;
    }
    // A zero within a name would look like padding.
    if name.last() == Some(&0) {
        return None;
    }
    let mut padded = load(name);
    padded.make_ascii_uppercase();
    let packed = u128::from_le_bytes(padded);
    let index = usize::from(INDEX.slots[slot(packed, INDEX.multiplier)]);
    if INDEX.packed.get(index) != Some(&packed) {
        return None;
    }
    ALL.get(index)
}
