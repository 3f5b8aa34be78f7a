//! Who a node is, for the others: its certificate, its key and the CA of the group, read anew for each connection, so
//! that files which were replaced count from the next connection on.

use crate::net::tls::pem;
use crate::net::tls::validity::{Expiry, ExpiryGauge, Peers};
use crate::net::tls_words::tls_words;
use crate::settings::{NodeTlsSettings, TlsError};
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;
use rustls::time_provider::{DefaultTimeProvider, TimeProvider};
use rustls::version::TLS13;
use rustls::{CertificateError, ClientConfig, ServerConfig};
use std::fmt;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

const CERTIFICATE: &str = "the certificate for nodes";
const KEY: &str = "the private key for nodes";
const CA: &str = "the CA of the group";

/// The files, and what was in them.
pub(crate) struct Credentials {
    files: NodeTlsSettings,
    /// The address by which other nodes reach this one.
    ip: IpAddr,
    kept: Mutex<Kept>,
    /// End of the certificate's validity, for who shows it.
    gauge: Arc<ExpiryGauge>,
}

struct Kept {
    texts: Texts,
    sides: Sides,
    expiry: Option<Expiry>,
    /// The fault of files that were replaced, as it was logged.
    said: Option<String>,
}

/// Bytes of the files: certificate, key, CA.
type Texts = [Vec<u8>; 3];

/// The parts of both sides in a handshake.
#[derive(Clone, Debug)]
pub(super) struct Sides {
    pub(super) dialler: Arc<ClientConfig>,
    pub(super) door: Arc<ServerConfig>,
}

impl Credentials {
    /// Reads the files, which must be what other nodes accept of the node at this address.
    /// The gauge shows the end of the certificate's validity from now on.
    pub(crate) fn read(
        files: &NodeTlsSettings,
        ip: IpAddr,
        gauge: Arc<ExpiryGauge>,
    ) -> Result<Credentials, TlsError> {
        let texts = texts(files)?;
        let parts = Parts::of(files, &texts)?;
        parts.check(files, ip)?;
        pem::warn_of_readers(&files.key);
        let kept = Kept::new(texts, &parts, files)?;
        kept.show_expiry(files, &gauge);
        Ok(Credentials { files: files.clone(), ip, kept: Mutex::new(kept), gauge })
    }

    /// Files that others may refuse.
    #[cfg(test)]
    pub(super) fn unchecked(files: &NodeTlsSettings, ip: IpAddr) -> Credentials {
        let texts = texts(files).expect("files");
        let parts = Parts::of(files, &texts).expect("certificates");
        let kept = Mutex::new(Kept::new(texts, &parts, files).expect("a pair"));
        Credentials { files: files.clone(), ip, kept, gauge: Arc::default() }
    }

    /// The newest that can be used. Files that cannot be, such as a new certificate beside the old key, leave those
    /// before them in use.
    pub(super) fn sides(&self) -> Sides {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        match self.newer(&kept.texts) {
            Ok(None) => kept.said = None,
            Ok(Some(newer)) => {
                let certificate = self.files.certificate.display();
                tracing::info!("connections between nodes begin with the new {certificate}");
                newer.show_expiry(&self.files, &self.gauge);
                *kept = newer;
            }
            Err(error) => {
                let words = error.to_string();
                if kept.said.as_ref() != Some(&words) {
                    tracing::warn!(
                        "{words}. Connections between nodes begin with what was there before"
                    );
                    kept.said = Some(words);
                }
            }
        }
        kept.sides.clone()
    }

    /// News of the files; none where they have not changed.
    fn newer(&self, before: &Texts) -> Result<Option<Kept>, TlsError> {
        let texts = texts(&self.files)?;
        if texts == *before {
            return Ok(None);
        }
        let parts = Parts::of(&self.files, &texts)?;
        parts.check(&self.files, self.ip)?;
        Kept::new(texts, &parts, &self.files).map(Some)
    }
}

impl Kept {
    fn new(texts: Texts, parts: &Parts, files: &NodeTlsSettings) -> Result<Kept, TlsError> {
        let (sides, expiry) = (parts.sides(files)?, Expiry::first_of(&parts.chain));
        Ok(Kept { texts, sides, expiry, said: None })
    }

