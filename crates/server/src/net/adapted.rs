//! The transport over a network adapter: its connections have the shape of the seam already.

use crate::adapter::{AdapterConnection, Arrival};
use crate::net::buffer::Buffers;
use crate::net::transport::Transport;
use std::io;

/// A connection of an adapter as one of the server's transports.
pub(crate) struct Adapted(pub(crate) Box<dyn AdapterConnection>);

impl Transport for Adapted {
    fn progress(&mut self, _: &mut Buffers, _: usize) -> io::Result<Arrival> {
        self.0.progress()
    }

    fn input(&self) -> &[u8] {
        self.0.input()
    }

    fn parts(&mut self, _: &mut Buffers) -> (&[u8], &mut Vec<u8>) {
        self.0.parts()
    }

    fn consume(&mut self, len: usize) {
        self.0.consume(len);
    }

    fn commit(&mut self) {
        self.0.commit();
    }

    fn publish(&mut self) -> io::Result<bool> {
        self.0.publish()
    }

    fn unsent(&self) -> usize {
        self.0.unsent()
    }

    fn memory_bytes(&self) -> u64 {
        self.0.memory_bytes()
    }

    fn release(&mut self, _: &mut Buffers) {
        self.0.release();
    }

    fn finish(&mut self) {
        self.0.finish();
    }
}
