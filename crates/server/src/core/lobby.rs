//! Connections that are not authenticated: their handshake is not done, or their user has not shown a password. Anyone
//! can open as many as the network allows, so they get only a part of the places, only for a limited time, and their
//! memory is counted apart from the store's memory.
//!
//! When the lobby is full, the oldest connection gives way to the newest. Refusing the newest instead would let an
//! attacker who fills the lobby keep everyone out for the whole timeout. This way an honest client, which needs one or
//! two round trips to authenticate, has left the lobby before it has been filled again.

use crate::ticket::Ticket;
use std::collections::BTreeMap;

/// The lobby gets one in this many of all connections.
const SHARE: usize = 4;

/// The unauthenticated connections of one core. Bounded by `places`.
#[derive(Debug)]
pub(super) struct UnauthenticatedConnections {
    /// Keys of the connections, sorted by time of arrival (ms of uptime) and client id.
    waiting: BTreeMap<(i64, u64), usize>,
    places: usize,
}

impl UnauthenticatedConnections {
    /// Creates the lobby of one core; it has at least one place.
    pub(super) fn new(clients_max: usize, cores: u16) -> UnauthenticatedConnections {
        let places = (clients_max / SHARE / usize::from(cores)).max(1);
        UnauthenticatedConnections { waiting: BTreeMap::new(), places }
    }

    /// Adds a connection that has waited since `since_ms`.
    pub(super) fn enter(&mut self, connection: Ticket, since_ms: i64) {
        self.waiting.insert((since_ms, connection.client), connection.key);
    }

    /// Removes a connection that is authenticated or closed.
    pub(super) fn leave(&mut self, connection: Ticket, since_ms: i64) {
        self.waiting.remove(&(since_ms, connection.client));
    }

    /// Returns the connection that arrived first, and when.
    pub(super) fn oldest(&self) -> Option<(Ticket, i64)> {
        let (&(since_ms, client), &key) = self.waiting.first_key_value()?;
        Some((Ticket { key, client }, since_ms))
    }

    /// Returns the connection to evict when there are more than the lobby has places for.
    pub(super) fn surplus(&self) -> Option<Ticket> {
        let oldest = self.oldest().filter(|_| self.waiting.len() > self.places);
        oldest.map(|(ticket, _)| ticket)
    }

    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ticket(client: u64) -> Ticket {
        Ticket { key: usize::try_from(client).expect("small") + 100, client }
    }

    #[test]
    fn the_oldest_gives_way_when_there_are_more_than_places() {
        let mut lobby = UnauthenticatedConnections::new(16, 2);
        lobby.enter(ticket(2), 5);
        lobby.enter(ticket(1), 5);
        assert_eq!((lobby.surplus(), lobby.len()), (None, 2));
        lobby.enter(ticket(3), 4);
        assert_eq!(lobby.surplus(), Some(ticket(3)));
        lobby.leave(ticket(3), 4);
        assert_eq!((lobby.surplus(), lobby.oldest()), (None, Some((ticket(1), 5))));
    }

    #[test]
    fn there_is_always_a_place() {
        let mut lobby = UnauthenticatedConnections::new(1, 8);
        lobby.enter(ticket(1), 0);
        assert_eq!(lobby.surplus(), None);
        lobby.enter(ticket(2), 0);
        assert_eq!(lobby.surplus(), Some(ticket(1)));
    }
}
