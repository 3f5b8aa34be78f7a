//! What a peer says of itself, and its bounds and times. All connections of a server share them.

use crate::frame::MESSAGE_LEN_MAX;
use crate::header::HEADER_LEN;
use crate::origin::Origin;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

/// Shortest interval of the watchdog, ms: RFC 3539, 3.4.1.
const WATCHDOG_MS_MIN: u64 = 6_000;
/// Most requests of our own that wait for answers on one connection.
const REQUESTS_MAX: usize = 4_096;

/// Settings of peers. [`PeerSettings::into_shared`] moves a value that is out of range to the nearest allowed one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerSettings {
    /// Origin-Host, Origin-Realm and Origin-State-Id of this server.
    pub origin: Origin,
    /// Host-IP-Address; at least one.
    pub addresses: Vec<IpAddr>,
    /// Vendor-Id of this server; 0 for none.
    pub vendor_id: u32,
    /// Product-Name.
    pub product_name: String,
    /// Firmware-Revision.
    pub firmware_revision: Option<u32>,
    /// Supported-Vendor-Id.
    pub supported_vendors: Vec<u32>,
    /// Interval of the watchdog without jitter, ms; at least 6,000. 30,000 by default: RFC 3539.
    pub watchdog_ms: u64,
    /// Time within which capabilities are exchanged, ms. 10,000 by default.
    pub capabilities_ms: u64,
    /// Time within which a peer answers our Disconnect-Peer-Request, ms. 5,000 by default.
    pub disconnect_ms: u64,
    /// Time within which a peer answers our other requests, ms. 10,000 by default.
    pub answer_ms: u64,
    /// Requests of our own that may wait for answers. 1,024 by default.
    pub requests_max: usize,
    /// Longest message before capabilities are exchanged, bytes. 8 KiB by default.
    pub first_message_len_max: usize,
    /// Longest message afterwards, bytes. 64 KiB by default.
    pub message_len_max: usize,
}

impl PeerSettings {
    /// Returns the settings of a server with this origin, and defaults for all else.
    #[must_use]
    pub fn new(origin: Origin) -> PeerSettings {
        PeerSettings {
            origin,
            addresses: vec![IpAddr::V4(Ipv4Addr::LOCALHOST)],
            vendor_id: 0,
            product_name: "Scurry".to_owned(),
            firmware_revision: None,
            supported_vendors: vec![crate::dictionary::VENDOR_3GPP],
            watchdog_ms: 30_000,
            capabilities_ms: 10_000,
            disconnect_ms: 5_000,
            answer_ms: 10_000,
            requests_max: 1_024,
            first_message_len_max: 8 * 1024,
            message_len_max: 64 * 1024,
        }
    }

    /// Returns the settings with every value in its range, as connections share them.
    #[must_use]
    pub fn into_shared(mut self) -> Arc<PeerSettings> {
        self.watchdog_ms = self.watchdog_ms.max(WATCHDOG_MS_MIN);
        self.requests_max = self.requests_max.clamp(1, REQUESTS_MAX);
        self.message_len_max = self.message_len_max.clamp(HEADER_LEN, MESSAGE_LEN_MAX);
        self.first_message_len_max =
            self.first_message_len_max.clamp(HEADER_LEN, self.message_len_max);
        if self.addresses.is_empty() {
            self.addresses.push(IpAddr::V4(Ipv4Addr::UNSPECIFIED));
        }
        Arc::new(self)
    }
}
