//! Closes connections, and keeps the deadlines that connections must meet. All connections of one list have the same
//! timeout, so the first to enter a list is the first that is due.

use super::{Core, LINGER_MS_MAX};
use crate::net::fault::Fault;
use crate::net::socket::Socket;
use crate::net::transport::Transport;
use crate::ticket::Ticket;
use std::collections::VecDeque;
use std::sync::atomic::Ordering;

/// A list of connections with their deadlines. Bounded by the number of connections that were accepted within the
/// timeout of the list.
#[derive(Default)]
pub(super) struct Deadlines {
    waiting: VecDeque<(Ticket, i64)>,
}

impl Deadlines {
    /// Adds a connection with its deadline, ms of uptime.
    pub(super) fn push(&mut self, connection: Ticket, until_ms: i64) {
        self.waiting.push_back((connection, until_ms));
    }

    /// Removes and returns the next connection after its deadline.
    pub(super) fn pop_due(&mut self, now_ms: i64) -> Option<Ticket> {
        let (_, until_ms) = *self.waiting.front()?;
        if until_ms > now_ms {
            return None;
        }
        self.waiting.pop_front().map(|(connection, _)| connection)
    }
}

impl Core {
    pub(super) fn close(&mut self, key: usize) {
        let mut connection = self.connections.remove(key);
        connection.forget_memory(&mut self.node);
        connection.transport.release(&mut self.pool.buffers);
        if let Some(since_ms) = connection.waits_since_ms {
            self.leave_lobby(connection.client.ticket, since_ms);
        }
        if let Some(thread) = connection.client.following {
            self.forget_reader(connection.sender(self.node.core), thread);
        }
        if connection.client.monitors {
            self.node.shared.monitors.fetch_sub(1, Ordering::Relaxed);
        }
        if connection.client.tracking.is_some() {
            self.node.shared.trackers.fetch_sub(1, Ordering::Relaxed);
        }
        if let Some(fault) = connection.transport.take_fault() {
            self.node.faults.note(connection.client.peer, fault);
        }
        if let Some(stream) = connection.transport.stream() {
            // Closing the socket ends its registration as well.
            let _ = self.poll.registry().deregister(stream);
        }
        if let (Some(adapter), Socket::Adapted(adapted)) =
            (&mut self.adapter, &mut connection.transport)
        {
            adapter.forget(&mut *adapted.0);
        }
        self.node.clients = self.connections.len();
        self.node.shared.release_connection(connection.client.inside);
    }

    /// Closes connections that have waited too long: for the peer to close, for the handshake, for authentication, or
    /// for a reply when the peer may have disconnected.
    pub(super) fn end_late(&mut self) {
        self.empty_lobby();
        let now_ms = self.node.now.uptime_ms;
        while let Some(ticket) = self.ended.pop_due(now_ms) {
            if self.connection(ticket).is_some_and(|connection| connection.has_waited(now_ms)) {
                self.close(ticket.key);
            }
        }
        while let Some(ticket) = self.lingering.pop_due(now_ms) {
            let Some(connection) = self.connection(ticket) else { continue };
            // A peer that still sends gets more time, up to its own deadline.
            if connection.still_discards(now_ms, LINGER_MS_MAX) {
                self.lingering.push(ticket, now_ms + LINGER_MS_MAX);
            } else {
                self.close(ticket.key);
            }
        }
        while let Some(ticket) = self.handshaking.pop_due(now_ms) {
            let Some(connection) = self.connection(ticket) else { continue };
            if connection.transport.is_handshaking() {
                let peer = connection.client.peer;
                self.node.faults.note(peer, Fault::Late);
                self.close(ticket.key);
            }
        }
    }
}
