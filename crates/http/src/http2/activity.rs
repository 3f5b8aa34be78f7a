//! What happens on a connection of HTTP/2, and what is due because of it. One timer per connection asks this; requests
//! have none.

use crate::bounds::{DRAIN, HEAD_PATIENCE, TAKE_PATIENCE};
use crate::client_errors::ClientFault;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::Instant;

/// How long a connection is kept without a request after it has had one.
pub(super) const IDLE_PATIENCE: Duration = Duration::from_secs(600);
/// Maximum number of requests that a client cancels in a second before they are answered.
pub(super) const CANCELLED_PER_SECOND_MAX: u32 = 200;
/// Maximum number of bytes outside bodies (SETTINGS, PING and others) that a client sends between two requests, or two
/// parts of answers that it takes.
pub(super) const BETWEEN_REQUESTS_MAX: usize = 1024 * 1024;

/// The requests of a connection, and what its client has done wrong.
pub(super) struct Activity {
    state: Mutex<ActivityState>,
    faulted: Notify,
}

struct ActivityState {
    /// Whether a request has begun.
    has_begun: bool,
    /// Number of requests whose answer the client has not taken to its end.
    running: u32,
    /// When the connection began, or its last request began or ended.
    changed: Instant,
    /// Number of answers with a part that waits for the client.
    waiting: u32,
    /// When the client last took a part of an answer, or an answer began to wait for it.
    taken: Instant,
    /// When the client was asked to open no more streams.
    left: Option<Instant>,
    /// Bytes outside bodies since the last request began, or a part of an answer was taken.
    between: usize,
    /// A second, and the number of requests that were cancelled in it.
    second: Instant,
    cancelled: u32,
    fault: Option<ClientFault>,
}

/// What is to be done with a connection.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Due {
    /// Nothing before this time.
    Later(Instant),
    /// Tell the client to open no more streams (GOAWAY).
    Leave,
    /// End it.
    End,
}

impl Activity {
    pub(super) fn new() -> Activity {
        let now = Instant::now();
        let state = ActivityState {
            has_begun: false,
            running: 0,
            changed: now,
            waiting: 0,
            taken: now,
            left: None,
            between: 0,
            second: now,
            cancelled: 0,
            fault: None,
        };
        Activity { state: Mutex::new(state), faulted: Notify::new() }
    }

    fn state(&self) -> MutexGuard<'_, ActivityState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns what is due. At the latest after [`TAKE_PATIENCE`] it has to be asked again, because an answer may begin
    /// to wait for the client at any time.
    pub(super) fn due(&self, now: Instant) -> Due {
        let state = self.state();
        let is_stuck = state.waiting > 0 && now >= state.taken + TAKE_PATIENCE;
        let is_idle = state.running == 0;
        let patience = if state.has_begun { IDLE_PATIENCE } else { HEAD_PATIENCE };
        let (until, due) = match state.left {
            Some(left) => (left + DRAIN, Due::End),
            // A client that has not asked for anything gets no more time than one of HTTP/1.1.
            None if !state.has_begun => (state.changed + patience, Due::End),
            None => (state.changed + patience, Due::Leave),
        };
        if is_stuck {
            return Due::End;
        }
        if is_idle && now >= until {
            return due;
        }
        let next = if is_idle { until } else { now + TAKE_PATIENCE };
        Due::Later(next.min(now + TAKE_PATIENCE))
    }

    /// Notes that the client was asked to open no more streams.
    pub(super) fn leave(&self, now: Instant) {
        self.state().left = Some(now);
    }

    pub(super) fn is_leaving(&self) -> bool {
        self.state().left.is_some()
    }

    pub(super) fn is_running(&self) -> bool {
        self.state().running > 0
    }

    /// Waits until the client has done what ends its connection.
    pub(super) async fn fault(&self) -> ClientFault {
        loop {
            if let Some(fault) = self.noted_fault() {
                return fault;
            }
            self.faulted.notified().await;
        }
    }

    /// Returns what the client has done that ends its connection.
    pub(super) fn noted_fault(&self) -> Option<ClientFault> {
        self.state().fault
    }

    /// Counts bytes outside bodies. Returns false when they are too many.
    pub(super) fn receive(&self, len: usize) -> bool {
        let mut state = self.state();
        state.between += len;
        if state.between > BETWEEN_REQUESTS_MAX {
            self.end_for(&mut state, ClientFault::Floods);
        }
        state.fault.is_none()
    }

    fn end_for(&self, state: &mut ActivityState, fault: ClientFault) {
        state.fault.get_or_insert(fault);
        self.faulted.notify_one();
    }

    /// Counts a request that begins.
    pub(super) fn begin(self: &Arc<Activity>) -> RunningRequest {
        let mut state = self.state();
        state.has_begun = true;
        state.running += 1;
        state.between = 0;
        state.changed = Instant::now();
        drop(state);
        RunningRequest { activity: Arc::clone(self), is_answered: false, is_waiting: false }
    }
}

/// A request that runs until this is dropped.
pub(super) struct RunningRequest {
    activity: Arc<Activity>,
    is_answered: bool,
    /// Whether a part of its answer waits for the client.
    is_waiting: bool,
}

impl RunningRequest {
    /// Notes that its answer was made, and waits for the client.
    pub(super) fn answered(mut self) -> RunningRequest {
        self.is_answered = true;
        self
    }

    /// Notes whether a part of the answer waits for the client, which has taken all parts before.
    pub(super) fn set_waiting(&mut self, is_waiting: bool) {
        if is_waiting == self.is_waiting {
            return;
        }
        let mut state = self.activity.state();
        if is_waiting {
            state.waiting += 1;
            if state.waiting == 1 {
                state.taken = Instant::now();
            }
        } else {
            state.waiting -= 1;
            state.taken = Instant::now();
            state.between = 0;
        }
        drop(state);
        self.is_waiting = is_waiting;
    }
}

impl Drop for RunningRequest {
    fn drop(&mut self) {
        self.set_waiting(false);
        let now = Instant::now();
        let mut state = self.activity.state();
        state.running -= 1;
        state.changed = now;
        if self.is_answered {
            return;
        }
        if now >= state.second + Duration::from_secs(1) {
            (state.second, state.cancelled) = (now, 0);
        }
        state.cancelled += 1;
        if state.cancelled > CANCELLED_PER_SECOND_MAX {
            self.activity.end_for(&mut state, ClientFault::CancelsTooOften);
        }
    }
}
