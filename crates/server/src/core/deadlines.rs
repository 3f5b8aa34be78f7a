//! What some connections must have done in time. All that share a list have equally long, so the
//! first to begin is the first that is due.

use crate::ticket::Ticket;
use std::collections::VecDeque;

/// A list of connections, each with its time. Bounded by the connections that were accepted
/// within the time that the list gives.
#[derive(Default)]
pub(crate) struct Deadlines {
    waiting: VecDeque<(Ticket, i64)>,
}

impl Deadlines {
    /// Adds a connection whose time ends then, ms of uptime.
    pub(crate) fn push(&mut self, connection: Ticket, until_ms: i64) {
        self.waiting.push_back((connection, until_ms));
    }

    /// The next connection whose time is over.
    pub(crate) fn pop_due(&mut self, now_ms: i64) -> Option<Ticket> {
        let (_, until_ms) = *self.waiting.front()?;
        if until_ms > now_ms {
            return None;
        }
        self.waiting.pop_front().map(|(connection, _)| connection)
    }
}
