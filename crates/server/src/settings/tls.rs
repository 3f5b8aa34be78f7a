//! What a server is told of TLS.

use std::net::SocketAddr;
use std::path::PathBuf;

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
