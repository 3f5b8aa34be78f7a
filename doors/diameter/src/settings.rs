//! Settings of the door: where it listens, who it is, which peers it admits, and its bounds.

use crate::peer_rule::{PEERS_MAX, PeerRule};
use crate::settings_error::SettingsError;
use scurry_tls::TlsSettings;
use std::net::SocketAddr;

/// Shortest interval of the watchdog, s: RFC 3539, 3.4.1.
const WATCHDOG_S_MIN: u64 = 6;
/// Longest interval of the watchdog, s.
const WATCHDOG_S_MAX: u64 = 86_400;
/// Longest name of a host or realm, bytes.
const IDENTITY_LEN_MAX: usize = 255;
/// Most realms that are served.
const REALMS_MAX: usize = 64;
/// Greatest value of each bound.
const BOUND_MAX: usize = 1 << 30;

/// What happens to a peer without a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum UnknownPeers {
    /// It is refused with 3010.
    Refuse,
    /// It is admitted.
    Admit,
}

/// What happens to a peer without a rule, by whether there are rules at all. Rules may be replaced later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct UnknownPolicy {
    pub(crate) without_rules: UnknownPeers,
    pub(crate) with_rules: UnknownPeers,
}

/// Settings of a door. [`Settings::new`] has the defaults.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Address for connections without TLS; port 0 takes a free one.
    pub listen: Option<SocketAddr>,
    /// Address for connections with TLS.
    pub tls_listen: Option<SocketAddr>,
    /// Address for connections over SCTP; only in a build with the feature `sctp`.
    pub sctp_listen: Option<SocketAddr>,
    /// Certificate and key. With a client CA, peers must show a certificate that is valid for their Origin-Host.
    pub tls: Option<TlsSettings>,
    /// Origin-Host of this server.
    pub origin_host: String,
    /// Origin-Realm of this server; the part of the host after its first dot by default.
    pub origin_realm: Option<String>,
    /// Realms whose requests are served beside those of the own realm.
    pub realms: Vec<String>,
    /// Rules of the peers that are known.
    pub peers: Vec<PeerRule>,
    /// What happens to a peer without a rule. By default it is refused, and admitted if there are no rules and the door
    /// listens on this machine only.
    pub unknown_peers: Option<UnknownPeers>,
    /// Interval of the watchdog, s; at least 6.
    pub watchdog_s: u64,
    /// Time within which a peer sends its capabilities, ms.
    pub capabilities_ms: u64,
    /// Time within which a peer answers our Disconnect-Peer-Request, ms.
    pub disconnect_ms: u64,
    /// Time within which a peer answers our other requests, ms.
    pub answer_ms: u64,
    /// Time within which a message that has begun is complete, ms.
    pub message_ms: u64,
    /// Time for which a peer may read nothing of what waits for it, ms.
    pub write_ms: u64,
    /// Time that requests under way have when the door closes, ms.
    pub drain_ms: u64,
    /// Most connections.
    pub connections_max: usize,
    /// Most connections that have not exchanged capabilities.
    pub unidentified_max: usize,
    /// Most requests under way on a connection; those above are answered 3004.
    pub requests_max: usize,
    /// Bytes that wait for a peer which does not read, above which no more of its requests are taken.
    pub output_len_max: usize,
    /// Longest message, bytes.
    pub message_len_max: usize,
}

impl Settings {
    /// Returns the defaults of a server with this Origin-Host. It listens nowhere yet.
    pub fn new(origin_host: &str) -> Settings {
        Settings {
            listen: None,
            tls_listen: None,
            sctp_listen: None,
            tls: None,
            origin_host: origin_host.to_owned(),
            origin_realm: None,
            realms: Vec::new(),
            peers: Vec::new(),
            unknown_peers: None,
            watchdog_s: 30,
            capabilities_ms: 10_000,
            disconnect_ms: 5_000,
            answer_ms: 10_000,
            message_ms: 30_000,
            write_ms: 30_000,
            drain_ms: 5_000,
            connections_max: 1_024,
            unidentified_max: 256,
            requests_max: 4_096,
            output_len_max: 256 * 1024,
            message_len_max: 64 * 1024,
        }
    }

    /// Returns Origin-Realm of this server.
    pub fn realm(&self) -> &str {
        let of_host = || self.origin_host.split_once('.').map_or("", |(_, realm)| realm);
        self.origin_realm.as_deref().unwrap_or_else(of_host)
    }

    /// Returns the realms whose requests are served.
    pub(crate) fn served_realms(&self) -> Vec<String> {
        self.realms.iter().cloned().chain([self.realm().to_owned()]).collect()
    }

