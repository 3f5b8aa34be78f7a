//! Reads certificates and keys once, and begins TLS on each accepted socket of a port.

use super::Tls;
use crate::settings::{TlsError, TlsSettings};
use mio::net::TcpStream;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig, ServerConnection};
use std::fmt;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Permissions that a private key should not give: any to those who are neither owner nor group.
const OTHERS: u32 = 0o007;

/// The server's side of every handshake. Cheap to clone: it goes with a connection to its core.
#[derive(Clone)]
pub(crate) struct Handshaker {
    config: Arc<ServerConfig>,
    /// Clients must show a certificate.
    pub(crate) demands_certificate: bool,
}

impl Handshaker {
    /// Reads the files.
    pub(crate) fn new(settings: &TlsSettings) -> Result<Handshaker, TlsError> {
        let provider = Arc::new(ring::default_provider());
        let chain = certificates("the certificate", &settings.certificate)?;
        let key = private_key(&settings.key)?;
        let refused = |what, path: &Path, source: Box<dyn std::error::Error + Send + Sync>| {
            TlsError::Refused { what, path: path.to_owned(), source }
        };
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(|error| refused("the certificate", &settings.certificate, error.into()))?;
        let builder = match &settings.client_ca {
            None => builder.with_no_client_auth(),
            Some(path) => {
                let mut roots = RootCertStore::empty();
                for root in certificates("the client CA", path)? {
                    roots
                        .add(root)
                        .map_err(|error| refused("the client CA", path, error.into()))?;
                }
                let verifier =
                    WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider)
                        .build()
                        .map_err(|error| refused("the client CA", path, error.into()))?;
                builder.with_client_cert_verifier(verifier)
            }
        };
        let config = builder.with_single_cert(chain, key).map_err(|error| match error {
            rustls::Error::InconsistentKeys(_) => TlsError::Mismatch {
                certificate: settings.certificate.clone(),
                key: settings.key.clone(),
            },
            rustls::Error::InvalidCertificate(_) => {
                refused("the certificate", &settings.certificate, error.into())
            }
            _ => refused("the private key", &settings.key, error.into()),
        })?;
        warn_of_readers(&settings.key);
        let demands_certificate = settings.client_ca.is_some();
        Ok(Handshaker { config: Arc::new(config), demands_certificate })
    }

    /// A transport that has not shaken hands yet.
    pub(crate) fn begin(&self, stream: TcpStream) -> io::Result<Tls> {
        let session = ServerConnection::new(Arc::clone(&self.config)).map_err(io::Error::other)?;
        Ok(Tls::new(stream, session))
    }
}

impl TlsSettings {
    /// Configuration for other doors of the process: the same certificate, the same demands.
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

impl fmt::Debug for Handshaker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(TLS)")
    }
}

fn read(what: &'static str, path: &Path) -> Result<Vec<u8>, TlsError> {
    std::fs::read(path).map_err(|source| TlsError::Read { what, path: path.to_owned(), source })
}

fn certificates(what: &'static str, path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let text = read(what, path)?;
    let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
    match all {
        Ok(all) if !all.is_empty() => Ok(all),
        _ => Err(empty("certificate", path, "CERTIFICATE")),
    }
}

fn private_key(path: &Path) -> Result<PrivateKeyDer<'static>, TlsError> {
    let text = read("the private key", path)?;
    PrivateKeyDer::from_pem_slice(&text).map_err(|_| empty("private key", path, "PRIVATE KEY"))
}

fn empty(what: &'static str, path: &Path, begin: &'static str) -> TlsError {
    TlsError::Empty { what, path: PathBuf::from(path), begin }
}

fn warn_of_readers(key: &Path) {
    let Ok(metadata) = std::fs::metadata(key) else { return };
    if metadata.permissions().mode() & OTHERS != 0 {
        let key = key.display();
        tracing::warn!("every user of this machine may read the private key {key}: chmod 600 it");
    }
}
