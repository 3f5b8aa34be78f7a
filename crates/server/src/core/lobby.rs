//! Who is let into the lobby of a core, who leaves it, and who is shown out.

use super::Core;
use crate::fault::Fault;
use crate::ticket::Ticket;
use std::sync::atomic::Ordering;

impl Core {
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

    fn show_out(&mut self, ticket: Ticket, fault: Fault) {
        let Some(connection) = self.connection(ticket) else { return };
        let peer = connection.client.peer;
        self.node.counters.connections_shown_out += 1;
        self.node.faults.note(peer, fault);
        self.close(ticket.key);
    }
}
