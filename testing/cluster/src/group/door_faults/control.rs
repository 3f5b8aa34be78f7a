//! What a run and its clients tell each other.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// What the run tells its clients, and they tell the run.
#[derive(Debug, Default)]
pub(super) struct Control {
    pub(super) is_ending: AtomicBool,
    pub(super) has_failed: AtomicBool,
    pub(super) answers: AtomicU64,
    /// Answers of each door that say that the request was carried out.
    pub(super) served: [AtomicU64; 2],
}

impl Control {
    /// Lets no session begin any more.
    pub(super) fn end(&self) {
        self.is_ending.store(true, Ordering::Relaxed);
    }

    /// Returns how many requests each door has carried out.
    pub(super) fn served(&self) -> [u64; 2] {
        self.served.each_ref().map(|served| served.load(Ordering::Relaxed))
    }

    /// Ends the load at once, since something is wrong.
    pub(super) fn fail(&self) {
        self.has_failed.store(true, Ordering::Relaxed);
    }

    /// Reports whether something is wrong.
    pub(super) fn has_failed(&self) -> bool {
        self.has_failed.load(Ordering::Relaxed)
    }
}
