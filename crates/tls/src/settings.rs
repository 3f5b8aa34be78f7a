//! Settings of TLS, and errors about its files.

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
    /// Roots of the certificates that clients must show; None asks for no certificate.
    pub client_ca: Option<PathBuf>,
    /// A second main address, for TLS; None makes the main address and those of the cores speak TLS.
    pub listen: Option<SocketAddr>,
    /// A connection whose handshake takes longer is closed, ms.
    pub handshake_ms_max: i64,
}

/// Files by which the nodes of a group authenticate each other over TLS 1.3, all PEM. Each node shows its certificate
/// and asks for the other's.
#[derive(Clone, Debug)]
pub struct NodeTlsSettings {
    /// The node's certificate, for the address by which others reach it, and those between it and its root.
    pub certificate: PathBuf,
    /// The private key of the certificate: PKCS #8, PKCS #1 or SEC 1.
    pub key: PathBuf,
    /// Roots of the certificates of all nodes.
    pub ca: PathBuf,
}

/// A file of [`TlsSettings`] or [`NodeTlsSettings`] that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// The file cannot be read.
    #[error("cannot read {what} in {path}: {source}. Check the path and who may read it")]
    Read {
        /// Certificate, key or CA.
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
        /// The label of the expected PEM block.
        begin: &'static str,
    },
    /// The key does not belong to the certificate.
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
    /// The TLS library refuses the contents.
    #[error("cannot use {what} in {path}: {source}. Create it again, or give another file")]
    Refused {
        /// Certificate, key or CA.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// The library's error.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}
