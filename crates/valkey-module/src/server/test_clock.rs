//! A clock that stands still where a test has set it. Nothing becomes due by itself then: the test runs the timers.

use scurry_ledger::Time;
use std::sync::{Mutex, PoisonError};

#[cfg(not(debug_assertions))]
compile_error!("test-clock is for tests: build a release without it");

static NOW: Mutex<Option<Time>> = Mutex::new(None);

/// Sets the clock. From the first call on it replaces the server's clock.
pub(crate) fn set(now: Time) {
    *NOW.lock().unwrap_or_else(PoisonError::into_inner) = Some(now);
}

/// Returns the time that a test has set. None while the server's clock is used.
pub(crate) fn now() -> Option<Time> {
    *NOW.lock().unwrap_or_else(PoisonError::into_inner)
}
