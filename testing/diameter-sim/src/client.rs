//! A client: a gateway with a connection to each door, which it fails over between.

use crate::lane::Lane;
use crate::link::LinkId;
use crate::side::Side;
use scurry_diameter::peer::PeerSettings;
use std::sync::Arc;

/// A connection of a client.
pub(crate) struct ClientSide {
    pub(crate) link: LinkId,
    pub(crate) side: Side,
}

pub(crate) struct Client {
    pub(crate) host: String,
    pub(crate) settings: Arc<PeerSettings>,
    /// Its connection to each door.
    pub(crate) sides: [Option<ClientSide>; 2],
    /// When it connects again to each door.
    pub(crate) connect_ms: [u64; 2],
    /// The door that it asks if both connections are in order.
    pub(crate) primary: usize,
    pub(crate) lanes: Vec<Lane>,
    /// Subscribers.
    pub(crate) imsis: Vec<String>,
    /// Subscribers that are known by numbers, which may move.
    pub(crate) numbers: Vec<String>,
    /// Requests without an answer.
    pub(crate) open: Vec<usize>,
}

impl Client {
    pub(crate) fn is_usable(&self, door: usize) -> bool {
        self.sides[door].as_ref().is_some_and(|own| own.side.watch.is_usable())
    }

    /// Returns the door of a connection.
    pub(crate) fn door_of(&self, link: LinkId) -> Option<usize> {
        let is_it = |side: &Option<ClientSide>| side.as_ref().is_some_and(|own| own.link == link);
        self.sides.iter().position(is_it)
    }

    /// Returns the first of these doors, or the other one, that can be asked now.
    pub(crate) fn way(&self, first: usize) -> Option<usize> {
        [first, 1 - first].into_iter().find(|door| self.is_usable(*door))
    }
}
