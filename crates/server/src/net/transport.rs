//! The interface between connections and the transports that carry their bytes: TCP, TLS and adapters (`adapter.rs`).
//! Input is borrowed in place, as RDMA needs it. Forming replies (`commit`) is apart from sending them (`publish`), so
//! that they can wait for a group commit in between.

use crate::adapter::Arrival;
use crate::net::buffer::Buffers;
use std::io;

/// A stream of bytes in both directions.
pub(crate) trait Transport {
    /// Reports whether the handshake is not done, so that the peer cannot send a command yet.
    fn is_handshaking(&self) -> bool {
        false
    }
    /// Reads input: a bounded amount at a time, and not more than `len_max` bytes. Over an adapter the input lies in the
    /// connection's own window.
    fn progress(&mut self, buffers: &mut Buffers, len_max: usize) -> io::Result<Arrival>;
    /// Returns the bytes that have arrived and are not consumed, contiguous.
    fn input(&self) -> &[u8];
    /// Returns the same, and the buffer to append replies to.
    fn parts(&mut self, buffers: &mut Buffers) -> (&[u8], &mut Vec<u8>);
    /// Removes the first bytes of the input.
    fn consume(&mut self, len: usize);
    /// Commits the replies that were appended: they are complete, and not visible to the peer yet.
    fn commit(&mut self);
    /// Sends the committed replies with one call. False when the peer must read some first.
    fn publish(&mut self) -> io::Result<bool>;
    /// Returns the number of committed bytes that were not sent.
    fn unsent(&self) -> usize;
    /// Returns the memory of its buffers and other state, bytes.
    fn memory_bytes(&self) -> u64;
    /// Releases memory that is not needed while replies wait for the log: as many connections may wait as exist.
    fn shrink_buffers(&mut self, buffers: &mut Buffers) {
        self.release(buffers);
    }
    /// Returns empty buffers to the pool.
    fn release(&mut self, buffers: &mut Buffers);
    /// Releases all unused memory: there may be many peers that have not authenticated.
    fn release_idle_memory(&mut self, buffers: &mut Buffers) {
        self.release(buffers);
    }
    /// Tells the peer that nothing more will be sent.
    fn finish(&mut self);
}

/// Calls a socket once, and again when a signal has interrupted it. Returns the number of bytes, or None when the
/// socket would block.
#[inline]
pub(super) fn attempt(mut call: impl FnMut() -> io::Result<usize>) -> io::Result<Option<usize>> {
    loop {
        match call() {
            Ok(len) => return Ok(Some(len)),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
            Err(error) => return Err(error),
        }
    }
}
