//! The certificates of a server as they were when the files were last read. Each new connection uses the latest ones;
//! open connections are not affected by a change.

use crate::pem;
use crate::settings::{TlsError, TlsSettings};
use crate::validity::{CertificatePeers, Expiry, ExpiryWarning};
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::server::WebPkiClientVerifier;
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

/// The server's TLS configuration for new handshakes. Cheap to clone; all clones change together.
#[derive(Clone)]
pub struct Certificates(Arc<Files>);

struct Files {
    settings: TlsSettings,
    protocols: Vec<Vec<u8>>,
    current: RwLock<Current>,
}

/// Contents of the files.
struct Current {
    config: Arc<ServerConfig>,
    /// None where the certificate has no date that can be read.
    expiry: Option<Expiry>,
}

impl Certificates {
    /// Reads the files. `protocols` is the list that ALPN offers.
    ///
    /// # Errors
    /// For files that cannot be used, naming them.
    pub fn read(settings: &TlsSettings, protocols: &[&[u8]]) -> Result<Certificates, TlsError> {
        let protocols: Vec<_> = protocols.iter().map(|protocol| protocol.to_vec()).collect();
        let current = RwLock::new(Current::read(settings, &protocols)?);
        Ok(Certificates(Arc::new(Files { settings: settings.clone(), protocols, current })))
    }

    /// Reads the same files again, for connections that begin from now on. Since the configuration is a new one, no
    /// session is resumed that an earlier client CA has admitted.
    ///
    /// # Errors
    /// For files that cannot be used, naming them: the former contents stay in use.
    pub fn read_again(&self) -> Result<(), TlsError> {
        let fresh = Current::read(&self.0.settings, &self.0.protocols)?;
        *self.0.current.write().unwrap_or_else(PoisonError::into_inner) = fresh;
        Ok(())
    }

    /// Returns the configuration for a connection that begins now.
    pub fn current(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.0.current.read().unwrap_or_else(PoisonError::into_inner).config)
    }

    /// Returns the end of the certificate's validity, or of a certificate between it and its root that ends earlier;
    /// None where there is no date that can be read.
    pub fn expiry(&self) -> Option<Expiry> {
        self.0.current.read().unwrap_or_else(PoisonError::into_inner).expiry
    }

    /// Returns a warning if the certificate has expired or will soon.
    pub fn warning(&self) -> Option<ExpiryWarning> {
        self.expiry()?.warning(&self.0.settings.certificate, CertificatePeers::Clients)
    }

    /// Reports whether clients must show a certificate.
    pub fn demands_certificate(&self) -> bool {
        self.0.settings.client_ca.is_some()
    }
}

impl Current {
    fn read(settings: &TlsSettings, protocols: &[Vec<u8>]) -> Result<Current, TlsError> {
        let provider = Arc::new(ring::default_provider());
        let (certificate, key) = (&settings.certificate, &settings.key);
        let chain = pem::certificates(&pem::read("the certificate", certificate)?, certificate)?;
        let expiry = Expiry::first_of(&chain);
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
        let mut config = builder
            .with_single_cert(chain, private_key)
            .map_err(|error| pem::no_pair(error, certificate, key))?;
        config.alpn_protocols = protocols.to_vec();
        pem::warn_of_readers(key);
        Ok(Current { config: Arc::new(config), expiry })
    }
}

impl fmt::Debug for Certificates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(certificates)")
    }
}
