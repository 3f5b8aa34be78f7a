//! How often and how soon a server that is unreachable, or closes connections, is asked again.

use std::time::Duration;

/// How often a request is sent again to servers that close the connection instead of answering. Bounded, since the
/// request itself may be the cause.
pub const ASKED_AGAIN_MAX: usize = 16;

/// Interval at which a server is looked at, and the longest pause before reconnecting.
pub const LOOK_EVERY: Duration = Duration::from_millis(500);
/// Shortest pause before reconnecting.
const PAUSE_MIN: Duration = Duration::from_millis(5);

/// Returns the pause before reconnecting to a server that has been away for `absence`. A restarting server is tried
/// often, a lost one rarely.
pub fn pause(absence: Duration) -> Duration {
    (absence / 8).clamp(PAUSE_MIN, LOOK_EVERY)
}
