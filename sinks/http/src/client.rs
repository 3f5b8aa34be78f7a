//! A client of one receiver: one connection of HTTP/1.1, one request at a time.

use crate::HttpTarget;
use crate::answer::{Answer, shown, wait_of};
use crate::fault::{connect_fault, exchange_fault, late, tls_fault};
use crate::settings::{HttpSettings, SettingsError};
use http::header::{CONTENT_TYPE, HOST, RETRY_AFTER, USER_AGENT};
use http::{HeaderMap, HeaderValue, Method, Request};
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1::{Builder, SendRequest};
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use scurry_ship::SinkError;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::runtime::Runtime;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

/// Longest head of an answer, bytes, and most headers.
const HEAD_LEN_MAX: usize = 64 * 1024;
const HEADERS_MAX: usize = 100;
/// Longest body of an answer. After a longer one the connection is closed.
const BODY_LEN_MAX: usize = 64 * 1024;

/// A client of one receiver.
pub(crate) struct Client {
    runtime: Runtime,
    channel: Channel,
    patience: Duration,
}

/// A request.
#[derive(Clone, Debug)]
pub(crate) struct Message {
    pub(crate) headers: HeaderMap,
    pub(crate) content_type: &'static str,
    pub(crate) body: Bytes,
}

struct Channel {
    target: HttpTarget,
    tls: Arc<ClientConfig>,
    /// The connection, if the last answer has left one.
    open: Option<SendRequest<Full<Bytes>>>,
}

impl Client {
    pub(crate) fn new(settings: &HttpSettings) -> Result<Client, SettingsError> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        Ok(Client {
            runtime: runtime.map_err(SettingsError::Runtime)?,
            channel: Channel {
                target: settings.target.clone(),
                tls: settings.tls_config()?,
                open: None,
            },
            patience: settings.patience,
        })
    }

    /// Sends a request and returns the answer, whatever its status is.
    pub(crate) fn post(&mut self, message: &Message) -> Result<Answer, SinkError> {
        let Client { runtime, channel, patience } = self;
        runtime.block_on(async {
            match timeout(*patience, channel.exchange(message)).await {
                Ok(outcome) => outcome,
                Err(_) => Err(late(&channel.target, *patience)),
            }
        })
    }
}

impl Channel {
    /// Sends a request. If the connection of an earlier one has ended, it is sent on a new one: the receiver may get it
    /// twice then, with the same id.
    async fn exchange(&mut self, message: &Message) -> Result<Answer, SinkError> {
        // Taken, so that a request which is given up takes its connection with it.
        if let Some(mut open) = self.open.take()
            && open.ready().await.is_ok()
            && let Ok(response) = open.send_request(self.request(message)).await
        {
            return Ok(self.read(open, response).await);
        }
        let mut open = self.connect().await?;
        let response = open.send_request(self.request(message)).await;
        let response = response.map_err(|error| exchange_fault(&self.target, &error))?;
        Ok(self.read(open, response).await)
    }

    fn request(&self, message: &Message) -> Request<Full<Bytes>> {
        let mut request = Request::new(Full::new(message.body.clone()));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.target.path.parse().unwrap_or_default();
        let headers = request.headers_mut();
        headers.clone_from(&message.headers);
        let agent = HeaderValue::from_static(concat!("scurry/", env!("CARGO_PKG_VERSION")));
        headers.entry(USER_AGENT).or_insert(agent);
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(message.content_type));
        if let Ok(host) = self.target.authority.parse() {
            headers.insert(HOST, host);
        }
        request
    }

    /// Reads the body within its bound. The status has told already what became of the events, so a body that does not end
    /// costs no more than the connection.
    async fn read(
        &mut self,
        open: SendRequest<Full<Bytes>>,
        response: http::Response<Incoming>,
    ) -> Answer {
        let (head, mut body) = response.into_parts();
        let mut bytes = Vec::new();
        let is_whole = loop {
            match body.frame().await {
                None => break true,
                Some(Err(_)) => break false,
                Some(Ok(frame)) => {
                    bytes.extend_from_slice(frame.data_ref().map_or(&[], |data| data))
                }
            }
            if bytes.len() > BODY_LEN_MAX {
                break false;
            }
        };
        if is_whole {
            self.open = Some(open);
        }
        Answer {
            status: head.status.as_u16(),
            wait: wait_of(head.headers.get(RETRY_AFTER)),
            text: shown(&bytes),
        }
    }

    async fn connect(&self) -> Result<SendRequest<Full<Bytes>>, SinkError> {
        let target = &self.target;
        let stream = TcpStream::connect((target.host.as_str(), target.port)).await;
        let stream = stream.map_err(|error| connect_fault(target, &error))?;
        // Without TCP_NODELAY a request may wait for the acknowledgement of the one before.
        stream.set_nodelay(true).map_err(|error| connect_fault(target, &error))?;
        if !target.has_tls {
            return self.begin(stream).await;
        }
        let name = ServerName::try_from(target.host.clone()).map_err(|_| {
            SinkError::Refused(format!("{target} has no name that a certificate can have"))
        })?;
        let stream = TlsConnector::from(Arc::clone(&self.tls)).connect(name, stream).await;
        self.begin(stream.map_err(|error| tls_fault(target, &error))?).await
    }

    async fn begin<S>(&self, stream: S) -> Result<SendRequest<Full<Bytes>>, SinkError>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let mut builder = Builder::new();
        builder.max_buf_size(HEAD_LEN_MAX).max_headers(HEADERS_MAX);
        let begun = builder.handshake(TokioIo::new(stream)).await;
        let (sender, connection) = begun.map_err(|error| exchange_fault(&self.target, &error))?;
        // Its end is seen by the next request.
        tokio::spawn(async move { drop(connection.await) });
        Ok(sender)
    }
}
