//! One peer, as operators see it.

use crate::own_counts::OwnCounts;
use crate::peer_totals::PeerTotals;
use scurry_diameter::peer::{CommandKind, PeerError};
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

impl PeerState {
    /// All states.
    pub const ALL: [PeerState; 4] =
        [PeerState::Absent, PeerState::Open, PeerState::Suspect, PeerState::Closing];

    /// Returns its name, for labels of metrics.
    pub const fn name(self) -> &'static str {
        match self {
            PeerState::Absent => "absent",
            PeerState::Open => "open",
            PeerState::Suspect => "suspect",
            PeerState::Closing => "closing",
        }
    }
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
    pub totals: PeerTotals,
    /// What became of this server's requests to it, or over its connection.
    pub own: OwnCounts,
    /// Why its last connection has ended or was refused.
    pub last_error: Option<String>,
    /// Since when it is connected or absent, ms since 1970.
    pub since_ms: u64,
}

impl PeerView {
    /// Returns the number of its requests, by the name of the command.
    pub fn requests(&self) -> impl Iterator<Item = (&'static str, u64)> {
        CommandKind::ALL.map(CommandKind::name).into_iter().zip(self.totals.counts.requests_in)
    }

    /// Returns the number of this server's requests to it, by the name of the command.
    pub fn own_requests(&self) -> impl Iterator<Item = (&'static str, u64)> {
        CommandKind::ALL.map(CommandKind::name).into_iter().zip(self.totals.counts.requests_out)
    }

    /// Returns what went wrong on its connections, by name.
    pub fn errors(&self) -> impl Iterator<Item = (&'static str, u64)> {
        PeerError::ALL.map(PeerError::name).into_iter().zip(self.totals.counts.errors)
    }
}
