//! Pointers to objects of the libraries, usable from any thread.

use std::fmt;
use std::ptr::NonNull;

/// A non-null pointer to an object of libibverbs or librdmacm.
pub(crate) struct Raw<T>(NonNull<T>);

// SAFETY: both libraries lock their shared state; their manuals allow every call from any thread.
unsafe impl<T> Send for Raw<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for Raw<T> {}

impl<T> Clone for Raw<T> {
    fn clone(&self) -> Raw<T> {
        *self
    }
}

impl<T> Copy for Raw<T> {}

impl<T> Raw<T> {
    /// Wraps a pointer; `None` when it is null.
    pub(crate) fn new(pointer: *mut T) -> Option<Raw<T>> {
        NonNull::new(pointer).map(Raw)
    }

    /// Returns the pointer, to be passed to a library call.
    pub(crate) fn get(self) -> *mut T {
        self.0.as_ptr()
    }
}

impl<T> fmt::Debug for Raw<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:p}", self.0)
    }
}
