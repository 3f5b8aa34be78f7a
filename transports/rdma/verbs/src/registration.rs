//! Memory registered for use by a device: pinned, and identified by a key.

use crate::budget::{Share, pinned_bytes};
use crate::counters::ConnectionCounters;
use crate::domain::Domain;
use crate::os_errors;
use crate::raw::Raw;
use scurry_rdma_sys::verbs::{IBV_ACCESS_LOCAL_WRITE, IBV_ACCESS_REMOTE_WRITE, ibv_mr};
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// What a registration allows besides reads by the local device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RegistrationAccess {
    /// Nothing writes to it.
    ReadOnly,
    /// The local device writes to it, for receive entries.
    LocalWrite,
    /// The peer writes to it.
    RemoteWrite,
}

/// A memory registration. [`Registration::end`] or dropping it ends it.
#[derive(Debug)]
pub(crate) struct Registration {
    /// `None` after the registration has ended.
    raw: Option<Raw<ibv_mr>>,
    share: Share,
    domain: Arc<Domain>,
}

impl Registration {
    /// Registers memory.
    ///
    /// # Safety
    /// The memory must stay allocated until the registration has ended, and for ever if ending it
    /// fails.
    pub(crate) unsafe fn new(
        domain: &Arc<Domain>,
        first: *mut u8,
        len: usize,
        access: RegistrationAccess,
    ) -> io::Result<Registration> {
        if len == 0 {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "no memory to register"));
        }
        let share = domain.budget.reserve_bytes(pinned_bytes(first as usize, len))?;
        let access = match access {
            RegistrationAccess::ReadOnly => 0,
            RegistrationAccess::LocalWrite => IBV_ACCESS_LOCAL_WRITE,
            RegistrationAccess::RemoteWrite => IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE,
        };
        // SAFETY: the domain is alive and held; the caller promises that the memory is valid.
        let raw =
            unsafe { (domain.device.library.ibv_reg_mr)(domain.get(), first.cast(), len, access) };
        let raw = Raw::new(raw)
            .ok_or_else(|| os_errors::last(&format!("cannot pin {} bytes", share.bytes())))?;
        ConnectionCounters::add(&domain.tally.registrations, 1);
        domain.pinned.fetch_add(share.bytes(), Ordering::Relaxed);
        Ok(Registration { raw: Some(raw), share, domain: Arc::clone(domain) })
    }

    /// Returns the key for local work requests.
    pub(crate) fn local_key(&self) -> u32 {
        // SAFETY: the region is alive until the registration ends, and its keys never change.
        self.raw.map_or(0, |raw| unsafe { (*raw.get()).lkey })
    }

    /// Returns the key for the peer's work requests.
    pub(crate) fn remote_key(&self) -> u32 {
        // SAFETY: as above.
        self.raw.map_or(0, |raw| unsafe { (*raw.get()).rkey })
    }

    /// Ends the registration. Returns false when the device does not release the memory, which must
    /// then never be freed.
    #[must_use]
    pub(crate) fn end(&mut self) -> bool {
        let Some(raw) = self.raw.take() else { return true };
        ConnectionCounters::add(&self.domain.tally.registrations, 1);
        self.domain.pinned.fetch_sub(self.share.bytes(), Ordering::Relaxed);
        // SAFETY: the registration is ended once, and the pointer is not used afterwards.
        unsafe { (self.domain.device.library.ibv_dereg_mr)(raw.get()) == 0 }
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        // The owner of the memory has already called `end` and seen its result.
        let _ = self.end();
    }
}
