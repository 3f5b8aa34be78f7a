//! Connections over RDMA in the event loop: their completions are taken in every turn, since looking
//! costs no system call.

use super::Core;
use super::queue::TurnQueue;
use crate::connection::Connection;
use crate::execute::client::Client;
use crate::mail::message::Message;
use crate::net::port::PortKind;
use crate::net::rdma::{Rdma, RdmaReport, Welcome};
use crate::net::socket::Socket;
use crate::ticket::Ticket;
use mio::Token;
use scurry_rdma::Notice;
use slab::Slab;
use std::io;
use std::sync::atomic::Ordering;

/// Completions, connections, who wants to connect.
pub(super) const TOKENS: [Token; 3] =
    [Token(usize::MAX - 5), Token(usize::MAX - 6), Token(usize::MAX - 7)];

/// Tells a connection what the device says, and gives it a turn.
fn tell(
    connections: &mut Slab<Connection<Socket>>,
    queue: &mut TurnQueue,
    now_ms: i64,
    key: usize,
    notice: Notice<'_>,
) {
    let Some(connection) = connections.get_mut(key) else { return };
    let Socket::Rdma(rdma) = &mut connection.transport else { return };
    rdma.notice(notice, now_ms);
    let is_writable = rdma.endpoint.is_writable();
    connection.notice(true, is_writable, false);
    queue.push(key, connection, now_ms);
}

impl Core {
    /// The poller says something about RDMA.
    pub(super) fn notice_rdma(&mut self, token: Token) -> io::Result<()> {
        let Some(own) = &mut self.rdma else { return Ok(()) };
        let now_ms = self.node.now.uptime_ms;
        let (connections, queue) = (&mut self.connections, &mut self.queue);
        match TOKENS.iter().position(|own| *own == token) {
            Some(0) => own.notified(),
            Some(1) => {
                own.poll_connections(|key, notice| tell(connections, queue, now_ms, key, notice))
            }
            _ => {
                for welcome in own.requests() {
                    self.deal_out_rdma(welcome);
                }
                Ok(())
            }
        }
    }

    /// Takes what has come.
    pub(super) fn take_completions(&mut self) -> io::Result<()> {
        let Some(own) = &mut self.rdma else { return Ok(()) };
        let now_ms = self.node.now.uptime_ms;
        let (connections, queue) = (&mut self.connections, &mut self.queue);
        own.poll(self.node.clock.monotonic_ns(), |key, notice| {
            tell(connections, queue, now_ms, key, notice);
        })
    }

    /// True when the loop may wait: there is nothing to take, and waiting pays.
    pub(super) fn rdma_may_wait(&mut self) -> io::Result<bool> {
        let Some(own) = &mut self.rdma else { return Ok(true) };
        let now_ms = self.node.now.uptime_ms;
        let (connections, queue) = (&mut self.connections, &mut self.queue);
        own.may_wait(self.node.clock.monotonic_ns(), |key, notice| {
            tell(connections, queue, now_ms, key, notice);
        })
    }

    /// Keepalives, and peers that have died.
    pub(super) fn tick_rdma(&mut self) {
        let Some(own) = &mut self.rdma else { return };
        let now_ms = self.node.now.uptime_ms;
        for key in own.due(now_ms) {
            let Some(connection) = self.connections.get_mut(key) else { continue };
            let Socket::Rdma(rdma) = &mut connection.transport else { continue };
            if rdma.tick(now_ms) {
                connection.notice(true, false, false);
                self.enqueue(key);
            }
        }
    }

    fn deal_out_rdma(&mut self, welcome: Welcome) {
        self.node.counters.connections_accepted += 1;
        if !self.has_room_for_client() {
            // Dropping the request refuses it.
            return;
        }
        let core = self.next_core;
        self.next_core = (core + 1) % self.node.shared.slots.cores();
        if core == self.node.core {
            self.welcome_rdma(welcome);
        } else {
            self.node.mesh.send(core, Message::WelcomeRdma(Box::new(welcome)));
        }
    }

    /// Takes a connection in, which is counted already.
    pub(super) fn welcome_rdma(&mut self, welcome: Welcome) {
        let peer = welcome.peer;
        if let Err(error) = self.register_rdma(welcome) {
            tracing::info!(%peer, "a connection over RDMA was refused: {error}");
            self.node.shared.clients.fetch_sub(1, Ordering::Relaxed);
        }
    }

    fn register_rdma(&mut self, welcome: Welcome) -> io::Result<()> {
        let Some(own) = self.rdma.as_mut().filter(|_| self.drain_until_ms.is_none()) else {
            // It came between the signal and the end of listening.
            return Err(io::ErrorKind::ConnectionAborted.into());
        };
        let Welcome { request, peer, port } = welcome;
        let entry = self.connections.vacant_entry();
        let key = entry.key();
        let endpoint = own.accept(request, key, self.node.now.uptime_ms)?;
        let ticket = Ticket { key, client: self.node.shared.next_client() };
        let users = &self.node.settings.users;
        let ends = (peer, own.local);
        let client = Client::new(ticket, ends, PortKind::Main, users, self.node.now);
        debug_assert!(port.inside.is_none() && port.tls.is_none(), "neither is spoken over RDMA");
        entry.insert(Connection::new(key, Socket::Rdma(Box::new(Rdma::new(endpoint))), client));
        self.begin(ticket);
        Ok(())
    }

    /// Counts of RDMA, open connections included.
    pub(super) fn rdma_report(&self) -> RdmaReport {
        let Some(own) = &self.rdma else { return RdmaReport::default() };
        let mut report = own.report();
        for (_, connection) in &self.connections {
            if let Socket::Rdma(rdma) = &connection.transport {
                report.take_in(rdma.endpoint.pinned_bytes(), rdma.endpoint.counts());
            }
        }
        report
    }
}
