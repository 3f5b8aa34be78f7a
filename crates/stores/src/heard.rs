//! When a store was last heard of.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::time::Instant;

/// A time that many tasks set.
pub(crate) struct Heard {
    begin: Instant,
    /// Milliseconds since then.
    at_ms: AtomicU64,
}

impl Heard {
    /// Begins with the present.
    pub(crate) fn now() -> Heard {
        Heard { begin: Instant::now(), at_ms: AtomicU64::new(0) }
    }

    /// Sets the time to the present.
    pub(crate) fn note(&self) {
        self.at_ms.store(self.since_begin_ms(), Ordering::Relaxed);
    }

    /// Returns how long ago it was set.
    pub(crate) fn elapsed(&self) -> Duration {
        let at_ms = self.at_ms.load(Ordering::Relaxed);
        Duration::from_millis(self.since_begin_ms().saturating_sub(at_ms))
    }

    fn since_begin_ms(&self) -> u64 {
        u64::try_from(self.begin.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::time::advance;

    #[tokio::test(start_paused = true)]
    async fn the_time_since_the_last_note_is_told() {
        let heard = Heard::now();
        advance(Duration::from_secs(2)).await;
        assert_eq!(heard.elapsed(), Duration::from_secs(2));
        heard.note();
        assert_eq!(heard.elapsed(), Duration::ZERO);
    }
}
