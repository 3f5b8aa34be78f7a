//! A peer that drives the wire by hand, and so can do what no endpoint does.

use crate::fabric::Fabric;
use crate::net::Told;
use crate::queue::{SimQueue, SimWindow};
use scurry_rdma_proto::fabric::{Queue, Target, Window};
use scurry_rdma_proto::{Memory, Message};

/// One end of a connection, by hand.
#[derive(Debug)]
pub struct Raw {
    fabric: Fabric,
    /// Number of the end in the fabric.
    pub end: usize,
    queue: SimQueue,
    number: u64,
}

impl Raw {
    /// A peer with so many receive entries.
    ///
    /// # Panics
    /// When there is no room for them.
    #[must_use]
    pub fn new(fabric: &Fabric, end: usize, receives: usize) -> Raw {
        let mut queue = SimQueue::new(fabric, end);
        queue.post_receives(receives).expect("there is room");
        Raw { fabric: fabric.clone(), end, queue, number: 0 }
    }

    /// Memory for the other end.
    ///
    /// # Panics
    /// When it is refused.
    pub fn window(&mut self, len: usize) -> SimWindow {
        self.queue.window(len).expect("there is memory")
    }

    /// Sends a control message.
    pub fn send(&mut self, message: &Message) {
        self.send_bytes(&message.encode());
    }

    /// Announces a window, or what it says is one.
    pub fn announce(&mut self, address: u64, length: u32, key: u32) {
        self.send(&Message::RegisterXferMemory(Memory { address, length, key }));
    }

    /// Announces a window that is one.
    ///
    /// # Panics
    /// When it is longer than 4 GiB.
    pub fn announce_window(&mut self, window: &SimWindow) {
        let length = u32::try_from(window.bytes().len()).expect("short");
        self.announce(window.address(), length, window.key());
    }

    /// Sends any bytes as a control message.
    pub fn send_bytes(&mut self, bytes: &[u8]) {
        self.number += 1;
        self.queue.send_raw(self.number, bytes);
        self.flush();
    }

    /// Writes any bytes anywhere.
    pub fn write(&mut self, bytes: &[u8], to: Target, immediate: Option<u32>) {
        self.number += 1;
        self.queue.write_raw(self.number, bytes, to, immediate);
        self.flush();
    }

    /// The next event, with the entry given back that it has used.
    ///
    /// # Panics
    /// When the entry is refused.
    pub fn take(&mut self) -> Option<Told> {
        let told = self.fabric.take(self.end)?;
        if matches!(told, Told::Control(_) | Told::Immediate(_)) {
            self.queue.post_receives(1).expect("it was there before");
        }
        Some(told)
    }

    /// The next window that the other end has announced, passing over everything before.
    ///
    /// # Panics
    /// When the other end sends what is no message.
    pub fn announced(&mut self) -> Option<Memory> {
        while let Some(told) = self.take() {
            if let Told::Control(bytes) = told
                && let Message::RegisterXferMemory(memory) =
                    Message::decode(&bytes).expect("endpoints send messages")
            {
                return Some(memory);
            }
        }
        None
    }

    /// Everything that was posted is carried out and known to be, unless it must wait. True when
    /// something was.
    pub(crate) fn flush(&mut self) -> bool {
        self.queue.ring().expect("it has no faults");
        let mut carried = false;
        while self.fabric.carry(self.end) {
            self.fabric.complete(self.end);
            // Its own completions say nothing to it.
            self.fabric.forget_completion(self.end);
            carried = true;
        }
        carried
    }
}