    /// Returns what happens to peers without rules.
    pub(crate) fn unknown_policy(&self) -> UnknownPolicy {
        let is_local = self.addresses().all(|address| address.ip().is_loopback());
        let default = if is_local { UnknownPeers::Admit } else { UnknownPeers::Refuse };
        UnknownPolicy {
            without_rules: self.unknown_peers.unwrap_or(default),
            with_rules: self.unknown_peers.unwrap_or(UnknownPeers::Refuse),
        }
    }

    /// Returns the addresses that the door listens on.
    pub(crate) fn addresses(&self) -> impl Iterator<Item = SocketAddr> {
        self.listen.into_iter().chain(self.tls_listen).chain(self.sctp_listen)
    }

    /// Checks all settings.
    ///
    /// # Errors
    /// The first setting that is wrong, in words.
    pub fn check(&self) -> Result<(), SettingsError> {
        if self.addresses().next().is_none() {
            return Err(SettingsError::NoAddress);
        }
        if self.tls_listen.is_some() != self.tls.is_some() {
            return Err(SettingsError::TlsPair);
        }
        self.check_names()?;
        self.check_bounds()?;
        let is_unguarded = self.peers.is_empty() && self.unknown_peers.is_none();
        match self.addresses().find(|address| !address.ip().is_loopback()) {
            Some(address) if is_unguarded => Err(SettingsError::OpenAccess(address)),
            _ => Ok(()),
        }
    }

    fn check_names(&self) -> Result<(), SettingsError> {
        let wrong = |name, value: &str| Err(SettingsError::Identity(name, value.to_owned()));
        if !is_identity(&self.origin_host) {
            return wrong("origin_host", &self.origin_host);
        }
        if self.realm().is_empty() {
            return Err(SettingsError::NoRealm(self.origin_host.clone()));
        }
        if self.realms.len() > REALMS_MAX {
            return Err(SettingsError::TooMany("realms", REALMS_MAX));
        }
        for (name, value) in std::iter::once(("origin_realm", self.realm()))
            .chain(self.realms.iter().map(|realm| ("realms", realm.as_str())))
        {
            if !is_identity(value) {
                return wrong(name, value);
            }
        }
        check_peers(&self.peers, self.tls.as_ref().is_some_and(|tls| tls.client_ca.is_some()))
    }

    fn check_bounds(&self) -> Result<(), SettingsError> {
        if !(WATCHDOG_S_MIN..=WATCHDOG_S_MAX).contains(&self.watchdog_s) {
            return Err(SettingsError::Watchdog(WATCHDOG_S_MIN, WATCHDOG_S_MAX));
        }
        let ms = |value| usize::try_from(value).unwrap_or(usize::MAX);
        for (name, value, min) in [
            ("answer_ms", ms(self.answer_ms), 1),
            ("capabilities_ms", ms(self.capabilities_ms), 1),
            ("message_ms", ms(self.message_ms), 1),
            ("write_ms", ms(self.write_ms), 1),
            ("connections_max", self.connections_max, 1),
            ("unidentified_max", self.unidentified_max, 1),
            ("requests_max", self.requests_max, 1),
            ("output_len_max", self.output_len_max, 1),
            ("message_len_max", self.message_len_max, 1_024),
        ] {
            if !(min..=BOUND_MAX).contains(&value) {
                return Err(SettingsError::Bound { name, min, max: BOUND_MAX });
            }
        }
        Ok(())
    }
}

/// Checks the rules of peers. `has_client_ca` tells whether peers show certificates.
///
/// # Errors
/// The first rule that is wrong, in words.
pub(crate) fn check_peers(peers: &[PeerRule], has_client_ca: bool) -> Result<(), SettingsError> {
    if peers.len() > PEERS_MAX {
        return Err(SettingsError::TooMany("peers", PEERS_MAX));
    }
    let mut hosts = std::collections::BTreeSet::new();
    for peer in peers {
        let realm = peer.realm.as_ref().map(|realm| ("realm", realm));
        for (name, value) in std::iter::once(("host", &peer.host)).chain(realm) {
            if !is_identity(value) {
                return Err(SettingsError::Identity(name, value.clone()));
            }
        }
        if peer.certificate.is_some() && !has_client_ca {
            return Err(SettingsError::NoClientCa(peer.host.clone()));
        }
        if !hosts.insert(peer.host.to_ascii_lowercase()) {
            return Err(SettingsError::PeerTwice(peer.host.clone()));
        }
    }
    Ok(())
}

/// Reports whether the text is a DiameterIdentity: a name of a host or realm, RFC 6733, 4.3.1.
fn is_identity(text: &str) -> bool {
    let is_of_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
    (1..=IDENTITY_LEN_MAX).contains(&text.len()) && text.bytes().all(is_of_name)
}
