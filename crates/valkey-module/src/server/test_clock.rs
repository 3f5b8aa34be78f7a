//! A clock that stands where a test has set it. Nothing comes due by itself then: a test says when
//! timers run.

use scurry_ledger::Time;
use std::sync::{Mutex, PoisonError};

#[cfg(not(debug_assertions))]
compile_error!("test-clock is for tests: build a release without it");

static NOW: Mutex<Option<Time>> = Mutex::new(None);

/// Sets it. From the first time on it is the clock.
pub(crate) fn set(now: Time) {
    *NOW.lock().unwrap_or_else(PoisonError::into_inner) = Some(now);
}

/// Where it stands; none when the server's clock is the clock.
pub(crate) fn now() -> Option<Time> {
    *NOW.lock().unwrap_or_else(PoisonError::into_inner)
}
