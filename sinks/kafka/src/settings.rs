//! Which brokers, and how they are reached.

use crate::fault::Fault;
use krafka::Kafka;
use krafka::auth::{AuthConfig, TlsConfig};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long a broker may take to answer.
const REQUEST: Duration = Duration::from_secs(10);
/// How long a broker may take to accept a connection.
const CONNECT: Duration = Duration::from_secs(5);

/// Which brokers, and where the messages go.
#[derive(Clone, Debug)]
pub struct KafkaSettings {
    /// Some of the brokers, each HOST:PORT.
    pub brokers: Vec<String>,
    /// Topic of the events.
    pub topic: String,
    /// Whether the topic may have events of other stores too.
    pub shared: bool,
    /// Topics to create if they are missing; none to fail then.
    pub create: Option<NewTopics>,
    /// TLS and credentials.
    pub security: Security,
}

/// Topics to create.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewTopics {
    /// Partitions of the topic of events.
    pub partitions: u16,
    /// Copies of each partition; none for the default of the brokers.
    pub replicas: Option<u16>,
}

/// TLS and credentials.
#[derive(Clone, Debug, Default)]
pub struct Security {
    /// Whether connections are encrypted.
    pub tls: bool,
    /// Certificates that brokers are checked by; none for those of the public authorities.
    pub ca: Option<PathBuf>,
    /// Certificate and key to show to the brokers.
    pub certificate: Option<(PathBuf, PathBuf)>,
    /// Credentials to show to the brokers.
    pub credentials: Option<Credentials>,
}

/// Name and password.
#[derive(Clone)]
pub struct Credentials {
    /// How they are shown.
    pub mechanism: Mechanism,
    /// Name of the user.
    pub user: String,
    /// Password of the user.
    pub password: String,
}

/// How credentials are shown: a mechanism of SASL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mechanism {
    /// As they are.
    Plain,
    /// A proof by SHA-256.
    ScramSha256,
    /// A proof by SHA-512.
    ScramSha512,
}

impl std::fmt::Debug for Credentials {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Credentials").field("user", &self.user).finish_non_exhaustive()
    }
}

impl KafkaSettings {
    /// Returns the topic of the positions.
    pub(crate) fn positions(&self) -> String {
        format!("{}.positions", self.topic)
    }

    /// Connects to the brokers.
    pub(crate) async fn connect(&self) -> Result<Kafka, Fault> {
        let builder = Kafka::builder(self.brokers.join(","))
            .client_id("scurry-ship")
            .request_timeout(REQUEST)
            .connect_timeout(CONNECT)
            .security(self.security.config());
        Ok(builder.connect().await?)
    }
}

impl Security {
    fn config(&self) -> AuthConfig {
        let config = match &self.credentials {
            None => AuthConfig::plaintext(),
            Some(Credentials { mechanism, user, password }) => match mechanism {
                Mechanism::Plain => AuthConfig::sasl_plain(user, password),
                Mechanism::ScramSha256 => AuthConfig::sasl_scram_sha256(user, password),
                Mechanism::ScramSha512 => AuthConfig::sasl_scram_sha512(user, password),
            },
        };
        if !self.tls {
            return config;
        }
        let mut tls = TlsConfig::new();
        if let Some(path) = &self.ca {
            tls = tls.with_ca_cert(text(path));
        }
        if let Some((certificate, key)) = &self.certificate {
            tls = tls.with_client_cert(text(certificate), text(key));
        }
        match &self.credentials {
            None => AuthConfig::ssl(tls),
            Some(_) => config.with_tls(tls),
        }
    }
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
