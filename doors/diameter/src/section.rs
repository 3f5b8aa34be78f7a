//! The section `[diameter]` of a settings file.

use crate::peer_rule::PeerRule;
use crate::settings::{Settings, UnknownPeers};
use crate::settings_error::SettingsError;
use scurry_tls::TlsSettings;
use std::net::SocketAddr;
use std::path::PathBuf;

/// Origin-Host of a door without settings.
const HOST_DEFAULT: &str = "scurry.localdomain";
/// Timeout of a TLS handshake, ms.
const HANDSHAKE_MS_MAX: i64 = 10_000;

/// `[diameter]` as it is written. What is absent has the default of [`Settings::new`].
#[derive(Clone, Debug, Default, serde::Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table of settings, [diameter]")]
pub struct DiameterSection {
    listen: Option<SocketAddr>,
    tls_listen: Option<SocketAddr>,
    sctp_listen: Option<SocketAddr>,
    tls_cert: Option<PathBuf>,
    tls_key: Option<PathBuf>,
    tls_ca: Option<PathBuf>,
    origin_host: Option<String>,
    origin_realm: Option<String>,
    #[serde(default)]
    realms: Vec<String>,
    unknown_peers: Option<UnknownPeers>,
    watchdog_s: Option<u64>,
    answer_ms: Option<u64>,
    capabilities_ms: Option<u64>,
    message_ms: Option<u64>,
    write_ms: Option<u64>,
    connections_max: Option<usize>,
    unidentified_max: Option<usize>,
    requests_max: Option<usize>,
    output_len_max: Option<usize>,
    #[serde(default)]
    peers: Vec<PeerRule>,
}

impl DiameterSection {
    /// Reports whether it has an address to listen on.
    pub fn has_address(&self) -> bool {
        self.listen.is_some() || self.tls_listen.is_some() || self.sctp_listen.is_some()
    }

    /// Returns the rules of its peers.
    pub fn peers(&self) -> &[PeerRule] {
        &self.peers
    }

    /// Returns the settings, which are checked. `listen` is an address without TLS that goes before the section's.
    ///
    /// # Errors
    /// The first setting that is wrong, in words.
    pub fn into_settings(self, listen: Option<SocketAddr>) -> Result<Settings, SettingsError> {
        let tls = match (self.tls_cert, self.tls_key) {
            (Some(certificate), Some(key)) => Some(TlsSettings {
                certificate,
                key,
                client_ca: self.tls_ca,
                listen: None,
                handshake_ms_max: HANDSHAKE_MS_MAX,
            }),
            (None, None) if self.tls_ca.is_none() => None,
            _ => return Err(SettingsError::TlsPair),
        };
        let defaults = Settings::new(self.origin_host.as_deref().unwrap_or(HOST_DEFAULT));
        let settings = Settings {
            listen: listen.or(self.listen),
            tls_listen: self.tls_listen,
            sctp_listen: self.sctp_listen,
            tls,
            origin_realm: self.origin_realm,
            realms: self.realms,
            peers: self.peers,
            unknown_peers: self.unknown_peers,
            watchdog_s: self.watchdog_s.unwrap_or(defaults.watchdog_s),
            answer_ms: self.answer_ms.unwrap_or(defaults.answer_ms),
            capabilities_ms: self.capabilities_ms.unwrap_or(defaults.capabilities_ms),
            message_ms: self.message_ms.unwrap_or(defaults.message_ms),
            write_ms: self.write_ms.unwrap_or(defaults.write_ms),
            connections_max: self.connections_max.unwrap_or(defaults.connections_max),
            unidentified_max: self.unidentified_max.unwrap_or(defaults.unidentified_max),
            requests_max: self.requests_max.unwrap_or(defaults.requests_max),
            output_len_max: self.output_len_max.unwrap_or(defaults.output_len_max),
            ..defaults
        };
        settings.check()?;
        Ok(settings)
    }
}
