//! Which core owns which hash slots: contiguous ranges of nearly equal length.

use scurry_resp::{SLOTS, slot};
use std::ops::RangeInclusive;

/// The division of the slots among the cores of this server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slots {
    cores: u16,
}

impl Slots {
    /// Creates the division; `cores` is at least 1 and at most [`SLOTS`].
    pub(crate) fn new(cores: u16) -> Slots {
        assert!((1..=SLOTS).contains(&cores), "every core owns a slot");
        Slots { cores }
    }

    pub(crate) fn cores(self) -> u16 {
        self.cores
    }

    /// Returns the core that owns a slot.
    pub(crate) fn owner(self, slot: u16) -> u16 {
        let owner = u32::from(slot) * u32::from(self.cores) / u32::from(SLOTS);
        u16::try_from(owner).unwrap_or_default()
    }

    /// Returns the core that owns a key.
    pub(crate) fn owner_of(self, key: &[u8]) -> u16 {
        if self.cores == 1 { 0 } else { self.owner(slot(key)) }
    }

    /// Returns the slots of a core.
    pub(crate) fn range(self, core: u16) -> RangeInclusive<u16> {
        let first = |core: u16| {
            let first = (u32::from(core) * u32::from(SLOTS)).div_ceil(u32::from(self.cores));
            u16::try_from(first).unwrap_or(SLOTS)
        };
        first(core)..=first(core + 1) - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_and_owners_agree_and_cover_every_slot_once() {
        for cores in [1, 2, 3, 5, 7, 16, 100, 1_000, SLOTS] {
            let slots = Slots::new(cores);
            let mut next = 0;
            for core in 0..cores {
                let range = slots.range(core);
                assert_eq!(*range.start(), next, "{cores} cores, core {core}");
                assert!(range.clone().all(|slot| slots.owner(slot) == core));
                next = *range.end() + 1;
            }
            assert_eq!(next, SLOTS);
        }
    }
}
