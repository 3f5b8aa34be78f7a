//! A stand-in for a peer: a server of HTTP/2 that answers by a function and remembers what it was asked.

use http::{HeaderMap, Method, Request, Response, StatusCode, Uri, Version};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};
use tokio_rustls::TlsAcceptor;

/// How long a test waits for what must happen.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) type ReplyBody = BoxBody<Bytes, Infallible>;
pub(crate) type Reply = Response<ReplyBody>;

/// A request that was received.
#[derive(Clone, Debug)]
pub(crate) struct Received {
    pub(crate) method: Method,
    pub(crate) uri: Uri,
    pub(crate) version: Version,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Received {
    pub(crate) fn path(&self) -> &str {
        self.uri.path()
    }
}

/// What happened so far.
#[derive(Clone, Debug, Default)]
struct History {
    requests: Vec<Received>,
    connections: usize,
    open: usize,
}

type Handler = dyn Fn(&Received) -> Reply + Send + Sync;

struct Shared {
    handler: Box<Handler>,
    history: watch::Sender<History>,
    /// Each request takes a permit before it is answered.
    gate: Semaphore,
}

/// The server. It ends with the runtime of the test.
pub(crate) struct StandIn {
    pub(crate) address: SocketAddr,
    shared: Arc<Shared>,
    /// Ends connections with GOAWAY.
    graceful: Mutex<watch::Sender<()>>,
}

impl StandIn {
    /// Starts a server on this machine, without TLS.
    pub(crate) async fn start(
        handler: impl Fn(&Received) -> Reply + Send + Sync + 'static,
    ) -> StandIn {
        StandIn::start_with(None, Semaphore::MAX_PERMITS, handler).await
    }

    /// Starts a server that answers so many requests, and others once the test permits them.
    pub(crate) async fn start_with(
        tls: Option<TlsAcceptor>,
        permits: usize,
        handler: impl Fn(&Received) -> Reply + Send + Sync + 'static,
    ) -> StandIn {
        let socket = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        StandIn::start_at(socket, tls, permits, handler)
    }

    pub(crate) fn start_at(
        socket: TcpListener,
        tls: Option<TlsAcceptor>,
        permits: usize,
        handler: impl Fn(&Received) -> Reply + Send + Sync + 'static,
    ) -> StandIn {
        let address = socket.local_addr().expect("an address");
        let history = watch::Sender::new(History::default());
        let gate = Semaphore::new(permits);
        let shared = Arc::new(Shared { handler: Box::new(handler), history, gate });
        let (graceful, ending) = watch::channel(());
        let accepting = Arc::clone(&shared);
        tokio::spawn(async move {
            while let Ok((stream, _)) = socket.accept().await {
                let (shared, ending) = (Arc::clone(&accepting), ending.clone());
                shared.note(|history| {
                    history.connections += 1;
                    history.open += 1;
                });
                let tls = tls.clone();
                tokio::spawn(async move {
                    match tls {
                        None => shared.serve(stream, true, ending).await,
                        Some(tls) => {
                            if let Ok(stream) = tls.accept(stream).await {
                                let is_http2 =
                                    stream.get_ref().1.alpn_protocol() == Some(b"h2".as_slice());
                                shared.serve(stream, is_http2, ending).await;
                            }
                        }
                    }
                    shared.note(|history| history.open -= 1);
                });
            }
        });
        StandIn { address, shared, graceful: Mutex::new(graceful) }
    }

    /// Returns the URI of a path, by address.
    pub(crate) fn uri(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Returns the number of requests so far.
    pub(crate) fn requests(&self) -> usize {
        self.shared.history.borrow().requests.len()
    }

    /// Returns the number of connections so far.
    pub(crate) fn connections(&self) -> usize {
        self.shared.history.borrow().connections
    }

    /// Returns the last request.
    pub(crate) fn last(&self) -> Received {
        self.shared.history.borrow().requests.last().expect("a request").clone()
    }

    /// Returns method and path of all requests.
    pub(crate) fn lines(&self) -> Vec<String> {
        let history = self.shared.history.borrow();
        history.requests.iter().map(|one| format!("{} {}", one.method, one.path())).collect()
    }

    /// Waits until so many requests were received.
    pub(crate) async fn wait_requests(&self, count: usize) {
        self.wait("requests", |history| history.requests.len() >= count).await;
    }

    /// Waits until so many connections are open.
    pub(crate) async fn wait_open(&self, count: usize) {
        self.wait("open connections", |history| history.open == count).await;
    }

    /// Permits so many more answers.
    pub(crate) fn permit(&self, count: usize) {
        self.shared.gate.add_permits(count);
    }

    /// Ends all connections: their peers are told by GOAWAY.
    pub(crate) fn end_connections(&self) {
        self.graceful.lock().unwrap_or_else(PoisonError::into_inner).send_replace(());
    }

    async fn wait(&self, what: &str, is_so: impl Fn(&History) -> bool) {
        let mut history = self.shared.history.subscribe();
        let waited = tokio::time::timeout(PATIENCE, history.wait_for(is_so)).await;
        waited.unwrap_or_else(|_| panic!("too few or too many: {what}")).expect("it is kept");
    }
}

impl Shared {
    fn note(&self, change: impl FnOnce(&mut History)) {
        self.history.send_modify(change);
    }

    async fn serve<S>(
        self: &Arc<Shared>,
        stream: S,
        is_http2: bool,
        mut ending: watch::Receiver<()>,
    ) where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        ending.mark_unchanged();
        let shared = Arc::clone(self);
        let service = service_fn(move |request| {
            let shared = Arc::clone(&shared);
            async move { Ok::<_, Infallible>(shared.answer(request).await) }
        });
        let stream = TokioIo::new(stream);
        // How a connection ends is seen by its client.
        if is_http2 {
            let mut connection =
                pin!(http2::Builder::new(TokioExecutor::new()).serve_connection(stream, service));
            tokio::select! {
                _ = &mut connection => return,
                _ = ending.changed() => connection.as_mut().graceful_shutdown(),
            }
            let _ = connection.await;
        } else {
            let _ = http1::Builder::new().serve_connection(stream, service).await;
        }
    }

    async fn answer(&self, request: Request<Incoming>) -> Reply {
        let (head, body) = request.into_parts();
        let body = body.collect().await.map(|body| body.to_bytes()).unwrap_or_default();
        let (method, uri) = (head.method, head.uri);
        let received = Received { method, uri, version: head.version, headers: head.headers, body };
        self.note(|history| history.requests.push(received.clone()));
        self.gate.acquire().await.expect("it stays open").forget();
        (self.handler)(&received)
    }
}

/// Returns an answer of this type and text.
pub(crate) fn answer(status: StatusCode, content_type: &str, text: impl Into<Bytes>) -> Reply {
    let mut reply = Response::new(Full::new(text.into()).boxed());
    *reply.status_mut() = status;
    reply.headers_mut().insert("content-type", content_type.parse().expect("a header"));
    reply
}

/// Returns success without a body.
pub(crate) fn ok() -> Reply {
    let mut reply = Response::new(Full::new(Bytes::new()).boxed());
    *reply.status_mut() = StatusCode::NO_CONTENT;
    reply
}
