//! What a server is told of TLS, and why TLS cannot be spoken with these files.

use std::io;
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

/// A file of [`crate::TlsSettings`] that does not serve.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// The file cannot be read.
    #[error("cannot read {what} in {path}: {source}. Check the path and who may read it")]
    Read {
        /// Certificate, key or client CA.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The file holds something else.
    #[error("{path} holds no {what} in PEM: it must have a line -----BEGIN {begin}-----")]
    Empty {
        /// Certificate or private key.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// The line that is looked for.
        begin: &'static str,
    },
    /// The two files are not a pair.
    #[error(
        "the private key in {key} does not belong to the certificate in {certificate}: give the \
         key that the certificate was made for, and the server's own certificate first in its file"
    )]
    Mismatch {
        /// File of the certificate.
        certificate: PathBuf,
        /// File of the key.
        key: PathBuf,
    },
    /// The library refuses it.
    #[error("cannot use {what} in {path}: {source}. Make it anew, or give another file")]
    Refused {
        /// Certificate, key or client CA.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// The library's error.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}
