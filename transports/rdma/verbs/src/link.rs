//! State shared by a hub and a connection: the connection's receive entries, and how many of them were
//! used.

use crate::domain::Domain;
use crate::memory::Block;
use crate::registration::RegistrationAccess;
use crate::slots::free_slots;
use scurry_rdma_proto::fabric::CONTROL_LEN;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Sender;

/// The receive entries of a connection. They are used in the order in which they are posted, so the
/// number of an entry determines its slot in the block.
#[derive(Debug)]
pub(crate) struct Link {
    /// Number of the queue pair.
    pub(crate) number: u32,
    /// `entries` slots of [`CONTROL_LEN`] bytes.
    block: Block,
    entries: u32,
    /// Total of entries posted.
    posted: AtomicU64,
    /// Total of entries used.
    used: AtomicU64,
    /// Channel that tells the hub when the queue pair is gone.
    departed: Sender<u32>,
}

impl Link {
    pub(crate) fn new(
        number: u32,
        domain: &Arc<Domain>,
        entries: u32,
        departed: Sender<u32>,
    ) -> io::Result<Link> {
        let block =
            Block::new(domain, entries as usize * CONTROL_LEN, RegistrationAccess::LocalWrite)?;
        let (posted, used) = (AtomicU64::new(0), AtomicU64::new(0));
        Ok(Link { number, block, entries, posted, used, departed })
    }

    /// Reserves slots for `count` more entries, in order.
    pub(crate) fn reserve(&self, count: usize) -> io::Result<impl Iterator<Item = u32> + use<>> {
        let posted = self.posted.load(Ordering::Relaxed);
        let count = free_slots(self.entries, posted, self.used.load(Ordering::Relaxed), count)?;
        self.posted.store(posted + count, Ordering::Relaxed);
        let entries = u64::from(self.entries);
        // The remainder is less than `entries`, which is a `u32`.
        Ok((posted..posted + count).map(move |number| (number % entries) as u32))
    }

    /// Returns the address and the key of a slot.
    pub(crate) fn slot(&self, slot: u32) -> (u64, u32) {
        let at = self.block.address() + u64::from(slot) * CONTROL_LEN as u64;
        (at, self.block.local_key())
    }

    /// Records that an entry was used, and copies its bytes into `message` if given. Its slot may be
    /// posted again afterwards.
    pub(crate) fn note_used(&self, slot: u64, message: Option<&mut [u8]>) {
        if let Some(message) = message {
            self.block.read(slot as usize * CONTROL_LEN, message);
        }
        self.used.fetch_add(1, Ordering::Relaxed);
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        // The send fails if the hub is already dropped.
        let _ = self.departed.send(self.number);
    }
}
