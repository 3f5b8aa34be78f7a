//! Who sent a request, for a core that executes it on behalf of another.

use crate::ticket::Sender;
use scurry_resp::Protocol;
use std::net::SocketAddr;

/// The sender of a request, as far as a core that executes it for another needs to know.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Caller {
    pub(crate) protocol: Protocol,
    pub(crate) peer: Option<SocketAddr>,
    /// None for a client that does not track.
    pub(crate) tracker: Option<Tracker>,
}

/// A client that tracks, as far as cores that execute its requests need to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tracker {
    pub(crate) sender: Sender,
    /// What the request reads is tracked.
    pub(crate) tracks: bool,
    /// It is not told what it has changed itself.
    pub(crate) noloop: bool,
}
