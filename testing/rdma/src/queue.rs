//! The protocol's traits over the simulated fabric. They check the contract: a vector must not be
//! touched while it is sent from, and no request may be posted that a device would refuse.

use crate::fabric::Fabric;
use crate::net::{Act, PostedRequest};
use scurry_rdma_proto::fabric::{CONTROL_LEN, Queue, SendFlags, Staging, Target, Window};
use std::cell::Cell;
use std::io;
use std::ops::Range;
use std::rc::Rc;

/// Distance between window addresses, so that they are far from 0 and from each other.
const ADDRESS_STEP: u64 = 1 << 32;

/// The queue of one end of a connection.
#[derive(Debug)]
pub struct SimQueue {
    fabric: Fabric,
    end: usize,
}

impl SimQueue {
    /// Creates the queue of this end.
    #[must_use]
    pub fn new(fabric: &Fabric, end: usize) -> SimQueue {
        SimQueue { fabric: fabric.clone(), end }
    }

    /// Queues a control message of arbitrary bytes.
    pub fn send_raw(&mut self, number: u64, message: &[u8]) {
        self.post(number, Act::Send(message.to_vec()), true, None);
    }

    /// Queues a write of arbitrary bytes to any address.
    pub fn write_raw(&mut self, number: u64, bytes: &[u8], to: Target, immediate: Option<u32>) {
        self.post(number, Act::Write { bytes: bytes.to_vec(), to, immediate }, true, None);
    }

    fn post(&mut self, number: u64, act: Act, signalled: bool, held: Option<Rc<Cell<usize>>>) {
        self.fabric.post(self.end, PostedRequest { number, act, signalled, held });
    }

    fn pin(&self, len: usize) -> io::Result<()> {
        let fits = self.fabric.pin(self.end, len);
        if fits { Ok(()) } else { Err(io::ErrorKind::OutOfMemory.into()) }
    }
}

impl Drop for SimQueue {
    fn drop(&mut self) {
        self.fabric.close(self.end);
    }
}

/// Memory that the other end may write.
#[derive(Debug)]
pub struct SimWindow {
    fabric: Fabric,
    end: usize,
    address: u64,
    key: u32,
    bytes: Vec<u8>,
}

impl Drop for SimWindow {
    fn drop(&mut self) {
        self.fabric.remove_region(self.key);
        self.fabric.unpin(self.end, self.bytes.len());
    }
}

impl SimWindow {
    /// Returns the whole window, for a simulated peer that reads it in place: its bytes change only
    /// in `refresh`.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

impl Window for SimWindow {
    fn address(&self) -> u64 {
        self.address
    }

    fn key(&self) -> u32 {
        self.key
    }

    fn copy(&self, range: Range<usize>, to: &mut Vec<u8>) {
        to.extend_from_slice(&self.bytes[range]);
    }

    fn refresh(&mut self) {
        for (offset, bytes) in self.fabric.written(self.key) {
            self.bytes[offset..offset + bytes.len()].copy_from_slice(&bytes);
        }
    }
}

/// A registered vector.
#[derive(Debug)]
pub struct SimStaging {
    fabric: Fabric,
    end: usize,
    vector: Vec<u8>,
    /// Address where it was registered, and the number of registered bytes.
    place: (usize, usize),
    /// Number of requests in flight that read from it.
    held: Rc<Cell<usize>>,
}

impl SimStaging {
    fn place(vector: &[u8], room: usize) -> (usize, usize) {
        (vector.as_ptr() as usize, room)
    }
}

impl Drop for SimStaging {
    fn drop(&mut self) {
        let free = self.held.get() == 0 || self.fabric.is_closed(self.end);
        assert!(free || std::thread::panicking(), "a vector is dropped while it is sent from");
        self.fabric.count_staging(false);
        self.fabric.unpin(self.end, self.place.1);
    }
}

impl Staging for SimStaging {
    fn vector(&mut self) -> &mut Vec<u8> {
        assert_eq!(self.held.get(), 0, "a vector is touched while it is sent from");
        &mut self.vector
    }

    fn bytes(&self) -> &[u8] {
        &self.vector
    }

    fn is_registered(&self) -> bool {
        self.place == SimStaging::place(&self.vector, self.vector.capacity())
    }
}

impl Queue for SimQueue {
    type Window = SimWindow;
    type Staging = SimStaging;

    fn window(&mut self, len: usize) -> io::Result<SimWindow> {
        self.pin(len)?;
        let key = self.fabric.next_key();
        let address = u64::from(key) * ADDRESS_STEP;
        self.fabric.add_region(self.end, key, address, len);
        let (fabric, end) = (self.fabric.clone(), self.end);
        Ok(SimWindow { fabric, end, address, key, bytes: vec![0; len] })
    }

    fn staging(&mut self, vector: Vec<u8>) -> io::Result<SimStaging> {
        self.pin(vector.capacity())?;
        self.fabric.count_staging(true);
        let place = SimStaging::place(&vector, vector.capacity());
        let (fabric, end) = (self.fabric.clone(), self.end);
        Ok(SimStaging { fabric, end, vector, place, held: Rc::default() })
    }

    fn unstage(&mut self, mut staging: SimStaging) -> Vec<u8> {
        std::mem::take(staging.vector())
    }

    fn inline_max(&self) -> usize {
        self.fabric.limits(self.end).inline_max
    }

    fn post_receives(&mut self, count: usize) -> io::Result<()> {
        self.fabric.add_entries(self.end, count);
        Ok(())
    }

    fn write(
        &mut self,
        number: u64,
        from: &SimStaging,
        part: Range<usize>,
        to: Target,
        immediate: Option<u32>,
        flags: SendFlags,
    ) {
        let inline_max = self.fabric.limits(self.end).inline_max;
        assert!(!flags.inline || part.len() <= inline_max, "too long to be inline");
        assert!(flags.inline || from.is_registered(), "the vector is not where it was registered");
        let bytes = from.bytes()[part].to_vec();
        let held = (!flags.inline).then(|| Rc::clone(&from.held));
        self.post(number, Act::Write { bytes, to, immediate }, flags.signalled, held);
    }

    fn send(&mut self, number: u64, message: &[u8; CONTROL_LEN], signalled: bool) {
        self.post(number, Act::Send(message.to_vec()), signalled, None);
    }

    fn ring(&mut self) -> io::Result<()> {
        self.fabric.ring(self.end);
        Ok(())
    }
}
