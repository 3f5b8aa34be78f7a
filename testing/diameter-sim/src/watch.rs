//! What RFC 3539 and RFC 6733 say of a connection, written down a second time and without timers: the peer machine must
//! agree with it.

use scurry_diameter::peer::{CloseReason, Event, RequestRefusal, WatchdogState};

/// Greatest jitter of a watchdog: RFC 3539, 3.4.1.
const JITTER_MS: u64 = 2_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Capabilities are not exchanged.
    Opening,
    Okay,
    Suspect {
        since_ms: u64,
    },
    Closed,
}

/// What must be true of one side of a connection.
#[derive(Debug)]
pub(crate) struct Watch {
    state: State,
    /// True once this side has asked the other one to disconnect.
    is_draining: bool,
    heard_ms: u64,
    interval_ms: u64,
}

impl Watch {
    pub(crate) fn new(interval_ms: u64, now_ms: u64) -> Watch {
        Watch { state: State::Opening, is_draining: false, heard_ms: now_ms, interval_ms }
    }

    pub(crate) fn is_usable(&self) -> bool {
        self.state == State::Okay && !self.is_draining
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.state == State::Closed
    }

    pub(crate) fn drains(&mut self) {
        self.is_draining = true;
    }

    /// Notes that the connection has ended below the machine.
    pub(crate) fn ends(&mut self) {
        self.state = State::Closed;
    }

    /// Notes an event.
    pub(crate) fn event(&mut self, event: &Event, now_ms: u64) {
        let shortest_ms = self.interval_ms - JITTER_MS;
        assert!(
            self.state != State::Closed,
            "after its last event a machine has another: {event:?}"
        );
        let silent_ms = now_ms - self.heard_ms;
        match (event, self.state) {
            (Event::Up(_), State::Opening) => {
                (self.state, self.heard_ms) = (State::Okay, now_ms);
            }
            (Event::Watchdog(WatchdogState::Suspect), State::Okay) => {
                assert!(silent_ms >= shortest_ms, "suspected after {silent_ms} ms of silence");
                self.state = State::Suspect { since_ms: now_ms };
            }
            (Event::Watchdog(WatchdogState::Okay), State::Suspect { .. }) => {
                assert_eq!(silent_ms, 0, "trusted again without a word");
                self.state = State::Okay;
            }
            (Event::Close(CloseReason::WatchdogTimeout), State::Suspect { since_ms }) => {
                assert!(now_ms - since_ms >= shortest_ms, "closed {now_ms} suspected {since_ms}");
                self.state = State::Closed;
            }
            (Event::Close(reason), _) if *reason != CloseReason::WatchdogTimeout => {
                self.state = State::Closed;
            }
            (Event::Request(_), State::Okay)
            | (Event::Answer { .. } | Event::Unanswered { .. }, _) => {}
            (event, state) => panic!("in {state:?} a machine has the event {event:?}"),
        }
    }

    /// Notes that a message has arrived, before the machine gets it.
    pub(crate) fn hears(&mut self, now_ms: u64) {
        if self.state != State::Opening {
            self.heard_ms = now_ms;
        }
    }

    /// Checks the state after a message or a tick. Ticks are on time here.
    pub(crate) fn check(&self, now_ms: u64) {
        let (silent_ms, longest_ms) = (now_ms - self.heard_ms, self.interval_ms + JITTER_MS);
        match self.state {
            State::Opening | State::Closed => {}
            _ if self.is_draining => {}
            State::Okay => assert!(silent_ms <= 2 * longest_ms, "trusted for {silent_ms} ms"),
            State::Suspect { since_ms } => {
                assert!(silent_ms > 0, "suspected although it has just spoken");
                assert!(
                    now_ms - since_ms <= longest_ms,
                    "suspected since {since_ms}, now {now_ms}"
                );
            }
        }
    }

    /// Checks what the machine said to a request of this side.
    pub(crate) fn check_request(&self, said: Result<(), RequestRefusal>) {
        let expected = match self.state {
            State::Okay if !self.is_draining => Ok(()),
            State::Suspect { .. } if !self.is_draining => Err(RequestRefusal::Suspect),
            _ => Err(RequestRefusal::NotOpen),
        };
        assert_eq!(said, expected, "in {:?}, draining {}", self.state, self.is_draining);
    }
}
