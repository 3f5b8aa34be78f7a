//! The clocks of the door.

use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::time::Instant;

/// A time that no door lives to see, ms: 100 years.
const NEVER_MS: u64 = 36_525 * 86_400_000;

/// A clock that never goes back. It begins with the door.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock(Instant);

impl Clock {
    pub(crate) fn start() -> Clock {
        Clock(Instant::now())
    }

    /// Returns the time since the beginning, µs.
    pub(crate) fn now_us(self) -> u64 {
        u64::try_from(self.0.elapsed().as_micros()).unwrap_or(u64::MAX)
    }

    /// Returns the instant at this time, ms.
    pub(crate) fn instant(self, at_ms: u64) -> Instant {
        self.0 + Duration::from_millis(at_ms.min(NEVER_MS))
    }
}

/// Returns the time in UTC, ms since 1970.
#[expect(clippy::disallowed_methods, reason = "this is the clock of the door")]
pub(crate) fn utc_ms() -> u64 {
    let utc = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(utc.as_millis()).unwrap_or(u64::MAX)
}
