//! Which triggers made a client ask: Trigger-Type of TS 32.299.

/// A set of Trigger-Type values of 3GPP, 0 to 127.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Triggers(u128);

impl Triggers {
    /// Adds a value; one above 127 is left out.
    pub fn add(&mut self, trigger_type: u32) {
        self.0 |= 1_u128.checked_shl(trigger_type).unwrap_or_default();
    }

    /// Reports whether the value is in the set.
    #[must_use]
    pub fn contains(&self, trigger_type: u32) -> bool {
        self.0 & 1_u128.checked_shl(trigger_type).unwrap_or_default() != 0
    }

    /// Reports whether the set is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0 == 0
    }
}
