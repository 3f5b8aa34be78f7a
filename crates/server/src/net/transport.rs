//! The seam between connections and what carries their bytes. TCP is behind it today; it is
//! shaped so that RDMA fits: input is borrowed in place, and replies are formed (`commit`)
//! apart from leaving (`publish`), so that they can wait for a group commit in between.

use crate::net::buffer::Buffers;
use std::io;

/// Findings of [`Transport::progress`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// Bytes, and there may be more.
    More(usize),
    /// All there was for now, perhaps nothing.
    Drained(usize),
    /// The peer will send nothing more.
    End,
}

/// A stream of bytes in both directions.
pub(crate) trait Transport {
    /// True while the peer cannot send a command yet.
    fn is_handshaking(&self) -> bool {
        false
    }
    /// Takes in what has arrived, a bounded amount at a time, and not more than `len_max` bytes; over
    /// RDMA what has arrived lies in the connection's own window.
    fn progress(&mut self, buffers: &mut Buffers, len_max: usize) -> io::Result<Arrival>;
    /// Bytes that have arrived and are not consumed, contiguous.
    fn input(&self) -> &[u8];
    /// The same, and the staging to append replies to.
    fn parts(&mut self, buffers: &mut Buffers) -> (&[u8], &mut Vec<u8>);
    /// The first bytes of the input are done with.
    fn consume(&mut self, len: usize);
    /// Ends the replies that were appended to the staging: they are formed, and not visible to the peer
    /// yet.
    fn commit(&mut self);
    /// Sends what is committed, with one call. False when the peer must take some first.
    fn publish(&mut self) -> io::Result<bool>;
    /// Committed and not sent, bytes.
    fn unsent(&self) -> usize;
    /// Room of its buffers, and what else it holds, bytes.
    fn memory_bytes(&self) -> u64;
    /// Gives back what is not needed while replies wait for the log: there may be as many waiting
    /// as there are connections.
    fn shelve(&mut self, buffers: &mut Buffers) {
        self.release(buffers);
    }
    /// Gives back buffers that are empty.
    fn release(&mut self, buffers: &mut Buffers);
    /// Gives back all room that holds nothing: there may be many peers that have not come in.
    fn economize(&mut self, buffers: &mut Buffers) {
        self.release(buffers);
    }
    /// Tells the peer that nothing more will come.
    fn finish(&mut self);
}

/// Asks a socket once, and again when a signal has come between: how many bytes it has given or taken,
/// none when it has to be waited for.
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
