//! Random delays.

use std::time::Duration;

/// Returns a random part of a duration, so that several doors do not act at the same moment.
pub(crate) fn random_part(of: Duration) -> Duration {
    // Without random bits of the system all doors act at once, which is allowed.
    let bits = getrandom::u64().unwrap_or_default();
    let ms = u64::try_from(of.as_millis()).unwrap_or(u64::MAX);
    Duration::from_millis(bits % ms.saturating_add(1))
}
