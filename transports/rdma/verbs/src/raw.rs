//! Pointers to the libraries' objects that may be used from any thread.

use std::fmt;
use std::ptr::NonNull;

/// An object of libibverbs or librdmacm.
pub(crate) struct Raw<T>(NonNull<T>);

// SAFETY: both libraries lock what they share; their manuals allow every call from any thread.
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
    /// Nothing for a null pointer.
    pub(crate) fn new(pointer: *mut T) -> Option<Raw<T>> {
        NonNull::new(pointer).map(Raw)
    }

    /// For a call.
    pub(crate) fn get(self) -> *mut T {
        self.0.as_ptr()
    }
}

impl<T> fmt::Debug for Raw<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:p}", self.0)
    }
}
