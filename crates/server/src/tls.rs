//! TLS on the RESP ports: files that say who the server is, and the transport that speaks it.

mod error;
mod handshaker;
mod stream;

pub use error::TlsError;
pub(crate) use handshaker::Handshaker;
pub(crate) use stream::Tls;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

/// How the server speaks TLS 1.2 and 1.3. All files are PEM.
#[derive(Clone, Debug)]
pub struct TlsSettings {
    /// The server's certificate and those between it and its root, in this order.
    pub certificate: PathBuf,
    /// The private key of the certificate: PKCS #8, PKCS #1 or SEC 1.
    pub key: PathBuf,
    /// Roots of the certificates that clients must show; none asks for no certificate.
    pub client_ca: Option<PathBuf>,
    /// A second main address, for TLS; none makes the main address and those of the cores speak TLS.
    pub listen: Option<SocketAddr>,
    /// A connection whose handshake takes longer is closed, ms.
    pub handshake_ms_max: i64,
}

impl TlsSettings {
    /// What other doors of the process speak TLS with: the same certificate, the same demands.
    /// `protocols` is what ALPN offers.
    ///
    /// # Errors
    /// For files that cannot be used, naming them.
    pub fn config(&self, protocols: &[&[u8]]) -> Result<Arc<rustls::ServerConfig>, TlsError> {
        let mut config = rustls::ServerConfig::clone(&Handshaker::new(self)?.config);
        config.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
        Ok(Arc::new(config))
    }
}

/// True for the beginning of a TLS handshake: what a client sends that takes a plain port for
/// one with TLS. No command begins so.
pub(crate) fn is_client_hello(input: &[u8]) -> bool {
    // ContentType handshake, then the major version: RFC 8446 section 5.1.
    input.starts_with(&[0x16, 0x03])
}
