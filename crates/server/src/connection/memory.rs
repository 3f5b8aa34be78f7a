//! Memory of connections: what one holds, and whose it is (the store's, or the lobby's while it is not in);
//! and what the connections of a core lend each other for as long as something is under way.

use super::Connection;
use crate::connection::reader::Reader;
use crate::execute::node::Node;
use crate::kept::{Kept, Room};
use crate::mail::bundle::Bundle;
use crate::net::buffer::Buffers;
use crate::net::transport::Transport;

impl<T: Transport> Connection<T> {
    /// Memory that the connection holds, bytes: itself and its buffers.
    pub(crate) fn memory_bytes(&self) -> u64 {
        let transaction = self.client.transaction.as_ref().map_or(0, |begun| begun.memory_bytes());
        let tracking = self.client.tracking.as_ref().map_or(0, |mode| mode.memory_bytes());
        let subscriptions = self.client.subscriptions.as_ref();
        let subscriptions = subscriptions.map_or(0, |own| own.memory_bytes());
        let reader = self.reader.as_ref().map_or(0, Room::room);
        size_of::<Self>() as u64
            + self.transport.memory_bytes()
            + transaction
            + tracking
            + subscriptions
            + self.doing.memory_bytes()
            + (reader + self.lines.capacity()) as u64
    }

    /// Keeps the core's count of its connections' memory right.
    pub(crate) fn count_memory(&mut self, node: &mut Node) {
        let bytes = self.memory_bytes();
        let all = self.counted_in(node);
        *all = *all - self.counted_bytes + bytes;
        self.counted_bytes = bytes;
    }

    /// The connection is closed: what was counted goes.
    pub(crate) fn forget_memory(&self, node: &mut Node) {
        *self.counted_in(node) -= self.counted_bytes;
    }

    /// The account of the memory: the store's, or the lobby's.
    fn counted_in<'n>(&self, node: &'n mut Node) -> &'n mut u64 {
        match self.waits_since_ms {
            None => &mut node.connection_bytes,
            Some(_) => &mut node.lobby_bytes,
        }
    }

    /// True when it is in the lobby and need not be, or should be and is not: a connection is in when
    /// it has ended its handshake and its user has shown a password, or needs none.
    pub(crate) fn is_misplaced(&self) -> bool {
        let is_in = self.client.authenticated && !self.transport.is_handshaking();
        is_in == self.waits_since_ms.is_some()
    }

    /// In the lobby since then, or not any more.
    pub(crate) fn wait_since(&mut self, since_ms: Option<i64>, node: &mut Node) {
        *self.counted_in(node) -= self.counted_bytes;
        self.waits_since_ms = since_ms;
        *self.counted_in(node) += self.counted_bytes;
    }
}

/// Bundles that are empty; they travel as pointers.
pub(crate) type Spare = Kept<Box<Bundle>>;

/// Buffers, readers and bundles that one core's connections share.
#[derive(Debug, Default)]
pub(crate) struct Pool {
    pub(crate) buffers: Buffers,
    readers: Kept<Box<Reader>>,
    /// Empty; see [`crate::connection::gather::Gather::end`].
    pub(crate) bundles: Spare,
}

impl Pool {
    pub(crate) fn take_reader(&mut self) -> Box<Reader> {
        self.readers.take().unwrap_or_default()
    }

    /// The reader must be idle.
    pub(crate) fn give_reader(&mut self, mut reader: Box<Reader>) {
        reader.shrink();
        self.readers.give(reader);
    }

    /// Memory kept on behalf of connections that are in, bytes. Buffers and readers are kept for
    /// anybody who connects, few and bounded, and so they are not counted: nobody makes commands get
    /// OOM by that.
    pub(crate) fn memory_bytes(&self) -> u64 {
        self.bundles.bytes as u64
    }
}
