//! Commits as events for followers of a store: every change of a balance, every expiry, each crossing of a threshold,
//! in the order of the log. Events are not stored: they are derived from the log's records, so a position in the log is
//! a position among the events, before a crash and after it. docs/events.md is for users.

use scurry_codec::Balance;
use scurry_ledger::Name;

mod derive;
mod event;
mod origin;
mod reader;

use derive::answer_of;
pub use derive::{EventWithOrigin, events_of};
pub use event::{Ending, Event, Movement};
pub use origin::{Origin, OriginItem};
pub use reader::{
    EventAt, EventFilter, EventReader, Found, Read, ReadBack, ReadEventsError, Stop, TimeRange,
};

/// A threshold for each bucket of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LowThresholds {
    /// The unit.
    pub unit: Name,
    /// Minor units; less than this available is low.
    pub threshold: i64,
}

impl LowThresholds {
    /// Returns the crossing event that a commit causes for this threshold, if any. `balance` is the bucket after the
    /// commit, `change` what the commit added to available, `begins` whether it created the bucket. A new bucket
    /// counts as not low before, so the last crossing always shows the present state.
    fn crossing(&self, balance: &Balance, change: i128, begins: bool) -> Option<Event> {
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
