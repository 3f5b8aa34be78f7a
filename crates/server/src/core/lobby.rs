//! Connections that are not in: their handshake is not done, or their user has not shown a password.
//! Anybody can make as many as the network takes, so they have a part of the places only, for a time
//! only, and what they hold is counted apart from the store's memory.
//!
//! When their part is full the oldest gives way to the newest. To refuse the newest instead would let
//! whoever fills the lobby keep everybody out for as long as the time lasts; as it is, who wants to come
//! in needs a round trip or two, and is out of the lobby before it has filled anew.

use crate::ticket::Ticket;
use std::collections::BTreeMap;

/// The part of all connections that may be in the lobby is one of so many.
const SHARE: usize = 4;

/// The connections of one core that are not in. Bounded by its places.
#[derive(Debug)]
pub(super) struct Lobby {
    /// By when they came, ms of uptime, and by the client.
    waiting: BTreeMap<(i64, u64), usize>,
    places: usize,
}

impl Lobby {
    /// The part of one of so many cores; there is always a place.
    pub(super) fn new(clients_max: usize, cores: u16) -> Lobby {
        let places = (clients_max / SHARE / usize::from(cores)).max(1);
        Lobby { waiting: BTreeMap::new(), places }
    }

    /// Takes in a connection that waits since then.
    pub(super) fn enter(&mut self, connection: Ticket, since_ms: i64) {
        self.waiting.insert((since_ms, connection.client), connection.key);
    }

    /// Lets a connection go that is in, or gone.
    pub(super) fn leave(&mut self, connection: Ticket, since_ms: i64) {
        self.waiting.remove(&(since_ms, connection.client));
    }

    /// The one that came first, and when.
    pub(super) fn oldest(&self) -> Option<(Ticket, i64)> {
        let (&(since_ms, client), &key) = self.waiting.first_key_value()?;
        Some((Ticket { key, client }, since_ms))
    }

    /// The connection that has to give way, because there are more than the lobby has room for.
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
        let mut lobby = Lobby::new(16, 2);
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
        let mut lobby = Lobby::new(1, 8);
        lobby.enter(ticket(1), 0);
        assert_eq!(lobby.surplus(), None);
        lobby.enter(ticket(2), 0);
        assert_eq!(lobby.surplus(), Some(ticket(1)));
    }
}
