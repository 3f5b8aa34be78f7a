//! Which broker, and how it is reached.

use crate::fault::Fault;
use lapin::tcp::OwnedTLSConfig;
use lapin::uri::AMQPUri;
use lapin::{Connection, ConnectionProperties};
use scurry_ship::SinkError;
use std::fmt;

/// Seconds after which a peer that says nothing is gone; a URL may say another number.
const HEARTBEAT_S: u16 = 10;
/// How long a connection may take, ms; a URL may say another number.
const CONNECT_MS: u64 = 10_000;

/// Which broker, and where the messages go.
#[derive(Clone)]
pub struct AmqpSettings {
    /// Scheme (amqp or amqps), user, password, host, port and virtual host.
    pub url: String,
    /// Exchange of the events.
    pub exchange: String,
    /// Whether to create the exchange if it is missing.
    pub create: bool,
    /// Whether the broker may drop events for which no queue is bound.
    pub drop_unroutable: bool,
    /// Certificates in PEM that the broker is checked by; none for those of the machine.
    pub ca: Option<String>,
}

impl fmt::Debug for AmqpSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The URL may have a password.
        f.debug_struct("AmqpSettings").field("exchange", &self.exchange).finish_non_exhaustive()
    }
}

impl AmqpSettings {
    /// Returns the address without the password.
    pub(crate) fn address(&self) -> Result<String, SinkError> {
        let uri = self.uri()?;
        let (authority, vhost) = (uri.authority, uri.vhost);
        Ok(format!("{}:{}, virtual host {vhost}", authority.host, authority.port))
    }

    /// Connects to the broker.
    pub(crate) async fn connect(&self) -> Result<Connection, Fault> {
        let properties = ConnectionProperties::default().with_connection_name("scurry-ship".into());
        let tls = OwnedTLSConfig { identity: None, cert_chain: self.ca.clone() };
        let runtime = lapin::runtime::default_runtime()?;
        let uri = self.uri()?;
        Ok(Connection::connect_uri_with_config(uri, properties, tls, runtime).await?)
    }

    fn uri(&self) -> Result<AMQPUri, SinkError> {
        let fault = |error: String| {
            SinkError::Refused(format!(
                "the URL of the broker is wrong ({error}): write it as amqp://USER:PASSWORD@HOST:PORT/VHOST, with %2f \
                 for the default virtual host"
            ))
        };
        let mut uri: AMQPUri = self.url.parse().map_err(fault)?;
        uri.query.heartbeat.get_or_insert(HEARTBEAT_S);
        uri.query.connection_timeout.get_or_insert(CONNECT_MS);
        Ok(uri)
    }
}
