//! The other end of a connection, as the socket and TLS know it.

use rustls::client::verify_server_name;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::server::ParsedCertificate;
use std::net::{IpAddr, SocketAddr};

/// The other end of a connection.
#[derive(Clone, Debug)]
pub(crate) struct Remote {
    pub(crate) address: SocketAddr,
    pub(crate) is_tls: bool,
    /// The certificate that the peer has shown, which TLS has verified; None if none was asked for.
    pub(crate) certificate: Option<CertificateDer<'static>>,
}

impl Remote {
    /// Returns its address. One of IPv4 that is written as IPv6 is of IPv4, as in the rules.
    pub(crate) fn ip(&self) -> IpAddr {
        self.address.ip().to_canonical()
    }

    /// Reports whether the peer may have this name: its certificate, if it had to show one, is valid for it.
    pub(crate) fn may_be(&self, name: &str) -> bool {
        let Some(certificate) = &self.certificate else { return true };
        let Ok(name) = ServerName::try_from(name) else { return false };
        // An IP address in a certificate is no proof of a host's name.
        let ServerName::DnsName(_) = name else { return false };
        ParsedCertificate::try_from(certificate)
            .is_ok_and(|parsed| verify_server_name(&parsed, &name).is_ok())
    }
}
