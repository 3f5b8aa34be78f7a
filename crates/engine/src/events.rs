//! What commits mean to those who follow a store: every change of a balance, every expiry, each
//! crossing of a threshold, in the order of the log. Nothing is stored for it: events are read out
//! of the log's records, so that a position in the log is a position among them, before a crash
//! and after it. docs/events.md is for readers.

use scurry_codec::Balance;
use scurry_ledger::Name;

mod derive;
mod event;
mod origin;
mod reader;

pub use derive::{Told, events_of};
pub use event::{Ending, Event, Movement};
pub use origin::{Origin, OriginItem};
pub use reader::{
    EventAt, EventReader, Found, Read, ReadBack, ReadEventsError, Span, Stop, Wanted,
};

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
