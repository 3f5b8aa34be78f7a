//! Clients that track hear of the keys that have changed, at the end of the turn in which they did.

use super::Core;
use crate::mail::message::{Message, News};

impl Core {
    /// Sends what has changed of this core's keys to the cores of the clients that have read them.
    pub(super) fn tell_trackers(&mut self) {
        if !self.node.tracking.is_active() {
            return;
        }
        // Timers have changed some.
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

    /// Tells those who are served here.
    pub(super) fn invalidate(&mut self, news: &News) {
        if news.flushed {
            for (key, connection) in &mut self.connections {
                if connection.client.tracking.is_some() {
                    connection.tell(None, &self.node);
                    if !connection.queued {
                        connection.queued = true;
                        self.queue.push_back(key);
                    }
                }
            }
        }
        for (changed, tickets) in &news.keys {
            for ticket in tickets {
                // Who has read it may be gone, and another have its place.
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
