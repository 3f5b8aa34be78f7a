//! What the server's callbacks share. The server runs one of them at a time, under a lock of its own,
//! so what they share needs none: a lock of ours would cost each command twice what it takes to look
//! whether somebody works with it already.

use super::Context;
use std::cell::{Cell, UnsafeCell};

/// Something that one callback at a time works with.
pub(crate) struct Exclusive<T> {
    is_taken: Cell<bool>,
    value: UnsafeCell<Option<T>>,
}

// SAFETY: both cells are used in `with` alone, by whoever has a context. The server gives one to
// callbacks that it runs under its lock and to no others, and they do not hand it on.
unsafe impl<T: Send> Sync for Exclusive<T> {}

impl<T: Default> Exclusive<T> {
    pub(crate) const fn new() -> Exclusive<T> {
        Exclusive { is_taken: Cell::new(false), value: UnsafeCell::new(None) }
    }

    /// Works with it; none while somebody does already: another module may call a command from
    /// within what one of ours has caused.
    pub(crate) fn with<R>(&self, _: &Context, work: impl FnOnce(&mut T) -> R) -> Option<R> {
        if self.is_taken.replace(true) {
            return None;
        }
        // SAFETY: nobody else has a reference: it was not taken, and nobody else runs.
        let value = unsafe { &mut *self.value.get() };
        let result = work(value.get_or_insert_default());
        // Nothing unwinds to here: a panic ends the process.
        self.is_taken.set(false);
        Some(result)
    }
}
