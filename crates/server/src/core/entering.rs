//! Connections that come in: accepted, dealt out among the cores, registered, in the lobby until they are
//! in, or shown out of it.

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

/// Batches that are accepted of a listener in one round.
const BATCHES_MAX: usize = 8;

impl Core {
    /// Accepts for as long as those may have their turns that are not at work, while those that came have
    /// had theirs.
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
                    self.deal_out(stream, peer, &port);
                }
                if self.node.clock.monotonic_ns() >= until_ns {
                    break;
                }
            }
        }
    }

    /// Connections of the main ports are dealt out among the cores.
    fn deal_out(&mut self, stream: TcpStream, peer: SocketAddr, port: &Port) {
        self.node.counters.connections_accepted += 1;
        if port.kind == PortKind::Main
            && port.inside.is_none()
            && let Some(group) = &self.node.group
            && !group.view().leads()
        {
            return group.forwarder.take(stream);
        }
        if !self.has_room_for_client() {
            // Who speaks TLS could not read why.
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

    /// Counts one more client, when there may be one, or when somebody of a lobby can give way to it.
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

    /// Takes a connection in, which is counted already.
    pub(super) fn welcome(&mut self, stream: TcpStream, peer: SocketAddr, port: &Port) {
        let outcome = match self.drain_until_ms {
            // It came between the signal and the end of listening.
            Some(_) => Err(io::ErrorKind::ConnectionAborted.into()),
            None => self.register(stream, peer, port),
        };
        if let Err(error) = outcome {
            tracing::debug!(%peer, "connection lost: {error}");
            self.node.shared.give_place(port.inside.is_some());
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

    /// A connection that was registered, and counted, begins. When there are too many of them
    /// somebody of the lobby gives way; when nobody is there, the new one.
    pub(super) fn begin(&mut self, ticket: Ticket) {
        self.node.clients = self.connections.len();
        self.place(ticket.key);
        let Some(connection) = self.connections.get(ticket.key) else { return };
        let clients = self.node.shared.clients.load(Ordering::Relaxed);
        if connection.client.inside || clients <= self.node.settings.clients_max {
            return;
        }
        let oldest = self.lobby.oldest().map_or(ticket, |(oldest, _)| oldest);
        if oldest == ticket {
            self.node.counters.connections_refused += 1;
        }
        self.show_out(oldest, Fault::GaveWay);
    }

    /// Sees to it that a connection is in the lobby exactly while it is not in.
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
                    self.show_out(oldest, Fault::GaveWay);
                }
            }
        }
        self.node.waiting = self.lobby.len();
    }

    /// A connection is closed.
    pub(super) fn leave_lobby(&mut self, ticket: Ticket, since_ms: i64) {
        self.lobby.leave(ticket, since_ms);
        self.node.shared.waiting.fetch_sub(1, Ordering::Relaxed);
        self.node.waiting = self.lobby.len();
    }

    /// Closes those that have been in the lobby for too long.
    pub(super) fn empty_lobby(&mut self) {
        let latest_ms = self.node.now.uptime_ms - self.node.settings.auth_ms_max;
        while let Some((oldest, since_ms)) = self.lobby.oldest()
            && since_ms <= latest_ms
        {
            self.show_out(oldest, Fault::NotIn);
        }
    }

    /// Closes connections of users who are no more, or are others now. Whoever has not come in yet does so
    /// by the users of now.
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

    fn show_out(&mut self, ticket: Ticket, fault: Fault) {
        let Some(connection) = self.connection(ticket) else { return };
        let peer = connection.client.peer;
        self.node.counters.connections_shown_out += 1;
        self.node.faults.note(peer, fault);
        self.close(ticket.key);
    }
}
