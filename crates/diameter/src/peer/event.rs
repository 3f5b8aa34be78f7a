//! What a peer tells its host.

use super::admission::PeerIdentity;
use super::close_reason::CloseReason;
use super::own_requests::Token;
use super::watchdog::WatchdogState;
use crate::header::Header;

/// An event. Those of one call are in the order in which they happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// Capabilities were exchanged: requests follow.
    Up(Box<PeerIdentity>),
    /// The message is a request for the application. The host answers it, in any order with others.
    Request(Header),
    /// The message is the answer to a request of ours.
    Answer {
        /// The name that the host gave the request.
        token: Token,
        /// The header of the answer.
        header: Header,
    },
    /// A request of ours gets no answer: it took too long, or the connection has ended.
    Unanswered {
        /// The name that the host gave the request.
        token: Token,
    },
    /// The watchdog has changed its state: in `Suspect` no request of ours is sent, in `Okay` again.
    Watchdog(WatchdogState),
    /// The connection ends: the host sends the output, then closes it. This is the last event.
    Close(CloseReason),
}
