//! Thresholds of a reader, and what crosses them.

use super::Event;
use scurry_codec::Balance;
use scurry_ledger::Name;

/// A threshold of each bucket of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Low {
    /// The unit.
    pub unit: Name,
    /// Less than this available is low, minor units.
    pub threshold: i64,
}

impl Low {
    /// The event that a commit means for this threshold. `balance` is the bucket after it, `change` what it
    /// added to available, `begins` whether the bucket begins with it: a bucket counts as not low
    /// before it is there, so that the last crossing always says how it is.
    pub(super) fn crossing(&self, balance: &Balance, change: i128, begins: bool) -> Option<Event> {
        if balance.unit != self.unit {
            return None;
        }
        let is_low = |available: i128| available < i128::from(self.threshold);
        let after = i128::from(balance.available);
        let was_low = !begins && is_low(after - change);
        let (bucket, threshold) = (balance.bucket, self.threshold);
        match (was_low, is_low(after)) {
            (false, true) => Some(Event::Low { bucket, threshold }),
            (true, false) => Some(Event::Restored { bucket, threshold }),
            _ => None,
        }
    }
}
