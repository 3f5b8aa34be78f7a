//! A client of other services (TS 29.500): HTTP/2 with bodies of JSON, to addresses that may be called.

mod connection;
mod connector;
mod error;
mod network;
mod pool;
mod special;
mod targets;
mod tls;
mod uri;

pub use error::CallError;
pub use targets::{AllowedTargets, TARGETS_MAX, TargetRefusal, TargetsError};
pub use tls::{ClientTlsError, ClientTlsFiles};
pub use uri::{Scheme, URI_LEN_MAX, UriError};
pub(crate) use uri::{Target, name};

use connection::{Connection, Message, Reply};
use connector::Connector;
use error::exchange_words;
use http::header::{ACCEPT, CONTENT_TYPE, USER_AGENT};
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use http_body_util::BodyExt;
use hyper::body::{Body, Bytes};
use pool::Pool;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;

/// Types of bodies that are understood: RFC 8259, RFC 9457.
const ACCEPTED: &str = "application/json, application/problem+json";
/// User-Agent of a charging function: TS 29.500, 5.2.2.2.
const USER_AGENT_CHF: &str = "CHF";

/// Settings of a client. [`ClientSettings::new`] has the defaults.
#[derive(Clone, Debug)]
pub struct ClientSettings {
    /// Which addresses may be called.
    pub targets: AllowedTargets,
    /// Files of TLS.
    pub tls: ClientTlsFiles,
    /// Time for the name, TCP and TLS of a connection, ms.
    pub connect_ms_max: u64,
    /// Time for a whole call, ms.
    pub call_ms_max: u64,
    /// Most connections that are kept.
    pub connections_max: usize,
    /// Longest body of an answer, bytes.
    pub answer_len_max: usize,
}

impl ClientSettings {
    /// Returns the defaults of a client that may call these.
    pub fn new(targets: AllowedTargets) -> ClientSettings {
        ClientSettings {
            targets,
            tls: ClientTlsFiles::default(),
            connect_ms_max: 3_000,
            call_ms_max: 10_000,
            connections_max: 64,
            answer_len_max: 64 * 1024,
        }
    }
}

/// A client. Clones share their connections.
#[derive(Clone)]
pub struct Client(Arc<Shared>);

struct Shared {
    connector: Connector,
    pool: Pool,
    patience: Duration,
    answer_len_max: usize,
}

/// A request to be sent.
#[derive(Clone, Debug)]
pub struct Call<'a> {
    /// POST, PUT, PATCH or DELETE.
    pub method: Method,
    /// Absolute URI of http or https, at most 1,024 bytes.
    pub uri: &'a str,
    /// Headers beside those of the body, such as 3gpp-Sbi-Callback.
    pub headers: HeaderMap,
    /// Type and bytes of the body.
    pub body: Option<(&'static str, Bytes)>,
}

/// What a peer has answered, also if it is an error or a redirection: none is followed.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The status.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// The body, which is bounded.
    pub body: Bytes,
}

/// An attempt without an answer.
struct Failure {
    error: CallError,
    /// The peer has surely not processed the request.
    is_unprocessed: bool,
}

impl Client {
    /// Reads the files of TLS. Connections are made as they are needed.
    ///
    /// # Errors
    /// For files that cannot be used.
    pub fn new(settings: &ClientSettings) -> Result<Client, ClientTlsError> {
        let connector = Connector {
            targets: settings.targets.clone(),
            tls: settings.tls.config()?,
            patience: Duration::from_millis(settings.connect_ms_max),
        };
        Ok(Client(Arc::new(Shared {
            connector,
            pool: Pool::new(settings.connections_max),
            patience: Duration::from_millis(settings.call_ms_max),
            answer_len_max: settings.answer_len_max,
        })))
    }

    /// Sends a request and receives its answer, on a connection of tokio's runtime. A request that the peer has surely
    /// not processed, because its connection ended, is sent once more.
    ///
    /// # Errors
    /// When there is no answer. Any status is an answer.
    pub async fn send(&self, call: Call<'_>) -> Result<Answer, CallError> {
        let target = Target::parse(call.uri)?;
        // What may not be called takes no place from a connection that is kept.
        self.0.connector.check(&target.origin)?;
        let message = message(&target, call);
        let ms = u64::try_from(self.0.patience.as_millis()).unwrap_or(u64::MAX);
        let late = |_| CallError::Timeout { target: target.origin.to_string(), ms };
        timeout(self.0.patience, self.exchange(&target, message)).await.map_err(late)?
    }

    async fn exchange(&self, target: &Target, message: Message) -> Result<Answer, CallError> {
        let connect = async || self.0.connector.connect(&target.origin).await;
        let mut is_second = false;
        loop {
            let lease = self.0.pool.lease(&target.origin, connect).await?;
            match self.attempt(lease.connection(), target, message.clone()).await {
                Ok(answer) => {
                    lease.complete();
                    return Ok(answer);
                }
                Err(failure) if !failure.is_unprocessed || is_second => return Err(failure.error),
                Err(_) => is_second = true,
            }
        }
    }

    async fn attempt(
        &self,
        connection: &Connection,
        target: &Target,
        message: Message,
    ) -> Result<Answer, Failure> {
        let reply = connection.send(message).await.map_err(|failure| {
            let words = exchange_words(&failure.error);
            let error = CallError::Exchange { target: target.origin.to_string(), words };
            Failure { error, is_unprocessed: failure.is_unprocessed }
        })?;
        let failed = |error| Failure { error, is_unprocessed: false };
        self.read(target, reply).await.map_err(failed)
    }

    /// Reads the body of an answer.
    async fn read(&self, target: &Target, reply: Reply<'_>) -> Result<Answer, CallError> {
        let (head, mut body) = reply.response.into_parts();
        let (len_max, status) = (self.0.answer_len_max, head.status);
        let target = || target.origin.to_string();
        let too_long = || CallError::TooLong { target: target(), status, len_max };
        let mut bytes = Vec::new();
        if body.size_hint().lower() > u64::try_from(len_max).unwrap_or(u64::MAX) {
            return Err(too_long());
        }
        while let Some(frame) = body.frame().await {
            let failed =
                |error| CallError::Exchange { target: target(), words: exchange_words(&error) };
            let Ok(part) = frame.map_err(failed)?.into_data() else { continue };
            if bytes.len() + part.len() > len_max {
                return Err(too_long());
            }
            bytes.extend_from_slice(&part);
        }
        Ok(Answer { status, headers: head.headers, body: bytes.into() })
    }
}

fn message(target: &Target, call: Call<'_>) -> Message {
    let mut headers = call.headers;
    headers.insert(ACCEPT, HeaderValue::from_static(ACCEPTED));
    headers.entry(USER_AGENT).or_insert(HeaderValue::from_static(USER_AGENT_CHF));
    let body = call.body.map(|(content_type, body)| {
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
        body
    });
    Message {
        method: call.method,
        scheme: match target.origin.scheme {
            Scheme::Http => http::uri::Scheme::HTTP,
            Scheme::Https => http::uri::Scheme::HTTPS,
        },
        authority: target.authority(),
        path: target.path.clone(),
        headers,
        body: body.unwrap_or_default(),
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("pool", &self.0.pool).finish_non_exhaustive()
    }
}

#[cfg(test)]
pub(crate) mod tests;
