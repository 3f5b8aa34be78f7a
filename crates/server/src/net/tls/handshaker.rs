//! Reads certificates and keys once, and begins TLS on each accepted socket of a port.

use super::{Tls, pem};
use crate::settings::{TlsError, TlsSettings};
use mio::net::TcpStream;
use rustls::crypto::ring;
use rustls::server::WebPkiClientVerifier;
use rustls::{ServerConfig, ServerConnection};
use std::fmt;
use std::io;
use std::sync::Arc;

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
        let (certificate, key) = (&settings.certificate, &settings.key);
        let chain = pem::certificates(&pem::read("the certificate", certificate)?, certificate)?;
        let private_key = pem::private_key(&pem::read("the private key", key)?, key)?;
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(|error| pem::refused("the certificate", certificate, error))?;
        let builder = match &settings.client_ca {
            None => builder.with_no_client_auth(),
            Some(path) => {
                let what = "the client CA";
                let roots = Arc::new(pem::roots(what, &pem::read(what, path)?, path)?);
                let verifier = WebPkiClientVerifier::builder_with_provider(roots, provider)
                    .build()
                    .map_err(|error| pem::refused(what, path, error))?;
                builder.with_client_cert_verifier(verifier)
            }
        };
        let config = builder
            .with_single_cert(chain, private_key)
            .map_err(|error| pem::no_pair(error, certificate, key))?;
        pem::warn_of_readers(key);
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
