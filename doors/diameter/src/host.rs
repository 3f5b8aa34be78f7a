//! What all connections of a door share.

use crate::answerer::Answerer;
use crate::clock::{Clock, utc_ms};
use crate::destination::Destination;
use crate::metrics::DoorMetrics;
use crate::peer_table::PeerTable;
use crate::random::Random;
use crate::refusal_log::RefusalLog;
use crate::settings::Settings;
use scurry_diameter::Origin;
use scurry_diameter::peer::{PeerSettings, Start};
use std::net::IpAddr;
use std::sync::Arc;
use tokio::sync::Semaphore;

/// Longest message before capabilities are exchanged, bytes.
const FIRST_MESSAGE_LEN_MAX: usize = 8 * 1024;

/// The host of all connections.
pub(crate) struct Host<A> {
    pub(crate) settings: Settings,
    pub(crate) origin: Origin,
    pub(crate) destination: Destination,
    pub(crate) answerer: Arc<A>,
    pub(crate) peers: Arc<PeerTable>,
    pub(crate) metrics: Arc<DoorMetrics>,
    pub(crate) clock: Clock,
    pub(crate) random: Random,
    /// Handshakes of TLS that have failed.
    pub(crate) refusals: RefusalLog,
    /// Places for connections.
    pub(crate) places: Arc<Semaphore>,
    /// Places for connections that have not exchanged capabilities.
    pub(crate) unidentified: Arc<Semaphore>,
}

impl<A: Answerer> Host<A> {
    pub(crate) fn new(settings: Settings, answerer: Arc<A>, random: Random) -> Host<A> {
        let host = settings.origin_host.clone();
        let peers = PeerTable::new(settings.peers.clone(), settings.unknown_policy());
        Host {
            // Sessions are durable, so there is no Origin-State-Id: RFC 6733, 8.16.
            origin: Origin::new(&host, settings.realm(), None),
            destination: Destination { host, realms: settings.served_realms() },
            answerer,
            peers: Arc::new(peers),
            metrics: Arc::new(DoorMetrics::default()),
            clock: Clock::start(),
            random,
            refusals: RefusalLog::default(),
            places: Arc::new(Semaphore::new(settings.connections_max)),
            unidentified: Arc::new(Semaphore::new(settings.unidentified_max)),
            settings,
        }
    }

    /// Returns the settings of a connection at this address of ours.
    pub(crate) fn peer_settings(&self, local: IpAddr) -> Arc<PeerSettings> {
        let settings = &self.settings;
        PeerSettings {
            addresses: vec![local.to_canonical()],
            watchdog_ms: settings.watchdog_s.saturating_mul(1_000),
            capabilities_ms: settings.capabilities_ms,
            disconnect_ms: settings.disconnect_ms,
            answer_ms: settings.answer_ms,
            first_message_len_max: FIRST_MESSAGE_LEN_MAX,
            message_len_max: settings.message_len_max,
            ..PeerSettings::new(self.origin.clone())
        }
        .into_shared()
    }

    /// Returns what a connection begins with.
    pub(crate) fn start(&self) -> Start {
        Start {
            now_ms: self.clock.now_us() / 1_000,
            jitter_ms: self.random.jitter_ms(),
            wall_s: utc_ms() / 1_000,
            random: self.random.bits(),
        }
    }
}
