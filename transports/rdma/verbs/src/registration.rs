//! Memory that a device may use: pinned, and known by a key.

use crate::budget::{Share, pinned_bytes};
use crate::counters::Tally;
use crate::domain::Domain;
use crate::raw::Raw;
use crate::refusal;
use scurry_rdma_sys::verbs::{IBV_ACCESS_LOCAL_WRITE, IBV_ACCESS_REMOTE_WRITE, ibv_mr};
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Writers into registered memory. The device may read all of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Writers {
    /// Nobody.
    Nobody,
    /// The device of this side: receive entries.
    Device,
    /// The peer.
    Peer,
}

/// A registration. It is ended by [`Registration::end`] or when it is dropped.
#[derive(Debug)]
pub(crate) struct Registration {
    /// None once it is ended.
    raw: Option<Raw<ibv_mr>>,
    share: Share,
    domain: Arc<Domain>,
}

impl Registration {
    /// Registers memory.
    ///
    /// # Safety
    /// The memory stays allocated until the registration is ended, and for good when that fails.
    pub(crate) unsafe fn new(
        domain: &Arc<Domain>,
        first: *mut u8,
        len: usize,
        writers: Writers,
    ) -> io::Result<Registration> {
        if len == 0 {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "no memory to register"));
        }
        let share = domain.budget.take(pinned_bytes(first as usize, len))?;
        let access = match writers {
            Writers::Nobody => 0,
            Writers::Device => IBV_ACCESS_LOCAL_WRITE,
            Writers::Peer => IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE,
        };
        // SAFETY: the domain is alive and is held, the memory is the caller's promise.
        let raw =
            unsafe { (domain.device.library.ibv_reg_mr)(domain.get(), first.cast(), len, access) };
        let raw = Raw::new(raw)
            .ok_or_else(|| refusal::last(&format!("cannot pin {} bytes", share.bytes())))?;
        Tally::add(&domain.tally.registrations, 1);
        domain.pinned.fetch_add(share.bytes(), Ordering::Relaxed);
        Ok(Registration { raw: Some(raw), share, domain: Arc::clone(domain) })
    }

    /// The key for work requests of this side.
    pub(crate) fn local_key(&self) -> u32 {
        // SAFETY: it is alive as long as it is not ended, and what it holds never changes.
        self.raw.map_or(0, |raw| unsafe { (*raw.get()).lkey })
    }

    /// The key for those of the peer.
    pub(crate) fn remote_key(&self) -> u32 {
        // SAFETY: as above.
        self.raw.map_or(0, |raw| unsafe { (*raw.get()).rkey })
    }

    /// Ends it. False when the device does not let go of the memory, which then must stay.
    #[must_use]
    pub(crate) fn end(&mut self) -> bool {
        let Some(raw) = self.raw.take() else { return true };
        Tally::add(&self.domain.tally.registrations, 1);
        self.domain.pinned.fetch_sub(self.share.bytes(), Ordering::Relaxed);
        // SAFETY: it is ended once, and not used after.
        unsafe { (self.domain.device.library.ibv_dereg_mr)(raw.get()) == 0 }
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        // Whoever owns the memory has asked already.
        let _ = self.end();
    }
}
