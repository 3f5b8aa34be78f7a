//! Clients that track hear of the keys that have changed, at the end of the turn in which they did.

use super::Core;
use crate::message::Message;
use crate::tracking::News;

impl Core {
    /// What this core's keys have to tell goes to the cores of those who have read them.
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

    /// Tells those who are served here. Who does not read fast enough is let go.
    pub(super) fn invalidate(&mut self, news: &News) {
        if news.flushed {
            let tracks = |key: &usize| self.connections[*key].client.tracking.is_some();
            let keys: Vec<usize> =
                self.connections.iter().map(|(key, _)| key).filter(tracks).collect();
            for key in keys {
                self.tell(key, None);
            }
        }
        for (changed, tickets) in &news.keys {
            for &ticket in tickets {
                // Who has read it may be gone, and another have its place.
                if self.connection(ticket).is_some() {
                    self.tell(ticket.key, Some(changed));
                }
            }
        }
    }

    fn tell(&mut self, key: usize, changed: Option<&[u8]>) {
        let Some(connection) = self.connections.get_mut(key) else { return };
        if connection.tell(changed, &self.node) {
            self.enqueue(key);
        } else {
            let client = connection.client.id;
            tracing::warn!(client, "a client that tracks reads too slowly: closed");
            self.close(key);
        }
    }
}
