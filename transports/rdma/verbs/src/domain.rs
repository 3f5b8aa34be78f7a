//! A protection domain: registered memory, and the queue pairs that may use it.

use crate::budget::Budget;
use crate::counters::ConnectionCounters;
use crate::device::Device;
use crate::os_errors;
use crate::raw::Raw;
use scurry_rdma_sys::verbs::ibv_pd;
use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// The protection domain of one connection.
#[derive(Debug)]
pub(crate) struct Domain {
    raw: Raw<ibv_pd>,
    pub(crate) device: Device,
    pub(crate) budget: Arc<Budget>,
    pub(crate) tally: Arc<ConnectionCounters>,
    /// Bytes pinned in the domain.
    pub(crate) pinned: AtomicU64,
}

impl Domain {
    pub(crate) fn new(
        device: Device,
        budget: &Arc<Budget>,
        tally: &Arc<ConnectionCounters>,
    ) -> io::Result<Domain> {
        // SAFETY: the device is open.
        let raw = Raw::new(unsafe { (device.library.ibv_alloc_pd)(device.context.get()) })
            .ok_or_else(|| os_errors::last("cannot make a protection domain"))?;
        let (budget, tally) = (Arc::clone(budget), Arc::clone(tally));
        Ok(Domain { raw, device, budget, tally, pinned: AtomicU64::new(0) })
    }

    pub(crate) fn get(&self) -> *mut ibv_pd {
        self.raw.get()
    }
}

impl Drop for Domain {
    fn drop(&mut self) {
        // SAFETY: queue pairs and registrations hold their domain, so none is left. If the call
        // failed nevertheless, the domain would stay until the process ends.
        unsafe { (self.device.library.ibv_dealloc_pd)(self.get()) };
    }
}
