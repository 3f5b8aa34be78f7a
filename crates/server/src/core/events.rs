//! Those who follow what is committed: their replies come from the thread that reads the log.

use super::Core;
use crate::mail::message::Message;
use crate::ticket::Sender;

impl Core {
    /// Replies that are there go to their connections, here or on another core.
    pub(super) fn tell_readers(&mut self) {
        while let Some((sender, reply)) = self.node.durable.followed() {
            if sender.core == self.node.core {
                self.hand_over(sender, &reply);
            } else {
                self.node.mesh.send(sender.core, Message::Followed(sender, reply));
            }
        }
    }

    /// The reply of a connection that has waited for it, unless it is gone.
    pub(super) fn hand_over(&mut self, sender: Sender, reply: &[u8]) {
        let Some(connection) = self.connections.get_mut(sender.connection) else { return };
        if connection.client.id == sender.client {
            connection.hand_over(reply, &mut self.pool);
            self.enqueue(sender.connection);
        }
    }

    /// Nobody waits for a connection that is closed.
    pub(super) fn forget_reader(&mut self, sender: Sender, thread: u16) {
        if thread == self.node.core {
            self.node.durable.unfollow(sender);
        } else {
            self.node.mesh.send(thread, Message::Unfollow(sender));
        }
    }
}
