//! The next segment of the log could not be set aside: why, and when it is tried again.

use scurry_engine::is_want_of_room;
use std::io;

/// Pause before room is looked for again, ms.
const RETRY_MS: i64 = 500;

/// None, or one that lasts.
#[derive(Default)]
pub(super) struct Shortage {
    why: Option<String>,
    /// Time of the next look for room, ms of uptime.
    retry_ms: i64,
    /// A try is under way.
    is_tried: bool,
}

impl Shortage {
    /// How a try has ended.
    pub(super) fn note(&mut self, outcome: &io::Result<()>, uptime_ms: i64) {
        self.is_tried = false;
        self.retry_ms = uptime_ms + RETRY_MS;
        self.why = outcome.as_ref().err().map(describe);
    }

    /// Reason that a command without room is told; none where there is no shortage.
    #[inline]
    pub(super) fn why(&self) -> Option<&str> {
        self.why.as_deref()
    }

    /// True when it is time for another try, which begins with that.
    pub(super) fn begin_try(&mut self, uptime_ms: i64) -> bool {
        let is_due = self.why.is_some() && !self.is_tried && uptime_ms >= self.retry_ms;
        self.is_tried |= is_due;
        is_due
    }

    /// Milliseconds until then.
    pub(super) fn patience_ms(&self, uptime_ms: i64) -> Option<i64> {
        let waits = self.why.is_some() && !self.is_tried;
        waits.then(|| (self.retry_ms - uptime_ms).max(0))
    }
}

/// An error of a log without room, in words for clients that want to write.
pub(super) fn describe(error: &io::Error) -> String {
    if is_want_of_room(error) {
        format!("the disk is full and nothing can be written: make room ({error})")
    } else {
        format!("the log cannot go on and nothing can be written: look at the disk ({error})")
    }
}
