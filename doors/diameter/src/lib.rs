//! The door to charging over Diameter (RFC 6733): credit control of RFC 8506, which 3GPP calls Ro and Gy (TS 32.299). It
//! maps each request to one request to a store, and the reply to an answer. It keeps nothing that a restart may lose,
//! so that any number of doors may stand before one store.
#![forbid(unsafe_code)]

mod answerer;
mod charging;
mod clock;
mod code_counts;
mod connection;
mod destination;
mod door;
mod door_view;
mod end;
mod host;
mod latencies;
mod link;
mod listener;
mod log_name;
mod metrics;
mod notices;
mod open_error;
mod own_counts;
mod own_request;
mod peer_rule;
mod peer_table;
mod peer_totals;
mod peer_view;
mod random;
mod refusal_log;
mod remote;
mod section;
mod serving;
mod settings;
mod settings_error;
#[cfg(test)]
mod tests;

pub use charging::client_data::DATA_LEN_MAX;
pub use charging::{Answer, Answering, Charging};
pub use code_counts::CodeCounts;
pub use door::{DiameterDoor, DiameterReloader, open};
pub use door_view::DoorView;
pub use latencies::{LATENCY_BUCKETS, Latencies};
pub use link::ConnectionState;
pub use metrics::{AnswerCounts, ConnectionFault, DoorCounts};
pub use open_error::OpenError;
pub use own_counts::{OutcomeCounts, OwnCounts};
pub use own_request::{OwnRequest, RequestOutcome};
pub use peer_rule::PeerRule;
pub use peer_table::PeerTable;
pub use peer_totals::PeerTotals;
pub use peer_view::{PeerState, PeerView};
pub use scurry_session_notices::NoticeCounts;
pub use section::DiameterSection;
pub use settings::{Settings, UnknownPeers};
pub use settings_error::SettingsError;
