//! State shared by the server's callbacks. The server runs one callback at a time under its own lock, so the state
//! needs no lock: a lock would cost each command twice as much as the check whether the state is already in use.

use super::Context;
use std::cell::{Cell, UnsafeCell};

/// A value that one callback at a time uses.
pub(crate) struct Exclusive<T> {
    is_taken: Cell<bool>,
    value: UnsafeCell<Option<T>>,
}

// SAFETY: both cells are used only in `with`, which needs a context. The server passes contexts only to callbacks that
// it runs under its lock, and callbacks do not hand them to other threads.
unsafe impl<T: Send> Sync for Exclusive<T> {}

impl<T: Default> Exclusive<T> {
    pub(crate) const fn new() -> Exclusive<T> {
        Exclusive { is_taken: Cell::new(false), value: UnsafeCell::new(None) }
    }

    /// Runs `work` with the value. Returns None if it is already in use: another module may call a command from inside
    /// a call that one of ours has caused.
    pub(crate) fn with<R>(&self, _: &Context, work: impl FnOnce(&mut T) -> R) -> Option<R> {
        if self.is_taken.replace(true) {
            return None;
        }
        // SAFETY: no other reference exists: the value was not in use, and no other callback runs.
        let value = unsafe { &mut *self.value.get() };
        let result = work(value.get_or_insert_default());
        // No panic unwinds to this point: a panic ends the process.
        self.is_taken.set(false);
        Some(result)
    }
}
