//! The clock of a door.

use scurry_ledger::Time;
use std::time::{SystemTime, UNIX_EPOCH};

/// Returns the time in UTC, ms since 1970.
#[expect(clippy::disallowed_methods, reason = "this is the clock of the door")]
pub fn now() -> Time {
    let utc = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Time(i64::try_from(utc.as_millis()).unwrap_or(i64::MAX))
}
