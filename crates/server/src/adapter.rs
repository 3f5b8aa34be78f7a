//! The interface for a network adapter that carries connections without sockets, as RDMA does: it reports events of
//! many connections through a few descriptors, and a core polls for arrived data without a system call. A separate
//! crate implements these traits, and the settings pass the implementation in; the server depends on no such crate.

use std::any::Any;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::os::fd::RawFd;

/// Outcome of [`AdapterConnection::progress`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// This many bytes were received, and more may be ready.
    More(usize),
    /// This many bytes were received, perhaps none, and no more are ready.
    Drained(usize),
    /// The peer will send nothing more.
    End,
}

/// Maximum number of descriptors of a core's adapter.
pub const DESCRIPTORS: usize = 3;

/// An adapter that a server listens on.
pub trait Adapter: fmt::Debug + Send + Sync {
    /// Returns the address to listen on.
    fn listen(&self) -> SocketAddr;

    /// Starts to listen, and creates the part of each core.
    ///
    /// # Errors
    /// With a message for the operator: the failed step, the reason, and a remedy.
    fn open(&self, cores: u16, clients_max: usize) -> Result<OpenAdapter, String>;
}

/// An adapter that listens.
pub struct OpenAdapter {
    /// Address that it listens on, with the chosen port.
    pub address: SocketAddr,
    /// The part of each core; the first core receives the requests to connect.
    pub cores: Vec<Box<dyn CoreAdapter>>,
}

/// A peer that wants to connect, on its way to the core that accepts it. Dropping it refuses the peer.
#[derive(Debug)]
pub struct AdapterRequest {
    /// Address of the peer.
    pub peer: SocketAddr,
    /// The adapter's own form of the request.
    pub request: Box<dyn Any + Send>,
}

/// Calls the closure with the connection of this key, if it exists, and the core's time, ms of uptime. Afterwards the
/// connection has a turn.
pub type WithConnection<'a> =
    dyn FnMut(usize, &mut dyn FnMut(&mut dyn AdapterConnection, i64)) + 'a;

/// The part of an adapter that one core owns.
pub trait CoreAdapter: Send {
    /// Returns the name of its protocol for messages to operators.
    fn name(&self) -> &'static str;

    /// Returns the descriptors for the core's poller, in the order of `readable`.
    fn descriptors(&self) -> [Option<RawFd>; DESCRIPTORS];

    /// Handles a readable descriptor, and returns a bounded number of peers that want to connect.
    ///
    /// # Errors
    /// When the adapter itself fails; the server stops.
    fn readable(
        &mut self,
        descriptor: usize,
        tell: &mut WithConnection<'_>,
    ) -> io::Result<Vec<AdapterRequest>>;

    /// Passes events that have arrived to their connections. Called in every turn.
    ///
    /// # Errors
    /// When the adapter itself fails; the server stops.
    fn poll(&mut self, now_ns: u64, tell: &mut WithConnection<'_>) -> io::Result<()>;

    /// Reports whether the core may wait for events without missing one.
    ///
    /// # Errors
    /// When the adapter itself fails; the server stops.
    fn may_wait(&mut self, now_ns: u64, tell: &mut WithConnection<'_>) -> io::Result<bool>;

    /// Accepts a connection; `key` names it in later events.
    ///
    /// # Errors
    /// When the connection cannot be established: the peer is refused.
    fn accept(
        &mut self,
        request: AdapterRequest,
        key: usize,
        now_ms: i64,
    ) -> io::Result<Box<dyn AdapterConnection>>;

    /// Returns the server's address of connections.
    fn address(&self) -> SocketAddr;

    /// Returns the keys of connections that may need a [`AdapterConnection::tick`]. Called in every turn.
    fn due(&mut self, now_ms: i64) -> Vec<usize>;

    /// Forgets a connection that is closed.
    fn forget(&mut self, connection: &mut dyn AdapterConnection);

    /// Takes no more connections.
    fn stop_listening(&mut self);

    /// Returns the figures of this core, including those of the open connections.
    fn report(&self, open: &mut dyn Iterator<Item = &dyn AdapterConnection>) -> AdapterReport;
}

/// One connection: the server's interface to a transport, without the buffers of sockets.
pub trait AdapterConnection: Any + Send {
    /// Receives a bounded amount of the data that has arrived.
    ///
    /// # Errors
    /// When the connection has failed.
    fn progress(&mut self) -> io::Result<Arrival>;

    /// Returns the received bytes that are not consumed, contiguous.
    fn input(&self) -> &[u8];

    /// Returns the same bytes as `input`, and the buffer to append replies to.
    fn parts(&mut self) -> (&[u8], &mut Vec<u8>);

    /// Drops the first bytes of the input.
    fn consume(&mut self, len: usize);

    /// Marks the appended replies as complete. They are not visible to the peer until `publish`.
    fn commit(&mut self);

    /// Sends the committed replies. Returns false when the peer must first receive some of them.
    ///
    /// # Errors
    /// When the connection has failed.
    fn publish(&mut self) -> io::Result<bool>;

    /// Returns the length of the committed replies that are not sent, bytes.
    fn unsent(&self) -> usize;

    /// Returns the memory that it holds, bytes.
    fn memory_bytes(&self) -> u64;

    /// Frees empty buffers.
    fn release(&mut self);

    /// Tells the peer that the server will send nothing more.
    fn finish(&mut self);

    /// Reports whether the peer can receive more.
    fn is_writable(&self) -> bool;

    /// Does work that is due by time. Returns true when the connection has failed in it.
    fn tick(&mut self, now_ms: i64) -> bool;

    /// Returns the reason of the failure; None when it was returned before.
    fn take_fault(&mut self) -> Option<String>;
}

/// Figures of an adapter, for one core or the sum of several.
#[derive(Clone, Debug, Default)]
pub struct AdapterReport {
    /// Open connections.
    pub connections: u64,
    /// Memory that is pinned for them, bytes.
    pub pinned_bytes: u64,
    /// Counters, the same ones in the same order for each core.
    pub counts: Vec<AdapterCount>,
}

/// One count of an adapter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AdapterCount {
    /// Name of its metric.
    pub name: &'static str,
    /// Help text of its metric.
    pub help: &'static str,
    /// The count.
    pub value: u64,
}

impl AdapterReport {
    /// Adds the report of another core.
    pub(crate) fn add(&mut self, other: &AdapterReport) {
        self.connections += other.connections;
        self.pinned_bytes += other.pinned_bytes;
        if self.counts.is_empty() {
            self.counts.clone_from(&other.counts);
            return;
        }
        debug_assert!(other.counts.is_empty() || other.counts.len() == self.counts.len());
        for (own, other) in self.counts.iter_mut().zip(&other.counts) {
            own.value += other.value;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(connections: u64, values: &[u64]) -> AdapterReport {
        let count = |value: &u64| AdapterCount { name: "n", help: "h", value: *value };
        let counts = values.iter().map(count).collect();
        AdapterReport { connections, pinned_bytes: 10 * connections, counts }
    }

    #[test]
    fn reports_of_cores_are_added_up_count_by_count() {
        let mut all = AdapterReport::default();
        for core in [report(1, &[1, 2]), report(2, &[30, 40]), AdapterReport::default()] {
            all.add(&core);
        }
        assert_eq!((all.connections, all.pinned_bytes), (3, 30));
        assert_eq!(all.counts.iter().map(|count| count.value).collect::<Vec<_>>(), [31, 42]);
    }
}