    /// Shows the end of the certificate's validity, and warns of one that is near.
    fn show_expiry(&self, files: &NodeTlsSettings, gauge: &ExpiryGauge) {
        gauge.set(self.expiry);
        let warning =
            self.expiry.and_then(|expiry| expiry.warning(&files.certificate, Peers::Nodes));
        if let Some(warning) = warning {
            warning.log();
        }
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(certificate of a node)")
    }
}

fn texts(files: &NodeTlsSettings) -> Result<Texts, TlsError> {
    Ok([
        pem::read(CERTIFICATE, &files.certificate)?,
        pem::read(KEY, &files.key)?,
        pem::read(CA, &files.ca)?,
    ])
}

/// The name of a node in its certificate.
pub(super) fn name_of(ip: IpAddr) -> ServerName<'static> {
    ServerName::IpAddress(ip.to_canonical().into())
}

/// The contents of the files.
struct Parts {
    provider: Arc<CryptoProvider>,
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
    /// How certificates of nodes that were dialled are looked at.
    of_doors: Arc<WebPkiServerVerifier>,
    /// The same for those of nodes that dial.
    of_diallers: Arc<dyn ClientCertVerifier>,
}

impl Parts {
    fn of(files: &NodeTlsSettings, [certificate, key, ca]: &Texts) -> Result<Parts, TlsError> {
        let provider = Arc::new(ring::default_provider());
        let roots = Arc::new(pem::roots(CA, ca, &files.ca)?);
        let of_doors =
            WebPkiServerVerifier::builder_with_provider(Arc::clone(&roots), Arc::clone(&provider));
        let of_diallers = WebPkiClientVerifier::builder_with_provider(roots, Arc::clone(&provider));
        let refused = |error| pem::refused(CA, &files.ca, error);
        Ok(Parts {
            provider,
            chain: pem::certificates(certificate, &files.certificate)?,
            key: pem::private_key(key, &files.key)?,
            of_doors: of_doors.build().map_err(refused)?,
            of_diallers: of_diallers.build().map_err(refused)?,
        })
    }

    fn sides(&self, files: &NodeTlsSettings) -> Result<Sides, TlsError> {
        let refused = |error| pem::no_pair(error, &files.certificate, &files.key);
        let dialler = ClientConfig::builder_with_provider(Arc::clone(&self.provider))
            .with_protocol_versions(&[&TLS13])
            .map_err(refused)?
            .with_webpki_verifier(Arc::clone(&self.of_doors))
            .with_client_auth_cert(self.chain.clone(), self.key.clone_key())
            .map_err(refused)?;
        let mut door = ServerConfig::builder_with_provider(Arc::clone(&self.provider))
            .with_protocol_versions(&[&TLS13])
            .map_err(refused)?
            .with_client_cert_verifier(Arc::clone(&self.of_diallers))
            .with_single_cert(self.chain.clone(), self.key.clone_key())
            .map_err(refused)?;
        // Nothing to resume a session with, so each handshake looks at certificates. The side that was dialled says no more
        // than its answer: whoever has dialled takes bytes after it for the end of the connection.
        door.send_tls13_tickets = 0;
        Ok(Sides { dialler: Arc::new(dialler), door: Arc::new(door) })
    }

    /// Looks at the certificate as other nodes will: signed by the CA, valid now, for both sides and for this address.
    fn check(&self, files: &NodeTlsSettings, ip: IpAddr) -> Result<(), TlsError> {
        let refused = |error: rustls::Error| {
            let why = match error {
                rustls::Error::InvalidCertificate(
                    CertificateError::UnknownIssuer | CertificateError::BadSignature,
                ) => format!("the CA of the group in {} has not signed it", files.ca.display()),
                other => format!("the other nodes would refuse it at {ip}: {}", tls_words(&other)),
            };
            pem::refused(CERTIFICATE, &files.certificate, why)
        };
        let Some((own, between)) = self.chain.split_first() else { return Ok(()) };
        let name = name_of(ip);
        let now = DefaultTimeProvider.current_time().ok_or(rustls::Error::FailedToGetCurrentTime);
        let now = now.map_err(refused)?;
        self.of_doors.verify_server_cert(own, between, &name, &[], now).map_err(refused)?;
        self.of_diallers.verify_client_cert(own, between, now).map_err(refused)?;
        Ok(())
    }
}
