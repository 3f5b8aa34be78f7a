//! New connections: accepting them, distributing them over the cores, registering them, and keeping them in the lobby
//! until they are authenticated or evicted.

use super::Core;
use crate::connection::Connection;
use crate::execute::client::Client;
use crate::mail::message::Message;
use crate::net::fault::Fault;
use crate::net::listener;
use crate::net::port::{Port, PortKind};
use crate::net::socket::Socket;
use crate::net::transport::Transport;
use crate::ticket::Ticket;
use crate::users::User;
use mio::net::TcpStream;
use mio::{Interest, Token};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Batches that are accepted from a listener in one round.
const BATCHES_MAX: usize = 8;

impl Core {
    /// Accepts connections within the time that the lanes of idle and new connections get, as long as earlier
    /// connections have had their turns.
    pub(super) fn accept(&mut self) {
        let until_ns = self.node.clock.monotonic_ns() + self.others_ns;
        for index in 0..self.acceptors.len() {
            for _ in 0..BATCHES_MAX {
                if !self.queue.admits() {
                    return;
                }
                let acceptor = &mut self.acceptors[index];
                let accepted = acceptor.accept(self.node.now.uptime_ms);
                if accepted.is_empty() {
                    break;
                }
                let port = acceptor.port.clone();
                for (stream, peer) in accepted {
                    self.assign_core(stream, peer, &port);
                }
                if self.node.clock.monotonic_ns() >= until_ns {
                    break;
                }
            }
        }
    }

    /// Distributes connections of the main ports over the cores.
    fn assign_core(&mut self, stream: TcpStream, peer: SocketAddr, port: &Port) {
        self.node.counters.connections_accepted += 1;
        if port.kind == PortKind::Main
            && port.inside.is_none()
            && let Some(group) = &self.node.group
            && !group.view().leads()
        {
            return group.forward(stream);
        }
        if !self.has_room_for_client() {
            // A client that speaks TLS could not read the reason.
            if port.tls.is_none() {
                listener::refuse(stream);
            }
            return;
        }
        let core = match port.kind {
            PortKind::Main => self.next_core,
            PortKind::Core => self.node.core,
        };
        if port.kind == PortKind::Main {
            self.next_core = (core + 1) % self.node.shared.slots.cores();
        }
        if core == self.node.core {
            self.welcome(stream, peer, port);
        } else {
            let port = port.clone();
            self.node.mesh.send(core, Message::Welcome { stream, peer, port });
        }
    }

    /// Counts one more client if the limit allows it, or if a connection in a lobby can be evicted in its favour. False
    /// when there is no room.
    pub(super) fn has_room_for_client(&mut self) -> bool {
        let shared = &self.node.shared;
        let most = self.node.settings.clients_max + shared.waiting.load(Ordering::Relaxed);
        if shared.clients.fetch_add(1, Ordering::Relaxed) < most {
            return true;
        }
        shared.clients.fetch_sub(1, Ordering::Relaxed);
        self.node.counters.connections_refused += 1;
        false
    }

    /// Registers a connection that is counted already.
    pub(super) fn welcome(&mut self, stream: TcpStream, peer: SocketAddr, port: &Port) {
        let outcome = match self.drain_until_ms {
            // It arrived between the signal and the end of listening.
            Some(_) => Err(io::ErrorKind::ConnectionAborted.into()),
            None => self.register(stream, peer, port),
        };
        if let Err(error) = outcome {
            tracing::debug!(%peer, "connection lost: {error}");
            self.node.shared.release_connection(port.inside.is_some());
        }
    }

    fn register(&mut self, stream: TcpStream, peer: SocketAddr, port: &Port) -> io::Result<()> {
        let local = match port.inside {
            Some(_) => self.node.shared.main,
            None => {
                listener::tune(&stream)?;
                stream.local_addr()?
            }
        };
        let mut transport = Socket::accept(stream, port)?;
        let entry = self.connections.vacant_entry();
        let key = entry.key();
        let interest = Interest::READABLE | Interest::WRITABLE;
        if let Some(stream) = transport.stream() {
            self.poll.registry().register(stream, Token(key), interest)?;
        }
        let ticket = Ticket { key, client: self.node.shared.next_client() };
        let users = &self.node.settings.users;
        let mut client = Client::new(ticket, (peer, local), port.kind, users, self.node.now);
        if let Some(roles) = port.inside {
            client.become_user(Arc::new(User::inside(roles)));
            client.inside = true;
        }
        if transport.is_handshaking()
            && let Some(tls) = &self.node.settings.tls
        {
            self.handshaking.push(ticket, self.node.now.uptime_ms + tls.handshake_ms_max);
        }
        entry.insert(Connection::new(key, transport, client));
        self.begin(ticket);
        Ok(())
    }

