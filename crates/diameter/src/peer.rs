//! One connection between two peers: capabilities, watchdog, disconnection, and requests of our own. RFC 6733, 5 and
//! RFC 3539. A [`Peer`] has no socket and no clock; its host gives it messages and times.

mod admission;
mod base_message;
mod capabilities;
mod close_reason;
mod counts;
mod event;
mod ids;
mod machine;
mod own_requests;
mod settings;
mod watchdog;

pub use admission::{Admission, PeerIdentity};
pub use base_message::DisconnectCause;
pub use close_reason::CloseReason;
pub use counts::{CommandKind, PeerCounts, PeerError};
pub use event::Event;
pub use ids::Start;
pub use machine::{Peer, RequestRefusal};
pub use own_requests::Token;
pub use settings::PeerSettings;
pub use watchdog::{Watchdog, WatchdogAction, WatchdogState};
