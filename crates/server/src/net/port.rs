//! A port of the server: the keys that it serves, its protocol, and whether it may listen without authentication.

use crate::net::tls::Handshaker;
use crate::settings::{Settings, StartError};
use crate::users::Roles;
use std::net::SocketAddr;

/// Kinds of ports that clients connect to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PortKind {
    /// The main port: every key is served, here or by another core.
    Main,
    /// A core's own port: only its keys are served, as by a node of a cluster.
    Core,
}

/// The port of a connection, with its protocol. A copy goes with the connection to the core that serves it.
#[derive(Clone, Debug)]
pub(crate) struct Port {
    pub(crate) kind: PortKind,
    /// None for plain TCP.
    pub(crate) tls: Option<Handshaker>,
    /// The roles of a connection from within this process; None for others.
    pub(crate) inside: Option<Roles>,
}

impl Port {
    /// Refuses to listen where anyone could spend balances: on an address that is reachable from outside this machine,
    /// clients must have to show a password or a certificate.
    pub(crate) fn check_access(
        &self,
        address: SocketAddr,
        settings: &Settings,
    ) -> Result<(), StartError> {
        let demands_certificate = self.tls.as_ref().is_some_and(|tls| tls.demands_certificate);
        let is_guarded = !settings.users.is_open() || demands_certificate;
        if is_guarded || address.ip().is_loopback() || settings.open_access_allowed {
            return Ok(());
        }
        Err(StartError::OpenAccess(address))
    }
}
