//! Settings that are wrong, and what to do about them.

use std::net::SocketAddr;

/// A setting that the door cannot use.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum SettingsError {
    /// The door listens nowhere.
    #[error("the Diameter door needs an address: set listen or tls_listen in [diameter]")]
    NoAddress,
    /// TLS has an address and no certificate, or the other way round.
    #[error(
        "tls_listen needs tls_cert and tls_key, and they need tls_listen: set all three, or none"
    )]
    TlsPair,
    /// A text is no DiameterIdentity.
    #[error(
        "{0} = {1:?} is no name of a host or realm: write 1 to 255 letters, digits, dots and hyphens"
    )]
    Identity(&'static str, String),
    /// The host has no dot, so that it has no realm.
    #[error("origin_host = {0:?} has no realm after its first dot: set origin_realm")]
    NoRealm(String),
    /// Two rules are of one peer.
    #[error("the peer {0:?} is there twice: leave one of both [[diameter.peers]] out")]
    PeerTwice(String),
    /// A rule names a certificate, and none is asked for.
    #[error(
        "the peer {0:?} has a certificate, which is not asked for: set tls_ca, or leave certificate out"
    )]
    NoClientCa(String),
    /// A list is too long.
    #[error("{0} has more than {1} items")]
    TooMany(&'static str, usize),
    /// The watchdog's interval is out of range.
    #[error("watchdog_s must be from {0} to {1}")]
    Watchdog(u64, u64),
    /// A bound is out of range.
    #[error("{name} must be from {min} to {max}")]
    Bound {
        /// Its name.
        name: &'static str,
        /// Its least value.
        min: usize,
        /// Its greatest value.
        max: usize,
    },
    /// Every client that reaches the address could charge accounts.
    #[error(
        "refusing to open the Diameter door on {0} to everybody: anyone who reaches this address could \
         charge every account. Name the peers in [[diameter.peers]], or set unknown_peers = \"admit\""
    )]
    OpenAccess(SocketAddr),
}
