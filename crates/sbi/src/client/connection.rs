//! One connection to a peer, by HTTP/2 or HTTP/1.1.

use super::error::is_unprocessed;
use http::header::HOST;
use http::uri::{Scheme, Uri};
use http::{HeaderMap, HeaderValue, Method, Request, Response};
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::{TrySendError, http1, http2};
use hyper::rt::{Executor, Read, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::sync::{Mutex, MutexGuard, watch};

/// Longest headers of an answer, bytes.
const HEADERS_LEN_MAX: u32 = 16 * 1024;
/// Longest head of an answer by HTTP/1.1, bytes, and most headers in it.
const HEAD_LEN_MAX: usize = 16 * 1024;
const HEADERS_MAX: usize = 64;
/// Bytes that a peer may send before they are read, for an answer and for all answers of the connection.
const STREAM_WINDOW: u32 = 64 * 1024;
const CONNECTION_WINDOW: u32 = 1024 * 1024;

type RequestBody = Full<Bytes>;

/// A request, as it is sent by either version.
#[derive(Clone, Debug)]
pub(crate) struct Message {
    pub(crate) method: Method,
    pub(crate) scheme: Scheme,
    pub(crate) authority: String,
    pub(crate) path: http::uri::PathAndQuery,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

/// A connection. It ends, with all that runs on it, when this is dropped.
#[derive(Debug)]
pub(crate) struct Connection {
    sender: Sender,
    /// Set once an exchange on it was not completed: it may be dead.
    suspect: AtomicBool,
    _tasks: watch::Sender<()>,
}

#[derive(Debug)]
enum Sender {
    Http2(http2::SendRequest<RequestBody>),
    /// One exchange after the other.
    Http1(Mutex<http1::SendRequest<RequestBody>>),
}

/// Head of an answer, and what must be kept until its body is read.
pub(crate) struct Reply<'a> {
    pub(crate) response: Response<Incoming>,
    _turn: Option<MutexGuard<'a, http1::SendRequest<RequestBody>>>,
}

/// A request without an answer.
#[derive(Debug)]
pub(crate) struct SendFailure {
    pub(crate) error: hyper::Error,
    /// The peer has surely not processed it.
    pub(crate) is_unprocessed: bool,
}

/// Spawns the tasks of a connection so that they end with it.
#[derive(Clone)]
struct Tasks(watch::Receiver<()>);

impl<F> Executor<F> for Tasks
where
    F: Future + Send + 'static,
    F::Output: Send,
{
    fn execute(&self, task: F) {
        let mut ended = self.0.clone();
        tokio::spawn(async move {
            tokio::select! {
                _ = task => {}
                // An error means that the connection was dropped.
                _ = ended.changed() => {}
            }
        });
    }
}

impl Connection {
    /// Begins HTTP/2, without asking whether the peer speaks it (RFC 9113, 3.3).
    ///
    /// # Errors
    /// When the connection ends.
    pub(crate) async fn http2<T>(stream: T) -> Result<Connection, hyper::Error>
    where
        T: Read + Write + Unpin + Send + 'static,
    {
        let (tasks, alive) = watch::channel(());
        let executor = Tasks(alive);
        let (sender, connection) = http2::Builder::new(executor.clone())
            .initial_stream_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .max_header_list_size(HEADERS_LEN_MAX)
            .handshake(stream)
            .await?;
        executor.execute(connection);
        Ok(Connection {
            sender: Sender::Http2(sender),
            suspect: AtomicBool::new(false),
            _tasks: tasks,
        })
    }

    /// Begins HTTP/1.1.
    ///
    /// # Errors
    /// When the connection ends.
    pub(crate) async fn http1<T>(stream: T) -> Result<Connection, hyper::Error>
    where
        T: Read + Write + Unpin + Send + 'static,
    {
        let (tasks, alive) = watch::channel(());
        let (sender, connection) = http1::Builder::new()
            .max_buf_size(HEAD_LEN_MAX)
            .max_headers(HEADERS_MAX)
            .handshake(stream)
            .await?;
        Tasks(alive).execute(connection);
        let sender = Sender::Http1(Mutex::new(sender));
        Ok(Connection { sender, suspect: AtomicBool::new(false), _tasks: tasks })
    }

    /// Reports whether another request may be sent on it. One that has ended without our knowledge refuses the request
    /// before it is sent.
    pub(crate) fn is_usable(&self) -> bool {
        !self.suspect.load(Ordering::Relaxed)
    }

    /// Lets no other request be sent on it.
    pub(crate) fn retire(&self) {
        self.suspect.store(true, Ordering::Relaxed);
    }

    /// Sends a request and receives the head of its answer.
    ///
    /// # Errors
    /// When no answer is received.
    pub(crate) async fn send(&self, message: Message) -> Result<Reply<'_>, SendFailure> {
        match &self.sender {
            Sender::Http2(sender) => {
                let request = message.into_http2();
                let response = sender.clone().try_send_request(request).await?;
                Ok(Reply { response, _turn: None })
            }
            Sender::Http1(sender) => {
                let mut turn = sender.lock().await;
                if let Err(error) = turn.ready().await {
                    return Err(SendFailure { error, is_unprocessed: true });
                }
                let response = turn.try_send_request(message.into_http1()).await?;
                Ok(Reply { response, _turn: Some(turn) })
            }
        }
    }
}

impl Message {
    fn into_http2(self) -> Request<RequestBody> {
        let uri = Uri::builder()
            .scheme(self.scheme.clone())
            .authority(self.authority.as_str())
            .path_and_query(self.path.clone())
            .build()
            .expect("its parts are of a URI");
        self.request(uri)
    }

    fn into_http1(mut self) -> Request<RequestBody> {
        let host = HeaderValue::from_str(&self.authority).expect("an authority is ASCII");
        self.headers.insert(HOST, host);
        let uri = Uri::from(self.path.clone());
        self.request(uri)
    }

    fn request(self, uri: Uri) -> Request<RequestBody> {
        let mut request = Request::new(Full::new(self.body));
        *request.method_mut() = self.method;
        *request.uri_mut() = uri;
        *request.headers_mut() = self.headers;
        request
    }
}

impl<T> From<TrySendError<T>> for SendFailure {
    fn from(mut failure: TrySendError<T>) -> SendFailure {
        let was_not_sent = failure.take_message().is_some();
        let error = failure.into_error();
        let is_unprocessed = was_not_sent || is_unprocessed(&error);
        SendFailure { error, is_unprocessed }
    }
}
