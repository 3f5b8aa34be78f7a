//! The clocks of this program, read in one place.

use std::sync::LazyLock;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

static BEGIN: LazyLock<Instant> = LazyLock::new(now);

#[expect(clippy::disallowed_methods, reason = "histories say when calls began and ended")]
fn now() -> Instant {
    Instant::now()
}

/// Returns the nanoseconds since the first call. Never runs backwards.
pub fn ns() -> i64 {
    let begin = *BEGIN;
    i64::try_from(now().duration_since(begin).as_nanos()).unwrap_or(i64::MAX)
}

/// Returns the UTC milliseconds since 1970, the same clock as the server's.
#[expect(clippy::disallowed_methods, reason = "expiries are compared with the server's clock")]
pub fn wall_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
