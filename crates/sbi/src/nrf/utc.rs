//! The wall clock.

use std::time::{SystemTime, UNIX_EPOCH};

/// Returns the time in UTC, ms since 1970.
#[expect(clippy::disallowed_methods, reason = "this is the clock of the registration")]
pub(crate) fn utc_ms() -> u64 {
    let utc = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(utc.as_millis()).unwrap_or(u64::MAX)
}
