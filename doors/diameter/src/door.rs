//! The door as its server sees it.

use crate::charging::Charging;
use crate::door_view::DoorView;
use crate::metrics::DoorCounts;
use crate::open_error::OpenError;
use crate::peer_rule::PeerRule;
use crate::peer_table::PeerTable;
use crate::serving::Serving;
use crate::settings::{Settings, check_peers};
use crate::settings_error::SettingsError;
use scurry_service::Service;
use scurry_service_table::ServiceTable;
use scurry_session_notices::{NoticeCounters, NoticesThread};
use scurry_tls::Certificates;
use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::runtime::Handle;

/// An open door, which serves until it is closed or dropped.
pub struct DiameterDoor {
    serving: Serving,
    charging: Arc<Charging>,
    notices: Arc<NoticeCounters>,
    _notices_thread: NoticesThread,
}

/// Opens the door, on a thread of its own. `store` makes a store; it is called once for the thread that charges, and once
/// for the one that follows events. Tasks of a store run on the thread that it is made for.
///
/// # Errors
/// When a setting is wrong or the system refuses. The error says what to do about it.
pub fn open(
    settings: Settings,
    table: ServiceTable,
    store: impl Fn(&Handle) -> Arc<dyn Service>,
) -> Result<DiameterDoor, OpenError> {
    let mut made = None;
    let serving = Serving::open(settings, |runtime| {
        let charging = Arc::new(Charging::new(store(runtime), table));
        Arc::clone(made.insert(charging))
    })?;
    let charging = made.unwrap_or_else(|| unreachable!("an open door has its charging"));
    let notices = Arc::new(NoticeCounters::default());
    let (peers, counters) = (Arc::clone(&serving.peers), Arc::clone(&notices));
    let thread = NoticesThread::start(store, peers, counters).map_err(OpenError::Threads)?;
    Ok(DiameterDoor { serving, charging, notices, _notices_thread: thread })
}

impl DiameterDoor {
    /// Returns the address for connections without TLS.
    pub fn address(&self) -> Option<SocketAddr> {
        self.serving.address
    }

    /// Returns the address for connections with TLS.
    pub fn tls_address(&self) -> Option<SocketAddr> {
        self.serving.tls_address
    }

    /// Returns its certificates, so that the caller can reload them. None without TLS.
    pub fn certificates(&self) -> Option<Certificates> {
        self.serving.certificates.clone()
    }

    /// Returns the table of its peers.
    pub fn peers(&self) -> Arc<PeerTable> {
        Arc::clone(&self.serving.peers)
    }

    /// Returns what an operator sees of it.
    pub fn view(&self) -> DoorView {
        DoorView {
            metrics: Arc::clone(&self.serving.metrics),
            peers: self.peers(),
            notices: Arc::clone(&self.notices),
        }
    }

    /// Returns the counters. Those of peers are in the table of peers.
    pub fn counts(&self) -> DoorCounts {
        self.serving.metrics.snapshot()
    }

    /// Returns what replaces the table of services and the rules of peers while the door serves.
    pub fn reloader(&self) -> DiameterReloader {
        let (charging, peers) = (Arc::clone(&self.charging), self.peers());
        DiameterReloader { charging, peers, certificates: self.certificates() }
    }

    /// Takes no new connections, answers the requests under way, asks all peers to disconnect, and closes. It takes a
    /// few seconds at most.
    pub fn close(self) {
        self.serving.close();
    }
}

/// Replaces what an open door charges by, and which peers it admits.
pub struct DiameterReloader {
    charging: Arc<Charging>,
    peers: Arc<PeerTable>,
    certificates: Option<Certificates>,
}

impl DiameterReloader {
    /// Charges later requests by another table, and judges peers that connect from now on by other rules. Connections
    /// that are open stay.
    ///
    /// # Errors
    /// The first rule that is wrong; then nothing is replaced.
    pub fn replace(&self, table: ServiceTable, peers: Vec<PeerRule>) -> Result<(), SettingsError> {
        let certificates = self.certificates.as_ref();
        check_peers(&peers, certificates.is_some_and(Certificates::demands_certificate))?;
        self.peers.replace_rules(peers);
        self.charging.replace_table(table);
        Ok(())
    }
}

impl fmt::Debug for DiameterDoor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DiameterDoor").field("serving", &self.serving).finish_non_exhaustive()
    }
}
