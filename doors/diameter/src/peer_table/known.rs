//! One peer in the table, with its connection if it has one.

use crate::clock::utc_ms;
use crate::link::{ConnectionState, Link};
use crate::own_counts::OwnCounts;
use crate::own_request::Posted;
use crate::peer_totals::PeerTotals;
use crate::peer_view::{PeerState, PeerView};
use scurry_diameter::peer::PeerIdentity;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::sync::mpsc;

/// The connection of a peer.
#[derive(Debug)]
pub(super) struct Connected {
    pub(super) link: Arc<Link>,
    pub(super) requests: mpsc::Sender<Posted>,
    pub(super) state_id: Option<u32>,
    pub(super) is_relay: bool,
}

impl Connected {
    /// Reports whether this connection ends for another one of the same peer: it is not in order any more, or the peer
    /// has restarted in between.
    pub(super) fn gives_way(&self, other: &PeerIdentity) -> bool {
        let has_restarted =
            matches!((self.state_id, other.state_id), (Some(own), Some(other)) if own < other);
        match self.link.state() {
            ConnectionState::Suspect | ConnectionState::Closing => true,
            ConnectionState::Handshake
            | ConnectionState::WaitCapabilities
            | ConnectionState::Open => has_restarted,
        }
    }
}

/// A peer that is known.
#[derive(Debug)]
pub(super) struct Known {
    pub(super) host: String,
    pub(super) realm: String,
    pub(super) address: Option<SocketAddr>,
    pub(super) tls: bool,
    pub(super) connected: Option<Connected>,
    /// Totals of the connections that have ended.
    pub(super) totals: PeerTotals,
    /// What became of requests to it.
    pub(super) own: OwnCounts,
    pub(super) last_error: Option<String>,
    pub(super) since_ms: u64,
}

impl Known {
    pub(super) fn absent(host: &str) -> Known {
        Known {
            host: host.to_owned(),
            realm: String::new(),
            address: None,
            tls: false,
            connected: None,
            totals: PeerTotals::default(),
            own: OwnCounts::default(),
            last_error: None,
            since_ms: utc_ms(),
        }
    }

    /// Returns the totals of all its connections.
    pub(super) fn all_totals(&self) -> PeerTotals {
        let mut totals = self.totals.clone();
        if let Some(connected) = &self.connected {
            totals.add(&connected.link.totals());
        }
        totals
    }

    pub(super) fn view(&self) -> PeerView {
        let state = self.connected.as_ref().map(|connected| connected.link.state());
        PeerView {
            host: self.host.clone(),
            realm: self.realm.clone(),
            address: self.address,
            state: match state {
                None => PeerState::Absent,
                Some(ConnectionState::Suspect) => PeerState::Suspect,
                Some(ConnectionState::Closing) => PeerState::Closing,
                Some(
                    ConnectionState::Handshake
                    | ConnectionState::WaitCapabilities
                    | ConnectionState::Open,
                ) => PeerState::Open,
            },
            tls: self.tls,
            totals: self.all_totals(),
            own: self.own.clone(),
            last_error: self.last_error.clone(),
            since_ms: self.since_ms,
        }
    }
}
