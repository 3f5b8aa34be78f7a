//! Memory of connections: how much one holds, whether it counts for the store or for the lobby (while the connection is
//! not authenticated), and the objects that the connections of a core share while they need them.

use super::Connection;
use crate::connection::reader::ConnectionReader;
use crate::execute::node::Node;
use crate::mail::bundle::Bundle;
use crate::net::buffer::Buffers;
use crate::net::transport::Transport;
use crate::object_pool::{MemorySize, ObjectPool};

impl<T: Transport> Connection<T> {
    /// Returns the memory that the connection holds, bytes: itself and its buffers.
    pub(crate) fn memory_bytes(&self) -> u64 {
        let transaction = self.client.transaction.as_ref().map_or(0, |begun| begun.memory_bytes());
        let tracking = self.client.tracking.as_ref().map_or(0, |mode| mode.memory_bytes());
        let subscriptions = self.client.subscriptions.as_ref();
        let subscriptions = subscriptions.map_or(0, |own| own.memory_bytes());
        let reader = self.reader.as_ref().map_or(0, MemorySize::memory_bytes);
        size_of::<Self>() as u64
            + self.transport.memory_bytes()
            + transaction
            + tracking
            + subscriptions
            + self.doing.memory_bytes()
            + (reader + self.lines.capacity()) as u64
    }

    /// Updates the core's count of its connections' memory.
    pub(crate) fn count_memory(&mut self, node: &mut Node) {
        let bytes = self.memory_bytes();
        let all = self.counted_in(node);
        *all = *all - self.counted_bytes + bytes;
        self.counted_bytes = bytes;
    }

    /// Removes a closed connection from the count.
    pub(crate) fn forget_memory(&self, node: &mut Node) {
        *self.counted_in(node) -= self.counted_bytes;
    }

    /// Returns the counter that the memory belongs to: the store's or the lobby's.
    fn counted_in<'n>(&self, node: &'n mut Node) -> &'n mut u64 {
        match self.waits_since_ms {
            None => &mut node.connection_bytes,
            Some(_) => &mut node.lobby_bytes,
        }
    }

    /// Reports whether the connection is in the lobby and should not be, or the other way round. A connection leaves
    /// the lobby when its handshake is done and its user has shown a password or needs none.
    pub(crate) fn is_misplaced(&self) -> bool {
        let is_in = self.client.authenticated && !self.transport.is_handshaking();
        is_in == self.waits_since_ms.is_some()
    }

    /// Moves the connection into the lobby (since then, ms of uptime) or, with None, out of it.
    pub(crate) fn wait_since(&mut self, since_ms: Option<i64>, node: &mut Node) {
        *self.counted_in(node) -= self.counted_bytes;
        self.waits_since_ms = since_ms;
        *self.counted_in(node) += self.counted_bytes;
    }
}

/// Empty bundles; boxed, since they are sent as pointers.
pub(crate) type Spare = ObjectPool<Box<Bundle>>;

/// Buffers, readers and bundles that one core's connections share.
#[derive(Debug, Default)]
pub(crate) struct Pool {
    pub(crate) buffers: Buffers,
    readers: ObjectPool<Box<ConnectionReader>>,
    /// Empty bundles; see [`crate::connection::gather::GatheredRequests::end`].
    pub(crate) bundles: Spare,
}

impl Pool {
    pub(crate) fn take_reader(&mut self) -> Box<ConnectionReader> {
        self.readers.take_object().unwrap_or_default()
    }

    /// Returns a reader to the pool. The reader must be idle.
    pub(crate) fn give_reader(&mut self, mut reader: Box<ConnectionReader>) {
        reader.shrink();
        self.readers.give(reader);
    }

    /// Returns the memory kept on behalf of authenticated connections, bytes. Buffers and readers are kept for any
    /// client that connects. They are few and bounded, so they are not counted: unauthenticated clients cannot make
    /// commands fail with OOM through them.
    pub(crate) fn memory_bytes(&self) -> u64 {
        self.bundles.bytes as u64
    }
}
