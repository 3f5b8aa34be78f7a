//! A peer that posts arbitrary requests, so that it can break rules that an endpoint keeps.

use crate::fabric::Fabric;
use crate::net::SimEvent;
use crate::queue::{SimQueue, SimWindow};
use scurry_rdma_proto::fabric::{Queue, Target, Window};
use scurry_rdma_proto::{Memory, Message};

/// One end of a connection without an endpoint.
#[derive(Debug)]
pub struct Raw {
    fabric: Fabric,
    /// Number of the end in the fabric.
    pub end: usize,
    queue: SimQueue,
    number: u64,
}

impl Raw {
    /// Creates a peer with this many receive entries.
    ///
    /// # Panics
    /// When its limits do not allow them.
    #[must_use]
    pub fn new(fabric: &Fabric, end: usize, receives: usize) -> Raw {
        let mut queue = SimQueue::new(fabric, end);
        queue.post_receives(receives).expect("there is room");
        Raw { fabric: fabric.clone(), end, queue, number: 0 }
    }

    /// Registers memory for the other end.
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

    /// Announces a window, which need not exist.
    pub fn announce(&mut self, address: u64, length: u32, key: u32) {
        self.send(&Message::RegisterXferMemory(Memory { address, length, key }));
    }

    /// Announces an existing window.
    ///
    /// # Panics
    /// When it is longer than 4 GiB.
    pub fn announce_window(&mut self, window: &SimWindow) {
        let length = u32::try_from(window.bytes().len()).expect("short");
        self.announce(window.address(), length, window.key());
    }

    /// Sends arbitrary bytes as a control message.
    pub fn send_bytes(&mut self, bytes: &[u8]) {
        self.number += 1;
        self.queue.send_raw(self.number, bytes);
        self.flush();
    }

    /// Writes arbitrary bytes to any address.
    pub fn write(&mut self, bytes: &[u8], to: Target, immediate: Option<u32>) {
        self.number += 1;
        self.queue.write_raw(self.number, bytes, to, immediate);
        self.flush();
    }

    /// Takes the next event and posts the receive entry again that it used.
    ///
    /// # Panics
    /// When the entry is refused.
    pub fn next_event(&mut self) -> Option<SimEvent> {
        let told = self.fabric.next_event(self.end)?;
        if matches!(told, SimEvent::Control(_) | SimEvent::Immediate(_)) {
            self.queue.post_receives(1).expect("it was there before");
        }
        Some(told)
    }

    /// Returns the next window that the other end announces, and drops all events before it.
    ///
    /// # Panics
    /// When the other end sends an invalid message.
    pub fn announced(&mut self) -> Option<Memory> {
        while let Some(told) = self.next_event() {
            if let SimEvent::Control(bytes) = told
                && let Message::RegisterXferMemory(memory) =
                    Message::decode(&bytes).expect("endpoints send messages")
            {
                return Some(memory);
            }
        }
        None
    }

    /// Executes and completes all posted requests, except those that must wait. Returns true when
    /// any was executed.
    pub(crate) fn flush(&mut self) -> bool {
        self.queue.ring().expect("it has no faults");
        let mut carried = false;
        while self.fabric.carry(self.end) {
            self.fabric.complete(self.end);
            // This peer needs no completions of its own requests.
            self.fabric.forget_completion(self.end);
            carried = true;
        }
        carried
    }
}
