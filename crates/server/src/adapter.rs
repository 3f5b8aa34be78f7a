//! The seam for a network adapter that carries connections without sockets, as RDMA does: it tells of many connections
//! through a few descriptors, and a core looks for what has come without a system call. A crate of its own implements
//! these traits, and the settings bring it; the server knows none of these crates.

use std::any::Any;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::os::fd::RawFd;

/// What a connection has found when it took in what has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// Bytes, and there may be more.
    More(usize),
    /// All there was for now, perhaps nothing.
    Drained(usize),
    /// The peer will send nothing more.
    End,
}

/// Descriptors of a core's adapter at most.
pub const DESCRIPTORS: usize = 3;

/// An adapter that a server is to listen on.
pub trait Adapter: fmt::Debug + Send + Sync {
    /// Returns the address that is to be listened on.
    fn listen(&self) -> SocketAddr;

    /// Listens, and makes the part of each core.
    ///
    /// # Errors
    /// With a message for the operator: what cannot be done, why, and what to do.
    fn open(&self, cores: u16, clients_max: usize) -> Result<OpenAdapter, String>;
}

/// An adapter that listens.
pub struct OpenAdapter {
    /// Where it listens, with the port that was chosen.
    pub address: SocketAddr,
    /// The part of each core; the first one is asked for connections.
    pub cores: Vec<Box<dyn CoreAdapter>>,
}

/// A peer that wants to connect, on its way to the core that accepts it. Dropping it refuses the peer.
#[derive(Debug)]
pub struct AdapterRequest {
    /// Address of the peer.
    pub peer: SocketAddr,
    /// The request, as the adapter knows it.
    pub request: Box<dyn Any + Send>,
}

/// Reaches the connection with this key, if it is there: the closure gets it and the core's time, ms of uptime.
/// Afterwards the connection has a turn.
pub type Tell<'a> = dyn FnMut(usize, &mut dyn FnMut(&mut dyn AdapterConnection, i64)) + 'a;

/// The part of an adapter that one core owns.
pub trait CoreAdapter: Send {
    /// Returns the name of what it speaks, as messages to operators have it.
    fn name(&self) -> &'static str;

    /// Returns the descriptors for the core's poller, in the order of `readable`.
    fn descriptors(&self) -> [Option<RawFd>; DESCRIPTORS];

    /// Takes note that a descriptor is readable, and returns a bounded number of peers that want to connect.
    ///
    /// # Errors
    /// When the adapter itself fails; the server stops.
    fn readable(
        &mut self,
        descriptor: usize,
        tell: &mut Tell<'_>,
    ) -> io::Result<Vec<AdapterRequest>>;

    /// Tells connections what has come. Called in every turn.
    ///
    /// # Errors
    /// When the adapter itself fails; the server stops.
    fn poll(&mut self, now_ns: u64, tell: &mut Tell<'_>) -> io::Result<()>;

    /// Returns whether the core may wait for events; nothing is lost if it does.
    ///
    /// # Errors
    /// When the adapter itself fails; the server stops.
    fn may_wait(&mut self, now_ns: u64, tell: &mut Tell<'_>) -> io::Result<bool>;

    /// Accepts a connection, which is told of by this key from now on.
    ///
    /// # Errors
    /// When the connection cannot be made: the peer is refused.
    fn accept(
        &mut self,
        request: AdapterRequest,
        key: usize,
        now_ms: i64,
    ) -> io::Result<Box<dyn AdapterConnection>>;

    /// Returns the server's end of connections.
    fn address(&self) -> SocketAddr;

    /// Returns the keys of connections on which something may be due. Called in every turn.
    fn due(&mut self, now_ms: i64) -> Vec<usize>;

    /// Forgets a connection that is closed.
    fn forget(&mut self, connection: &mut dyn AdapterConnection);

    /// Takes no more connections.
    fn stop_listening(&mut self);

    /// Returns what was counted, with these open connections.
    fn report(&self, open: &mut dyn Iterator<Item = &dyn AdapterConnection>) -> AdapterReport;
}

/// One connection: the server's seam of transports, without the buffers of sockets.
pub trait AdapterConnection: Any + Send {
    /// Takes in what has arrived, a bounded amount at a time.
    ///
    /// # Errors
    /// When the connection has failed.
    fn progress(&mut self) -> io::Result<Arrival>;

    /// Returns the bytes that have arrived and are not consumed, contiguous.
    fn input(&self) -> &[u8];

    /// Returns the same, and the buffer to append replies to.
    fn parts(&mut self) -> (&[u8], &mut Vec<u8>);

    /// Drops the first bytes of the input.
    fn consume(&mut self, len: usize);

    /// Ends the replies that were appended: they are formed, and not visible to the peer yet.
    fn commit(&mut self);

    /// Sends what is committed. False when the peer must take some first.
    ///
    /// # Errors
    /// When the connection has failed.
    fn publish(&mut self) -> io::Result<bool>;

    /// Returns the length of what is committed and not sent, bytes.
    fn unsent(&self) -> usize;

    /// Returns the memory that it holds, bytes.
    fn memory_bytes(&self) -> u64;

    /// Gives back buffers that are empty.
    fn release(&mut self);

    /// Tells the peer that nothing more will come.
    fn finish(&mut self);

    /// Returns whether the peer takes more.
    fn is_writable(&self) -> bool;

    /// Does what is due. True when the connection has failed thereby.
    fn tick(&mut self, now_ms: i64) -> bool;

    /// Returns why it has failed; once.
    fn take_fault(&mut self) -> Option<String>;
}

/// Figures of an adapter, of one core or of several together.
#[derive(Clone, Debug, Default)]
pub struct AdapterReport {
    /// Open connections.
    pub connections: u64,
    /// Memory that is pinned for them, bytes.
    pub pinned_bytes: u64,
    /// Counts of what was done, the same ones in the same order for each core.
    pub counts: Vec<AdapterCount>,
}

/// One count of an adapter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AdapterCount {
    /// The name of its metric.
    pub name: &'static str,
    /// What is counted.
    pub help: &'static str,
    /// The count.
    pub value: u64,
}

impl AdapterReport {
    /// Adds that of another core.
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
