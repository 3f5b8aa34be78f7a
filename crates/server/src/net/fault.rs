//! Failures of a peer's TLS, adapter or requests, and wrong passwords. Peers can cause them as often as they like, so
//! many of them share one line of the log.

use scurry_tls::tls_words;
use std::net::SocketAddr;

/// Why a connection was closed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Fault {
    /// The handshake has failed.
    #[error("TLS handshake failed: {error}{hint}", error = tls_words(.0), hint = hint(.0))]
    Handshake(rustls::Error),
    /// Bytes after the handshake that were not from this peer.
    #[error("TLS session failed: {error}", error = tls_words(.0))]
    Session(rustls::Error),
    /// The handshake was not done in time.
    #[error("a TLS handshake took too long")]
    Late,
    /// The connection over an adapter has failed, because of the peer or the device.
    #[error("{0}")]
    Adapter(String),
    /// The peer speaks TLS on a port without it.
    #[error("a TLS client on a port without TLS")]
    NotSpoken,
    /// The peer speaks HTTP. A browser does so for any web page that tells it to.
    #[error(
        "possible attack: HTTP on a RESP port, perhaps from a web page; nothing of it was executed"
    )]
    Http,
    /// A request that is longer than a setting allows.
    #[error("a client's request was refused and its connection closed: {0}")]
    TooLong(scurry_resp::ProtocolError),
    /// The client did not authenticate in time.
    #[error("a client did not authenticate in time (auth_ms_max)")]
    NotIn,
    /// The connection was evicted from the lobby before it was authenticated.
    #[error("too many clients that have not authenticated: the oldest give way")]
    GaveWay,
}

fn hint(error: &rustls::Error) -> &'static str {
    match error {
        rustls::Error::InvalidMessage(_) => " (does the client speak TLS on this port?)",
        _ => "",
    }
}

impl Fault {
    /// Reports whether an operator should look at it: no client of ours does it by mistake.
    fn is_grave(&self) -> bool {
        matches!(self, Fault::Http)
    }
}

/// Longest part of a user name from a peer that the log shows, bytes.
const NAME_LEN_MAX: usize = 64;

/// Faults of a core that are not logged yet: the number of each kind, and the last one, or the last grave one.
#[derive(Default)]
pub(crate) struct Faults {
    /// Number of connections that were closed.
    count: u64,
    last: Option<(SocketAddr, Fault)>,
    /// Number of AUTH and HELLO with a wrong user or password.
    logins: u64,
    /// Peer and user of the last failed login.
    last_login: Option<(SocketAddr, String)>,
}

impl Faults {
    pub(crate) fn note(&mut self, peer: SocketAddr, fault: Fault) {
        tracing::debug!(%peer, "{fault}");
        self.count += 1;
        // A grave fault is logged even when others follow it.
        if fault.is_grave() || !self.last.as_ref().is_some_and(|(_, last)| last.is_grave()) {
            self.last = Some((peer, fault));
        }
    }

    /// Notes a wrong user or password; the name may be any bytes.
    pub(crate) fn note_login(&mut self, peer: SocketAddr, name: &[u8]) {
        let user = name[..name.len().min(NAME_LEN_MAX)].escape_ascii().to_string();
        tracing::debug!(%peer, user, "wrong user or password");
        self.logins += 1;
        self.last_login = Some((peer, user));
    }

    /// Reports whether there is nothing to log.
    pub(crate) fn is_empty(&self) -> bool {
        self.count + self.logins == 0
    }

    /// Logs the faults, one line per kind.
    pub(crate) fn tell(&mut self) {
        if let Some((peer, user)) = self.last_login.take() {
            let failed = std::mem::take(&mut self.logins);
            tracing::warn!(failed, %peer, user, "wrong user or password");
        }
        if let Some((peer, fault)) = self.last.take() {
            let closed = std::mem::take(&mut self.count);
            if fault.is_grave() {
                tracing::warn!(closed, %peer, "{fault}");
            } else {
                tracing::info!(closed, %peer, "{fault}");
            }
        }
    }
}
