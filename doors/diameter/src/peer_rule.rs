//! What the settings say of one peer, and whether a connection fits to it.

use crate::remote::Remote;
use scurry_diameter::ResultCode;
use scurry_diameter::peer::{Admission, PeerIdentity};
use std::net::IpAddr;

/// Most rules, and most peers that are remembered after they have disconnected.
pub(crate) const PEERS_MAX: usize = 1_024;

/// A peer that is known: a `[[diameter.peers]]` of the settings.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PeerRule {
    /// Its Origin-Host, in any case.
    pub host: String,
    /// Its Origin-Realm; any if there is none.
    pub realm: Option<String>,
    /// Addresses that it may connect from; any if there are none.
    #[serde(default)]
    pub addresses: Vec<IpAddr>,
    /// The DNS name in its certificate, where that is not its host. Then it must connect over TLS.
    pub certificate: Option<String>,
    /// True if it must connect over TLS.
    #[serde(default)]
    pub needs_tls: bool,
    /// True if it may have clients asked: its requests for a session (RAR, ASR) go to the session's client.
    #[serde(default)]
    pub may_ask: bool,
}

impl PeerRule {
    /// Returns the refusal of a peer that this rule does not fit, and the reason for the log.
    pub(crate) fn check(
        &self,
        identity: &PeerIdentity,
        remote: &Remote,
    ) -> Result<(), (Admission, &'static str)> {
        let is_other = |realm: &String| !realm.eq_ignore_ascii_case(&identity.realm);
        if self.realm.as_ref().is_some_and(is_other) {
            return Err((Admission::UnknownPeer, "its realm is not that of its rule"));
        }
        if !self.addresses.is_empty() && !self.addresses.contains(&remote.ip()) {
            return Err((Admission::UnknownPeer, "its address is not among those of its rule"));
        }
        if (self.needs_tls || self.certificate.is_some()) && !remote.is_tls {
            let refused = Admission::Refuse(ResultCode::NO_COMMON_SECURITY);
            return Err((refused, "it must connect over TLS"));
        }
        Ok(())
    }
}
