//! Settings of the sink.

use crate::{HttpTarget, SigningKeys};
use http::{HeaderMap, HeaderName, HeaderValue};
use rustls::crypto::ring;
use rustls::{ClientConfig, RootCertStore};
use scurry_tls::{TlsError, pem};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use thiserror::Error;

/// Headers that the sink sets itself.
const OWN_HEADERS: [&str; 9] = [
    "host",
    "content-type",
    "content-length",
    "transfer-encoding",
    "connection",
    "expect",
    "webhook-id",
    "webhook-timestamp",
    "webhook-signature",
];
/// Most further headers of a request.
const HEADERS_MAX: usize = 32;

/// Settings of the sink. [`HttpSettings::new`] has the defaults.
#[derive(Clone, Debug)]
pub struct HttpSettings {
    /// The receiver.
    pub target: HttpTarget,
    /// Most events of a batch. None: one event in each request, which is no batch.
    pub batch: Option<usize>,
    /// Further headers of each request.
    pub headers: HeaderMap,
    /// Secrets by which requests are signed.
    pub keys: Option<SigningKeys>,
    /// Files of TLS.
    pub tls: HttpTls,
    /// Timeout of a request with its connection.
    pub patience: Duration,
    /// File of events that the receiver refuses. None: shipping ends at the first.
    pub dead_letters: Option<DeadLetterSettings>,
    /// Source of the events. None: `/scurry/` and the store.
    pub source: Option<String>,
    /// Begin of the types; the name of the event follows.
    pub type_prefix: String,
    /// Kind of the identity that is the subject. None, or if an event does not have it: the account.
    pub subject_identity: Option<String>,
}

/// Where events go that the receiver refuses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeadLetterSettings {
    /// The file.
    pub path: PathBuf,
    /// How often an event is tried that the receiver fails on (5xx). None: for ever.
    pub attempts: Option<u32>,
}

/// Files of TLS, all PEM.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HttpTls {
    /// Roots of the receiver's certificate. None: those of the system.
    pub ca: Option<PathBuf>,
    /// The certificate of this client and its private key.
    pub client: Option<(PathBuf, PathBuf)>,
}

/// Settings that cannot be used.
#[derive(Debug, Error)]
pub enum SettingsError {
    /// A file of TLS.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The TLS library refuses its own versions.
    #[error("TLS is not available: {0}")]
    Library(rustls::Error),
    /// The system gives no thread or timer.
    #[error("cannot start the client of HTTP: {0}")]
    Runtime(std::io::Error),
    /// A header that is none. The text does not show its value.
    #[error(
        "a header is a name, a colon and a value, as in 'Authorization: Bearer ...': correct {0:?}"
    )]
    Header(String),
    /// A header that the sink sets.
    #[error("the header {0} is set by the shipper: leave it out")]
    OwnHeader(String),
    /// More headers than [`HEADERS_MAX`].
    #[error("there are more than {HEADERS_MAX} headers: leave some out")]
    Headers,
}

impl HttpSettings {
    /// Returns the settings of a receiver with the defaults for everything else.
    pub fn new(target: HttpTarget) -> HttpSettings {
        HttpSettings {
            target,
            batch: None,
            headers: HeaderMap::new(),
            keys: None,
            tls: HttpTls::default(),
            patience: Duration::from_secs(10),
            dead_letters: None,
            source: None,
            type_prefix: "scurry.".to_owned(),
            subject_identity: None,
        }
    }

    /// Adds a header from its line, `NAME: VALUE`.
    ///
    /// # Errors
    /// When it is none, or one that the sink sets.
    pub fn add_header(&mut self, line: &str) -> Result<(), SettingsError> {
        let (name, value) = line.split_once(':').unwrap_or((line, "\0"));
        let fault = || SettingsError::Header(name.chars().take(40).collect());
        let key: HeaderName = name.trim().parse().map_err(|_| fault())?;
        let mut value: HeaderValue = value.trim().parse().map_err(|_| fault())?;
        if OWN_HEADERS.contains(&key.as_str()) {
            return Err(SettingsError::OwnHeader(key.to_string()));
        }
        if self.headers.len() >= HEADERS_MAX {
            return Err(SettingsError::Headers);
        }
        value.set_sensitive(true);
        self.headers.append(key, value);
        Ok(())
    }

    /// Reads the files of TLS.
    pub(crate) fn tls_config(&self) -> Result<Arc<ClientConfig>, SettingsError> {
        let roots = match &self.tls.ca {
            Some(path) => pem::roots("the CA", &pem::read("the CA", path)?, path)?,
            None if self.target.has_tls => pem::system_roots(),
            None => RootCertStore::empty(),
        };
        let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(SettingsError::Library)?
            .with_root_certificates(roots);
        let config = match &self.tls.client {
            None => builder.with_no_client_auth(),
            Some((certificate, key)) => {
                let what = "the certificate";
                let chain = pem::certificates(&pem::read(what, certificate)?, certificate)?;
                let private_key = pem::private_key(&pem::read("the private key", key)?, key)?;
                pem::warn_of_readers(key);
                builder
                    .with_client_auth_cert(chain, private_key)
                    .map_err(|error| pem::no_pair(error, certificate, key))?
            }
        };
        Ok(Arc::new(config))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_checked_and_their_values_not_shown() {
        let mut settings = HttpSettings::new("http://a/".parse().expect("a URL"));
        settings.add_header("Authorization: Bearer abc").expect("a header");
        settings.add_header("X-A:1").expect("a header");
        assert_eq!(settings.headers["x-a"], "1");
        assert!(!format!("{settings:?}").contains("abc"), "a secret");
        for (line, word) in [
            ("Bearer secret", "Bearer secret"),
            (": secret", ""),
            ("X: a\u{1}", "X"),
            ("a b: secret", "a b"),
        ] {
            let error = settings.add_header(line).expect_err(line).to_string();
            assert!(error.contains(&format!("correct {word:?}")), "{error}");
        }
        let error = settings.add_header("Webhook-Id: 1").expect_err("one of ours");
        assert_eq!(error.to_string(), "the header webhook-id is set by the shipper: leave it out");
    }
}
