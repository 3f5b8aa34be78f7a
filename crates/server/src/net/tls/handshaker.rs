//! Begins TLS on each accepted socket of a port.

use super::Tls;
use mio::net::TcpStream;
use rustls::ServerConnection;
use scurry_tls::{Certificates, TlsError, TlsSettings};
use std::fmt;
use std::io;

/// The server's side of every handshake. Cheap to clone: it goes with a connection to its core.
#[derive(Clone)]
pub(crate) struct Handshaker {
    pub(crate) certificates: Certificates,
    /// Clients must show a certificate.
    pub(crate) demands_certificate: bool,
}

impl Handshaker {
    /// Reads the files.
    pub(crate) fn new(settings: &TlsSettings) -> Result<Handshaker, TlsError> {
        let certificates = Certificates::read(settings, &[])?;
        let demands_certificate = certificates.demands_certificate();
        Ok(Handshaker { certificates, demands_certificate })
    }

    /// Creates a transport before its handshake.
    pub(crate) fn begin(&self, stream: TcpStream) -> io::Result<Tls> {
        let session =
            ServerConnection::new(self.certificates.current()).map_err(io::Error::other)?;
        Ok(Tls::new(stream, session))
    }
}

impl fmt::Debug for Handshaker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(TLS)")
    }
}
