//! Limit on the pinned memory of all connections together. The system's own limit, if set, applies
//! as well.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Length of a page, bytes: memory is pinned in whole pages.
pub(crate) const PAGE: usize = 4096;

/// Bytes that may be pinned, and bytes that are. The queues of the device itself are not counted.
#[derive(Debug)]
pub struct Budget {
    limit: u64,
    used: AtomicU64,
}

impl Budget {
    /// Creates a budget of `limit` bytes.
    #[must_use]
    pub fn new(limit: u64) -> Arc<Budget> {
        Arc::new(Budget { limit, used: AtomicU64::new(0) })
    }

    /// Returns how many bytes may be pinned.
    #[must_use]
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// Returns how many bytes are pinned.
    #[must_use]
    pub fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    /// Takes bytes from the budget until the share is dropped.
    pub(crate) fn reserve_bytes(self: &Arc<Budget>, bytes: u64) -> io::Result<Share> {
        let fits = |used: u64| used.checked_add(bytes).filter(|&sum| sum <= self.limit);
        match self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits) {
            Ok(_) => Ok(Share { budget: Arc::clone(self), bytes }),
            Err(used) => Err(io::Error::new(
                io::ErrorKind::QuotaExceeded,
                format!(
                    "cannot pin {bytes} bytes: {used} of {} that may be pinned for RDMA are in use",
                    self.limit
                ),
            )),
        }
    }
}

/// A part of a budget.
#[derive(Debug)]
pub(crate) struct Share {
    budget: Arc<Budget>,
    bytes: u64,
}

impl Share {
    /// Returns the size of the share, bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.budget.used.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// Returns the size of the pages that a memory range touches, bytes.
pub(crate) fn pinned_bytes(address: usize, len: usize) -> u64 {
    let first = address / PAGE;
    let end = (address + len).div_ceil(PAGE);
    ((end - first) * PAGE) as u64
}
