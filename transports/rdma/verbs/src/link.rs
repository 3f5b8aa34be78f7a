//! What a hub and a connection share: the connection's receive entries, and how many of them were used.

use crate::domain::Domain;
use crate::memory::Block;
use crate::registration::Writers;
use crate::slots::free_slots;
use scurry_rdma_proto::fabric::CONTROL_LEN;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Sender;

/// The receive entries of a connection. They are used in the order in which they are posted, so the
/// slot of each in the block follows from its number.
#[derive(Debug)]
pub(crate) struct Link {
    /// The queue pair.
    pub(crate) number: u32,
    /// So many slots of [`CONTROL_LEN`] bytes.
    block: Block,
    entries: u32,
    /// Entries that were posted, ever.
    posted: AtomicU64,
    /// Entries that were used, ever.
    used: AtomicU64,
    /// Tells the hub that the queue pair is gone.
    departed: Sender<u32>,
}

impl Link {
    pub(crate) fn new(
        number: u32,
        domain: &Arc<Domain>,
        entries: u32,
        departed: Sender<u32>,
    ) -> io::Result<Link> {
        let block = Block::new(domain, entries as usize * CONTROL_LEN, Writers::Device)?;
        let (posted, used) = (AtomicU64::new(0), AtomicU64::new(0));
        Ok(Link { number, block, entries, posted, used, departed })
    }

    /// Slots for so many more entries, in their order.
    pub(crate) fn reserve(&self, count: usize) -> io::Result<impl Iterator<Item = u32> + use<>> {
        let posted = self.posted.load(Ordering::Relaxed);
        let count = free_slots(self.entries, posted, self.used.load(Ordering::Relaxed), count)?;
        self.posted.store(posted + count, Ordering::Relaxed);
        let entries = u64::from(self.entries);
        // It is less than `entries`, which is a `u32`.
        Ok((posted..posted + count).map(move |number| (number % entries) as u32))
    }

    /// Address and key of a slot.
    pub(crate) fn slot(&self, slot: u32) -> (u64, u32) {
        let at = self.block.address() + u64::from(slot) * CONTROL_LEN as u64;
        (at, self.block.local_key())
    }

    /// An entry was used. What it holds, if that is asked for; then its slot may be posted again.
    pub(crate) fn take(&self, slot: u64, message: Option<&mut [u8]>) {
        if let Some(message) = message {
            self.block.read(slot as usize * CONTROL_LEN, message);
        }
        self.used.fetch_add(1, Ordering::Relaxed);
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        // The hub may be gone, too.
        let _ = self.departed.send(self.number);
    }
}
