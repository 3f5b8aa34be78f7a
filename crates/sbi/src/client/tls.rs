//! TLS of a client: whose certificates it trusts, and the certificate that it shows.

use rustls::ClientConfig;
use rustls::crypto::ring;
use scurry_tls::{TlsError, pem};
use std::path::PathBuf;
use std::sync::Arc;

/// What ALPN offers, in the order of preference.
pub(crate) const HTTP2: &[u8] = b"h2";
const HTTP1: &[u8] = b"http/1.1";

/// Files of a client, all PEM.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClientTlsFiles {
    /// Roots of the certificates that peers show; without one, those of the system.
    pub ca: Option<PathBuf>,
    /// The certificate that is shown to peers which ask for one, and those between it and its root.
    pub certificate: Option<PathBuf>,
    /// The private key of the certificate.
    pub key: Option<PathBuf>,
}

impl ClientTlsFiles {
    /// Reads the files.
    ///
    /// # Errors
    /// For a file that cannot be used, naming it.
    pub(crate) fn config(&self) -> Result<Arc<ClientConfig>, ClientTlsError> {
        let roots = match &self.ca {
            Some(path) => {
                let what = "the CA";
                pem::roots(what, &pem::read(what, path)?, path)?
            }
            None => pem::system_roots(),
        };
        let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(ClientTlsError::Library)?
            .with_root_certificates(roots);
        let mut config = match (&self.certificate, &self.key) {
            (None, None) => builder.with_no_client_auth(),
            (Some(certificate), Some(key)) => {
                let chain =
                    pem::certificates(&pem::read("the certificate", certificate)?, certificate)?;
                let private_key = pem::private_key(&pem::read("the private key", key)?, key)?;
                pem::warn_of_readers(key);
                builder
                    .with_client_auth_cert(chain, private_key)
                    .map_err(|error| pem::no_pair(error, certificate, key))?
            }
            _ => return Err(ClientTlsError::Pair),
        };
        config.alpn_protocols = vec![HTTP2.to_vec(), HTTP1.to_vec()];
        Ok(Arc::new(config))
    }
}

/// Files of a client that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ClientTlsError {
    /// A certificate without a key, or the other way round.
    #[error(
        "the certificate of a client needs its private key, and the key its certificate: give both, or none"
    )]
    Pair,
    /// A file cannot be used.
    #[error(transparent)]
    File(#[from] TlsError),
    /// The TLS library has no versions.
    #[error("TLS is not available: {0}")]
    Library(rustls::Error),
}
