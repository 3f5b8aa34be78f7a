//! What a run and its clients tell each other.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// What the run tells its clients, and they tell the run.
#[derive(Debug, Default)]
pub(super) struct Control {
    pub(super) is_ending: AtomicBool,
    pub(super) has_failed: AtomicBool,
    pub(super) answers: AtomicU64,
}

impl Control {
    /// Lets no session begin any more.
    pub(super) fn end(&self) {
        self.is_ending.store(true, Ordering::Relaxed);
    }

    /// Reports whether a client has found something wrong.
    pub(super) fn has_failed(&self) -> bool {
        self.has_failed.load(Ordering::Relaxed)
    }
}
