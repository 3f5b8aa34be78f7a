//! The bell of a core: a sender rings it after a delivery to the core, and it wakes the core only if the core sleeps.

use mio::Waker;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering, fence};

/// Wakes a core that sleeps.
pub(crate) struct CoreWaker {
    asleep: AtomicBool,
    waker: Arc<Waker>,
}

impl CoreWaker {
    /// Creates a bell; `waker` wakes the core's poller.
    pub(crate) fn new(waker: Arc<Waker>) -> CoreWaker {
        CoreWaker { asleep: AtomicBool::new(false), waker }
    }

    /// Wakes the core if it sleeps. Senders call it after a delivery.
    pub(crate) fn ring(&self) {
        fence(Ordering::SeqCst);
        // The swap lets only one of many senders ring.
        let rings =
            self.asleep.load(Ordering::Relaxed) && self.asleep.swap(false, Ordering::Relaxed);
        if rings && let Err(error) = self.waker.wake() {
            tracing::error!("cannot wake a core: {error}");
        }
    }

    /// Notes that the core is about to sleep: a delivery rings from now on. The core must look for earlier deliveries
    /// after this call.
    pub(crate) fn fall_asleep(&self) {
        self.asleep.store(true, Ordering::Relaxed);
        // Pairs with the fence in `ring`: either the sender sees the flag, or the core sees its delivery.
        fence(Ordering::SeqCst);
    }

    /// Notes that the core is awake: deliveries need not ring.
    pub(crate) fn wake_up(&self) {
        self.asleep.store(false, Ordering::Relaxed);
    }
}
