//! Connections over an adapter in the event loop. The loop polls for arrived data in every turn, because a poll costs
//! no system call.

use super::Core;
use super::queue::TurnQueue;
use crate::adapter::{AdapterConnection, AdapterReport, AdapterRequest, CoreAdapter, DESCRIPTORS};
use crate::connection::Connection;
use crate::execute::client::Client;
use crate::mail::message::Message;
use crate::net::adapted::Adapted;
use crate::net::port::PortKind;
use crate::net::socket::Socket;
use crate::ticket::Ticket;
use mio::unix::SourceFd;
use mio::{Interest, Registry, Token};
use slab::Slab;
use std::io;
use std::sync::atomic::Ordering;

/// Descriptors of the core's adapter.
pub(super) const TOKENS: [Token; DESCRIPTORS] =
    [Token(usize::MAX - 5), Token(usize::MAX - 6), Token(usize::MAX - 7)];

/// Has the poller tell of an adapter's descriptors from now on.
pub(super) fn register(adapter: &dyn CoreAdapter, registry: &Registry) -> io::Result<()> {
    for (descriptor, token) in adapter.descriptors().into_iter().zip(TOKENS) {
        if let Some(descriptor) = descriptor {
            registry.register(&mut SourceFd(&descriptor), token, Interest::READABLE)?;
        }
    }
    Ok(())
}

/// Lets the adapter reach a connection, and gives that a turn.
fn tell(
    connections: &mut Slab<Connection<Socket>>,
    queue: &mut TurnQueue,
    now_ms: i64,
    key: usize,
    say: &mut dyn FnMut(&mut dyn AdapterConnection, i64),
) {
    let Some(connection) = connections.get_mut(key) else { return };
    let Socket::Adapted(adapted) = &mut connection.transport else { return };
    say(&mut *adapted.0, now_ms);
    let is_writable = adapted.0.is_writable();
    connection.notice(true, is_writable, false);
    queue.push(key, connection, now_ms);
}

impl Core {
    /// The poller says that a descriptor of the adapter is readable.
    pub(super) fn notice_adapter(&mut self, token: Token) -> io::Result<()> {
        let Some(adapter) = &mut self.adapter else { return Ok(()) };
        let Some(descriptor) = TOKENS.iter().position(|own| *own == token) else { return Ok(()) };
        let now_ms = self.node.now.uptime_ms;
        let (connections, queue) = (&mut self.connections, &mut self.queue);
        let mut tell = |key: usize, say: &mut dyn FnMut(&mut dyn AdapterConnection, i64)| {
            tell(connections, queue, now_ms, key, say);
        };
        for request in adapter.readable(descriptor, &mut tell)? {
            self.deal_out_request(request);
        }
        Ok(())
    }

    /// Handles the events that have arrived over the adapter.
    pub(super) fn take_completions(&mut self) -> io::Result<()> {
        let Some(adapter) = &mut self.adapter else { return Ok(()) };
        let now_ms = self.node.now.uptime_ms;
        let (connections, queue) = (&mut self.connections, &mut self.queue);
        adapter.poll(self.node.clock.monotonic_ns(), &mut |key, say| {
            tell(connections, queue, now_ms, key, say);
        })
    }

    /// True when the loop may wait: there is nothing to take, and waiting pays.
    pub(super) fn adapter_may_wait(&mut self) -> io::Result<bool> {
        let Some(adapter) = &mut self.adapter else { return Ok(true) };
        let now_ms = self.node.now.uptime_ms;
        let (connections, queue) = (&mut self.connections, &mut self.queue);
        adapter.may_wait(self.node.clock.monotonic_ns(), &mut |key, say| {
            tell(connections, queue, now_ms, key, say);
        })
    }

    /// Keepalives, and peers that have died.
    pub(super) fn tick_adapter(&mut self) {
        let Some(adapter) = &mut self.adapter else { return };
        let now_ms = self.node.now.uptime_ms;
        for key in adapter.due(now_ms) {
            let Some(connection) = self.connections.get_mut(key) else { continue };
            let Socket::Adapted(adapted) = &mut connection.transport else { continue };
            if adapted.0.tick(now_ms) {
                connection.notice(true, false, false);
                self.enqueue(key);
            }
        }
    }

    fn deal_out_request(&mut self, request: AdapterRequest) {
        self.node.counters.connections_accepted += 1;
        if !self.has_room_for_client() {
            // Dropping the request refuses it.
            return;
        }
        let core = self.next_core;
        self.next_core = (core + 1) % self.node.shared.slots.cores();
        if core == self.node.core {
            self.welcome_request(request);
        } else {
            self.node.mesh.send(core, Message::WelcomeRequest(Box::new(request)));
        }
    }

    /// Takes a connection in, which is counted already.
    pub(super) fn welcome_request(&mut self, request: AdapterRequest) {
        let peer = request.peer;
        if let Err(error) = self.accept_request(request) {
            let over = self.adapter.as_ref().map_or("an adapter", |adapter| adapter.name());
            tracing::info!(%peer, "a connection over {over} was refused: {error}");
            self.node.shared.clients.fetch_sub(1, Ordering::Relaxed);
        }
    }

    fn accept_request(&mut self, request: AdapterRequest) -> io::Result<()> {
        let Some(adapter) = self.adapter.as_mut().filter(|_| self.drain_until_ms.is_none()) else {
            // It came between the signal and the end of listening.
            return Err(io::ErrorKind::ConnectionAborted.into());
        };
        let ends = (request.peer, adapter.address());
        let entry = self.connections.vacant_entry();
        let key = entry.key();
        let connection = adapter.accept(request, key, self.node.now.uptime_ms)?;
        let ticket = Ticket { key, client: self.node.shared.next_client() };
        let users = &self.node.settings.users;
        let client = Client::new(ticket, ends, PortKind::Main, users, self.node.now);
        entry.insert(Connection::new(key, Socket::Adapted(Adapted(connection)), client));
        self.begin(ticket);
        Ok(())
    }

    /// Counts of the adapter, open connections included.
    pub(super) fn adapter_report(&self) -> AdapterReport {
        let Some(adapter) = &self.adapter else { return AdapterReport::default() };
        let mut open =
            self.connections.iter().filter_map(|(_, connection)| match &connection.transport {
                Socket::Adapted(adapted) => Some(&*adapted.0),
                Socket::Tcp(_) | Socket::Tls(_) => None,
            });
        adapter.report(&mut open)
    }
}
