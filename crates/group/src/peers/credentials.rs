//! How a node proves its identity to the others: its certificate, its key and the CA of the group. The files are read
//! again for each connection, so that replaced files are used from the next connection on.

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;
use rustls::time_provider::{DefaultTimeProvider, TimeProvider};
use rustls::version::TLS13;
use rustls::{CertificateError, ClientConfig, ServerConfig};
use scurry_tls::{
    CertificatePeers, Expiry, ExpiryGauge, NodeTlsSettings, TlsError, pem, tls_words,
};
use std::fmt;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

const CERTIFICATE: &str = "the certificate for nodes";
const KEY: &str = "the private key for nodes";
const CA: &str = "the CA of the group";

/// The paths of the files, and what was last read from them.
pub struct Credentials {
    files: NodeTlsSettings,
    /// The IP at which other nodes reach this one. The certificate must name it.
    ip: IpAddr,
    kept: Mutex<KeptCredentials>,
    /// When the certificate expires, for metrics.
    gauge: Arc<ExpiryGauge>,
}

struct KeptCredentials {
    texts: PemTexts,
    sides: TlsSides,
    expiry: Option<Expiry>,
    /// The last error of replaced files that was logged. None while they are valid.
    said: Option<String>,
}

/// Contents of the files: certificate, key, CA.
type PemTexts = [Vec<u8>; 3];

/// TLS settings for the two sides of a handshake.
#[derive(Clone, Debug)]
pub(super) struct TlsSides {
    pub(super) dialler: Arc<ClientConfig>,
    pub(super) door: Arc<ServerConfig>,
}

impl Credentials {
    /// Reads the files, and checks that other nodes would accept them from a node at this address. From now on the
    /// gauge shows when the certificate expires.
    ///
    /// # Errors
    /// For files that cannot be used, naming them.
    pub fn read(
        files: &NodeTlsSettings,
        ip: IpAddr,
        gauge: Arc<ExpiryGauge>,
    ) -> Result<Credentials, TlsError> {
        let texts = texts(files)?;
        let parts = CredentialParts::parse(files, &texts)?;
        parts.check(files, ip)?;
        pem::warn_of_readers(&files.key);
        let kept = KeptCredentials::new(texts, &parts, files)?;
        kept.show_expiry(files, &gauge);
        Ok(Credentials { files: files.clone(), ip, kept: Mutex::new(kept), gauge })
    }

    /// Reads the files without checking whether other nodes would accept them.
    #[cfg(test)]
    pub(super) fn unchecked(files: &NodeTlsSettings, ip: IpAddr) -> Credentials {
        let texts = texts(files).expect("files");
        let parts = CredentialParts::parse(files, &texts).expect("certificates");
        let kept = Mutex::new(KeptCredentials::new(texts, &parts, files).expect("a pair"));
        Credentials { files: files.clone(), ip, kept, gauge: Arc::default() }
    }

    /// Returns the settings of the newest usable files. While the files cannot be used, such as a new certificate with
    /// the old key, the previous ones stay in use.
    pub(super) fn sides(&self) -> TlsSides {
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

    /// Reads the files again. None if they have not changed.
    fn newer(&self, before: &PemTexts) -> Result<Option<KeptCredentials>, TlsError> {
        let texts = texts(&self.files)?;
        if texts == *before {
            return Ok(None);
        }
        let parts = CredentialParts::parse(&self.files, &texts)?;
        parts.check(&self.files, self.ip)?;
        KeptCredentials::new(texts, &parts, &self.files).map(Some)
    }
}

impl KeptCredentials {
    fn new(
        texts: PemTexts,
        parts: &CredentialParts,
        files: &NodeTlsSettings,
    ) -> Result<KeptCredentials, TlsError> {
        let (sides, expiry) = (parts.sides(files)?, Expiry::first_of(&parts.chain));
        Ok(KeptCredentials { texts, sides, expiry, said: None })
    }

    /// Sets the gauge to the end of validity, and logs a warning if that is near.
    fn show_expiry(&self, files: &NodeTlsSettings, gauge: &ExpiryGauge) {
        gauge.set(self.expiry);
        let warning = self
            .expiry
            .and_then(|expiry| expiry.warning(&files.certificate, CertificatePeers::Nodes));
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

fn texts(files: &NodeTlsSettings) -> Result<PemTexts, TlsError> {
    Ok([
        pem::read(CERTIFICATE, &files.certificate)?,
        pem::read(KEY, &files.key)?,
        pem::read(CA, &files.ca)?,
    ])
}

/// Returns the name that the certificate of a node at this IP must have.
pub(super) fn name_of(ip: IpAddr) -> ServerName<'static> {
    ServerName::IpAddress(ip.to_canonical().into())
}

/// The parsed files, with the means to check other certificates.
struct CredentialParts {
    provider: Arc<CryptoProvider>,
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
    /// Checks certificates of nodes that this one has dialled.
    of_doors: Arc<WebPkiServerVerifier>,
    /// Checks certificates of nodes that have dialled this one.
    of_diallers: Arc<dyn ClientCertVerifier>,
}

impl CredentialParts {
    fn parse(
        files: &NodeTlsSettings,
        [certificate, key, ca]: &PemTexts,
    ) -> Result<CredentialParts, TlsError> {
        let provider = Arc::new(ring::default_provider());
        let roots = Arc::new(pem::roots(CA, ca, &files.ca)?);
        let of_doors =
            WebPkiServerVerifier::builder_with_provider(Arc::clone(&roots), Arc::clone(&provider));
        let of_diallers = WebPkiClientVerifier::builder_with_provider(roots, Arc::clone(&provider));
        let refused = |error| pem::refused(CA, &files.ca, error);
        Ok(CredentialParts {
            provider,
            chain: pem::certificates(certificate, &files.certificate)?,
            key: pem::private_key(key, &files.key)?,
            of_doors: of_doors.build().map_err(refused)?,
            of_diallers: of_diallers.build().map_err(refused)?,
        })
    }

    fn sides(&self, files: &NodeTlsSettings) -> Result<TlsSides, TlsError> {
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
        // Without tickets no session is resumed, so each handshake checks certificates. Also, the side that was dialled
        // must send nothing after its answer: the dialling side takes any further bytes for the end of the connection.
        door.send_tls13_tickets = 0;
        Ok(TlsSides { dialler: Arc::new(dialler), door: Arc::new(door) })
    }

    /// Checks the certificate as other nodes will: signed by the CA, valid now, usable for both sides, and for this
    /// address.
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