    /// Starts serving a connection that is registered and counted. When there are too many connections, one in the
    /// lobby is evicted; when the lobby is empty, the new one is closed.
    pub(super) fn begin(&mut self, ticket: Ticket) {
        self.node.clients = self.connections.len();
        self.place(ticket.key);
        let Some(connection) = self.connections.get(ticket.key) else { return };
        let clients = self.node.shared.clients.load(Ordering::Relaxed);
        if connection.client.inside || clients <= self.node.settings.clients_max {
            return;
        }
        // The oldest unauthenticated connection of this core gives way.
        let oldest = self.lobby.oldest().map_or(ticket, |(oldest, _)| oldest);
        if oldest == ticket {
            self.node.counters.connections_refused += 1;
        }
        self.evict_connection(oldest, Fault::GaveWay);
    }

    /// Moves a connection into or out of the lobby, so that it is there exactly while it is not authenticated.
    pub(super) fn place(&mut self, key: usize) {
        let Some(connection) = self.connections.get_mut(key) else { return };
        if !connection.is_misplaced() {
            return;
        }
        let ticket = connection.client.ticket;
        match connection.waits_since_ms {
            Some(since_ms) => {
                connection.wait_since(None, &mut self.node);
                self.lobby.leave(ticket, since_ms);
                self.node.shared.waiting.fetch_sub(1, Ordering::Relaxed);
            }
            None => {
                let since_ms = self.node.now.uptime_ms;
                connection.wait_since(Some(since_ms), &mut self.node);
                self.lobby.enter(ticket, since_ms);
                self.node.shared.waiting.fetch_add(1, Ordering::Relaxed);
                if let Some(oldest) = self.lobby.surplus() {
                    self.evict_connection(oldest, Fault::GaveWay);
                }
            }
        }
        self.node.waiting = self.lobby.len();
    }

    /// Removes a closed connection from the lobby.
    pub(super) fn leave_lobby(&mut self, ticket: Ticket, since_ms: i64) {
        self.lobby.leave(ticket, since_ms);
        self.node.shared.waiting.fetch_sub(1, Ordering::Relaxed);
        self.node.waiting = self.lobby.len();
    }

    /// Closes connections that have been in the lobby for too long.
    pub(super) fn empty_lobby(&mut self) {
        let latest_ms = self.node.now.uptime_ms - self.node.settings.auth_ms_max;
        while let Some((oldest, since_ms)) = self.lobby.oldest()
            && since_ms <= latest_ms
        {
            self.evict_connection(oldest, Fault::NotIn);
        }
    }

    /// Closes connections of users that were removed or changed. Connections that are not authenticated yet will be
    /// checked against the new users.
    pub(super) fn end_connections_of_former_users(&mut self) {
        let users = Arc::clone(&self.node.settings.users);
        let mut former = Vec::new();
        for (key, connection) in &mut self.connections {
            let client = &mut connection.client;
            if client.inside || users.is_current(&client.user) {
                continue;
            }
            if client.authenticated {
                former.push(key);
            } else {
                client.begin_anew(&users);
            }
        }
        if !former.is_empty() {
            let (core, clients) = (self.node.core, former.len());
            tracing::info!(core, clients, "closed: their users are no more, or have changed");
        }
        for key in former {
            self.close(key);
        }
    }

    fn evict_connection(&mut self, ticket: Ticket, fault: Fault) {
        let Some(connection) = self.connection(ticket) else { return };
        let peer = connection.client.peer;
        self.node.counters.connections_shown_out += 1;
        self.node.faults.note(peer, fault);
        self.close(ticket.key);
    }
}
