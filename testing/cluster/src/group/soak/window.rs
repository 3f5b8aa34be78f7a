//! Windows of faults: from a fault until the group is whole again and the load has caught up. Latencies and silence
//! within them are counted apart.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Class of everything that no window touches. Class N + 1 is that of the fault with number N.
pub(super) const OUTSIDE: usize = 0;

/// The window that is open now, and the last one that was.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Windows {
    open: Option<usize>,
    /// Class and end, ns.
    closed: Option<(usize, i64)>,
}

/// What the parts of a piece tell each other.
#[derive(Debug, Default)]
pub(super) struct Signals {
    windows: Mutex<Windows>,
    /// How much later than due the load sends its requests, ns.
    pub(super) behind_ns: AtomicI64,
    /// Set when the time of the load is over.
    stop: AtomicBool,
    /// Set when something has failed.
    failed: AtomicBool,
}

impl Windows {
    /// Returns the class of what lasted from this time until now.
    pub(super) fn class_since(&self, since_ns: i64) -> usize {
        let closed = self.closed.filter(|(_, end_ns)| since_ns < *end_ns).map(|(class, _)| class);
        self.open.or(closed).unwrap_or(OUTSIDE)
    }
}

impl Signals {
    fn lock(&self) -> MutexGuard<'_, Windows> {
        self.windows.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn windows(&self) -> Windows {
        *self.lock()
    }

    /// Begins a window of this fault.
    pub(super) fn open(&self, fault: usize) {
        self.lock().open = Some(fault + 1);
    }

    /// Ends the window that is open.
    pub(super) fn close(&self, now_ns: i64) {
        let mut windows = self.lock();
        windows.closed = windows.open.take().map(|class| (class, now_ns));
    }

    pub(super) fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Ends the piece because of a failure.
    pub(super) fn fail(&self) {
        self.failed.store(true, Ordering::Relaxed);
    }

    pub(super) fn has_failed(&self) -> bool {
        self.failed.load(Ordering::Relaxed)
    }

    pub(super) fn is_over(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || self.has_failed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_window_touches_is_within_it() {
        let signals = Signals::default();
        assert_eq!(signals.windows().class_since(0), OUTSIDE);
        signals.open(3);
        assert_eq!(signals.windows().class_since(5), 4, "it is answered in the window");
        signals.close(100);
        assert_eq!(signals.windows().class_since(99), 4, "it was due in the window");
        assert_eq!(signals.windows().class_since(100), OUTSIDE);
        signals.open(0);
        assert_eq!(signals.windows().class_since(99), 1, "the window that is open goes first");
    }
}
