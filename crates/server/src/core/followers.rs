//! Clients that are notified of events outside of their connection: MONITOR lines, committed changes, changes of keys
//! that they have read, a change of leader. Each kind has its own message to the other cores, and clients are notified
//! at the end of a turn.

use super::Core;
use crate::durable::HeldOutput;
use crate::execute::client::Client;
use crate::mail::message::{Invalidations, Message};
use crate::ticket::Sender;
use std::borrow::Cow;
use std::net::SocketAddr;

impl Core {
    /// Sends the commands of this turn's clients to the monitoring clients on every core.
    pub(super) fn tell_monitors(&mut self) {
        let Some(lines) = self.node.monitor.take_lines() else { return };
        for core in self.node.mesh.others() {
            self.node.mesh.send(core, Message::Monitor(lines.clone()));
        }
        self.show(&lines);
    }

    /// Tells subscribers that the leader has changed.
    pub(super) fn tell_subscribers(&mut self) {
        let Some(leader) = self.node.view.as_deref().and_then(|view| view.leader(0)) else {
            return;
        };
        let new = SocketAddr::new(leader.addresses.ip, leader.addresses.main);
        let Some(old) = self.leader.replace(new).filter(|old| *old != new) else { return };
        self.show_each("SUBSCRIBE", |client| {
            let subscriptions = client.subscriptions.as_ref()?;
            Some(Cow::Owned(subscriptions.switched(client.protocol, (old, new))))
        });
    }

    /// Shows lines to the monitoring clients of this core.
    pub(super) fn show(&mut self, lines: &[u8]) {
        self.show_each("MONITOR", |client| client.monitors.then_some(Cow::Borrowed(lines)));
    }

    /// Shows each client the lines meant for it. Closes clients that read too slowly.
    fn show_each<'l>(&mut self, command: &str, lines: impl Fn(&Client) -> Option<Cow<'l, [u8]>>) {
        let mut late = Vec::new();
        for (key, connection) in &mut self.connections {
            let Some(lines) = lines(&connection.client) else { continue };
            if connection.show(&lines, &self.node) {
                self.queue.push(key, connection, self.node.now.uptime_ms);
            } else {
                late.push(key);
            }
        }
        for key in late {
            tracing::warn!(
                client = self.connections[key].client.id,
                "{command} reads too slowly: closed"
            );
            self.close(key);
        }
    }

    /// Sends finished replies of event readers to their connections, here or on another core.
    pub(super) fn tell_readers(&mut self) {
        while let Some((sender, reply)) = self.node.durable.followed() {
            let message = Message::Followed(sender, reply);
            if !self.node.durable.is_grouped() {
                self.deliver(sender.core, message);
                continue;
            }
            // A reply leaves when the group has confirmed this turn, as one that shows the shard.
            self.node.durable.note_shown();
            match self.node.pending() {
                Some(turn) => {
                    self.node.durable.hold(turn, HeldOutput::Mail(sender.core, message));
                }
                None => self.deliver(sender.core, message),
            }
        }
    }

    /// Closes the connections that wait for events of this core, here or on another core.
    pub(super) fn lose_readers(&mut self) {
        for sender in self.node.durable.lose_readers() {
            self.deliver(sender.core, Message::Lost(sender));
        }
    }

    /// Hands its reply to a connection that has waited for it, unless the connection is gone.
    pub(super) fn hand_over(&mut self, sender: Sender, reply: &[u8]) {
        let Some(connection) = self.connections.get_mut(sender.connection) else { return };
        if connection.client.id == sender.client {
            connection.hand_over(reply, &mut self.pool);
            self.enqueue(sender.connection);
        }
    }

    /// Cancels the wait of a closed connection on the core where it waits.
    pub(super) fn forget_reader(&mut self, sender: Sender, thread: u16) {
        if thread == self.node.core {
            self.node.durable.unfollow(sender);
        } else {
            self.node.mesh.send(thread, Message::Unfollow(sender));
        }
    }

    /// Sends the changed keys of this core to the cores of the clients that have read them.
    pub(super) fn tell_trackers(&mut self) {
        if !self.node.tracking.is_active() {
            return;
        }
        // Timers have changed some keys.
        self.node.tell_changes(None, None);
        for (core, news) in self.node.tracking.take_news() {
            if core == self.node.core {
                self.invalidate(&news);
            } else {
                self.node.mesh.send(core, Message::Invalidate(Box::new(news)));
            }
        }
        self.node.end_tracking();
    }

    /// Notifies the tracking clients of this core.
    pub(super) fn invalidate(&mut self, news: &Invalidations) {
        if news.flushed {
            for (key, connection) in &mut self.connections {
                if connection.client.tracking.is_some() {
                    connection.tell(None, &self.node);
                    self.queue.push(key, connection, self.node.now.uptime_ms);
                }
            }
        }
        for (changed, tickets) in &news.keys {
            for ticket in tickets {
                // The client may have disconnected, and its key may belong to another connection by now.
                if let Some(connection) = self.connections.get_mut(ticket.key)
                    && connection.client.id == ticket.client
                {
                    connection.tell(Some(changed), &self.node);
                    self.enqueue(ticket.key);
                }
            }
        }
    }
}
