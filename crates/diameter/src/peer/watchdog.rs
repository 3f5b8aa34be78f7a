//! The watchdog of RFC 3539, 3.4.1, for one connection: whether the peer still answers. A connection that is lost begins
//! as a new one, so the states INITIAL and REOPEN, which are of a peer over several connections, are absent.

/// Greatest jitter, ms, in both directions.
const JITTER_MS_MAX: i64 = 2_000;

/// States of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WatchdogState {
    /// The peer answers.
    Okay,
    /// The peer has not answered a watchdog within an interval.
    Suspect,
    /// The peer has not answered within another interval: the connection is closed.
    Down,
}

/// What is done when the timer has expired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WatchdogAction {
    /// Send a Device-Watchdog-Request.
    Send,
    /// Send no more requests to the peer.
    Suspect,
    /// Close the connection.
    Close,
}

/// A watchdog. The timer expires after the interval and the jitter of the last call of [`Watchdog::tick`].
#[derive(Clone, Copy, Debug)]
pub struct Watchdog {
    state: WatchdogState,
    /// True while a Device-Watchdog-Request is unanswered.
    is_pending: bool,
    interval_ms: u64,
    jitter_ms: i64,
    due_ms: u64,
}

impl Watchdog {
    /// Begins when the connection is open.
    #[must_use]
    pub fn new(interval_ms: u64, now_ms: u64, jitter_ms: i64) -> Watchdog {
        let mut watchdog = Watchdog {
            state: WatchdogState::Okay,
            is_pending: false,
            interval_ms,
            jitter_ms: jitter_ms.clamp(-JITTER_MS_MAX, JITTER_MS_MAX),
            due_ms: 0,
        };
        watchdog.set(now_ms);
        watchdog
    }

    /// Returns the state.
    #[must_use]
    pub fn state(&self) -> WatchdogState {
        self.state
    }

    /// Returns when the timer expires, ms; `None` once the peer is down.
    #[must_use]
    pub fn due_ms(&self) -> Option<u64> {
        (self.state != WatchdogState::Down).then_some(self.due_ms)
    }

    fn set(&mut self, now_ms: u64) {
        let interval_ms = self.interval_ms.saturating_add_signed(self.jitter_ms);
        self.due_ms = now_ms.saturating_add(interval_ms);
    }

    /// Notes a message of the peer; `is_answer` if it answers our watchdog. Returns true if a suspected peer is
    /// trusted again.
    #[inline]
    pub fn heard(&mut self, now_ms: u64, is_answer: bool) -> bool {
        if self.state == WatchdogState::Down {
            return false;
        }
        self.is_pending &= !is_answer;
        self.set(now_ms);
        std::mem::replace(&mut self.state, WatchdogState::Okay) == WatchdogState::Suspect
    }

    /// Returns what to do if the timer has expired, and sets it again with this jitter, ms.
    pub fn tick(&mut self, now_ms: u64, jitter_ms: i64) -> Option<WatchdogAction> {
        if now_ms < self.due_ms()? {
            return None;
        }
        self.jitter_ms = jitter_ms.clamp(-JITTER_MS_MAX, JITTER_MS_MAX);
        self.set(now_ms);
        Some(match (self.state, self.is_pending) {
            (WatchdogState::Okay, false) => {
                self.is_pending = true;
                WatchdogAction::Send
            }
            (WatchdogState::Okay, true) => {
                self.state = WatchdogState::Suspect;
                WatchdogAction::Suspect
            }
            (WatchdogState::Suspect | WatchdogState::Down, _) => {
                self.state = WatchdogState::Down;
                WatchdogAction::Close
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use WatchdogState::{Down, Okay, Suspect};

    #[derive(Clone, Copy, Debug)]
    enum Input {
        Expires,
        Answer,
        Other,
    }

    /// Rows of RFC 3539, 3.4.1 for an open connection: state, pending, input; what is done, state, pending.
    #[test]
    fn the_table_of_the_standard_holds() {
        use Input::{Answer, Expires, Other};
        let send = Some(WatchdogAction::Send);
        let suspect = Some(WatchdogAction::Suspect);
        let close = Some(WatchdogAction::Close);
        for (state, pending, input, action, next, next_pending) in [
            (Okay, false, Expires, send, Okay, true),
            (Okay, true, Expires, suspect, Suspect, true),
            (Suspect, true, Expires, close, Down, true),
            (Suspect, false, Expires, close, Down, false),
            (Okay, true, Answer, None, Okay, false),
            (Okay, false, Answer, None, Okay, false),
            (Okay, true, Other, None, Okay, true),
            (Okay, false, Other, None, Okay, false),
            (Suspect, true, Answer, None, Okay, false),
            (Suspect, true, Other, None, Okay, true),
            (Down, true, Answer, None, Down, true),
            (Down, true, Other, None, Down, true),
            (Down, true, Expires, None, Down, true),
        ] {
            let mut watchdog =
                Watchdog { state, is_pending: pending, ..Watchdog::new(30_000, 0, 0) };
            let (mut done, mut back) = (None, false);
            match input {
                Expires => done = watchdog.tick(30_000, 0),
                Answer => back = watchdog.heard(1_000, true),
                Other => back = watchdog.heard(1_000, false),
            }
            let row = format!("{state:?} {pending} {input:?}");
            assert_eq!(
                (done, watchdog.state, watchdog.is_pending),
                (action, next, next_pending),
                "{row}"
            );
            assert_eq!(back, state == Suspect && next == Okay, "{row}");
            let set_at = if matches!(input, Expires) { 30_000 } else { 1_000 };
            let due = (next != Down).then_some(set_at + 30_000);
            assert_eq!(watchdog.due_ms(), due, "{row}");
        }
    }

    #[test]
    fn the_jitter_moves_the_timer_by_two_seconds_at_most() {
        for (jitter_ms, due_ms) in
            [(0, 30_000), (-2_000, 28_000), (2_000, 32_000), (-9_000, 28_000), (i64::MAX, 32_000)]
        {
            let mut watchdog = Watchdog::new(30_000, 0, jitter_ms);
            assert_eq!(watchdog.due_ms(), Some(due_ms));
            assert_eq!(watchdog.tick(due_ms - 1, 0), None);
            assert_eq!(watchdog.tick(due_ms, jitter_ms), Some(WatchdogAction::Send));
            assert_eq!(watchdog.due_ms(), Some(2 * due_ms));
        }
    }

    #[test]
    fn late_ticks_give_the_peer_a_whole_interval() {
        let mut watchdog = Watchdog::new(30_000, 0, 0);
        for (now_ms, action) in [
            (900_000, Some(WatchdogAction::Send)),
            (900_001, None),
            (929_999, None),
            (990_000, Some(WatchdogAction::Suspect)),
            (1_019_999, None),
            (1_020_000, Some(WatchdogAction::Close)),
            (2_000_000, None),
        ] {
            assert_eq!(watchdog.tick(now_ms, 0), action, "{now_ms}");
        }
    }
}
