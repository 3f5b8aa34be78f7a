//! One peer, as operators see it.

use scurry_diameter::peer::PeerCounts;
use std::net::SocketAddr;

/// Whether a peer is connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PeerState {
    /// It is not connected.
    Absent,
    /// Requests and answers go both ways.
    Open,
    /// It does not answer the watchdog.
    Suspect,
    /// Its connection ends.
    Closing,
}

/// One peer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerView {
    /// Its Origin-Host, as it has written it last.
    pub host: String,
    /// Its Origin-Realm; empty before it has connected.
    pub realm: String,
    /// Its address, also that of its last connection.
    pub address: Option<SocketAddr>,
    /// Whether it is connected.
    pub state: PeerState,
    /// True if it is or was connected over TLS.
    pub tls: bool,
    /// Totals of all its connections since the door was opened.
    pub counts: PeerCounts,
    /// Why its last connection has ended or was refused.
    pub last_error: Option<String>,
    /// Since when it is connected or absent, ms since 1970.
    pub since_ms: u64,
}
