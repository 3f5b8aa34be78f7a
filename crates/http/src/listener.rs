//! The listening socket and its connections: how many there may be, the timeouts of reading and writing, and how they
//! end.

use crate::client_errors::ClientFault;
use crate::front::{DoorSettings, Tls};
use crate::request_handler::RequestHandler;
use crate::start_error::StartError;
use crate::traffic::DoorMetrics;
use crate::write_timeout::WriteTimeoutStream;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, oneshot};
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;

/// Timeout of reading the head of a request, also of an idle connection.
const HEAD_PATIENCE: Duration = Duration::from_secs(60);
/// Timeout of a client that reads nothing of its answer.
const TAKE_PATIENCE: Duration = Duration::from_secs(30);
/// Maximum length of the head of a request, bytes.
const HEAD_LEN_MAX: usize = 128 * 1024;
const HEADERS_MAX: usize = 64;
/// How long running requests may take after the door was stopped.
pub(crate) const DRAIN: Duration = Duration::from_secs(5);
/// Pause after a connection could not be accepted, most likely because too many files are open.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// A listening socket, with the TLS settings of its connections.
pub(crate) struct Listener {
    socket: TcpListener,
    tls: Option<Tls>,
    pub(crate) address: SocketAddr,
}

impl Listener {
    pub(crate) async fn open(
        front: &DoorSettings,
        tls: Option<Tls>,
    ) -> Result<Listener, StartError> {
        let (address, option) = (front.listen, front.listen_option);
        let refused = |source: io::Error| match source.kind() {
            io::ErrorKind::AddrInUse => StartError::AddressInUse(address, option),
            _ => StartError::Listen { address, option, source },
        };
        let socket = TcpListener::bind(front.listen).await.map_err(refused)?;
        let address = socket.local_addr().map_err(refused)?;
        Ok(Listener { socket, tls, address })
    }

    /// Accepts connections until `stopped` fires, then gives running requests a few seconds to end.
    pub(crate) async fn serve(
        self,
        ways: RequestHandler,
        connections_max: usize,
        traffic: Arc<DoorMetrics>,
        mut stopped: oneshot::Receiver<()>,
    ) {
        let graceful = GracefulShutdown::new();
        let ways = Arc::new(ways);
        let places = Arc::new(Semaphore::new(connections_max));
        // Each trouble is logged once, when it begins.
        let (mut full, mut failing) = (false, false);
        loop {
            let stream = tokio::select! {
                accepted = self.socket.accept() => match accepted {
                    Ok((stream, _)) => stream,
                    Err(error) => {
                        if !failing {
                            tracing::warn!(%error, "connections are not accepted");
                        }
                        failing = true;
                        sleep(ACCEPT_PAUSE).await;
                        continue;
                    }
                },
                _ = &mut stopped => break,
            };
            failing = false;
            let Ok(place) = Arc::clone(&places).try_acquire_owned() else {
                if !full {
                    tracing::warn!(
                        connections_max,
                        "connections are closed at once: there are too many"
                    );
                }
                full = true;
                traffic.refused();
                continue;
            };
            full = false;
            let (tls, ways, watcher) = (self.tls.clone(), Arc::clone(&ways), graceful.watcher());
            let traffic = Arc::clone(&traffic);
            tokio::spawn(async move {
                let _counted = traffic.connected();
                let client = stream.peer_addr().ok();
                let client = Client { address: client, ways, traffic };
                if let Err(error) = client.talk(stream, tls, watcher).await {
                    if let Some(misdeed) = ClientFault::of_end(&*error) {
                        client.tell(misdeed);
                    }
                    tracing::debug!(%error, "a connection ended");
                }
                drop(place);
            });
        }
        drop(self.socket);
        tokio::select! {
            () = graceful.shutdown() => {}
            () = sleep(DRAIN) => {}
        }
    }
}

type ListenerEnd = Result<(), Box<dyn std::error::Error + Send + Sync>>;

/// The client at the other end of a connection, and the routes that serve it.
struct Client {
    address: Option<SocketAddr>,
    ways: Arc<RequestHandler>,
    traffic: Arc<DoorMetrics>,
}

impl Client {
    fn tell(&self, misdeed: ClientFault) {
        self.traffic.misdeeds.tell(misdeed, self.address);
    }

    async fn talk(&self, stream: TcpStream, tls: Option<Tls>, watcher: Watcher) -> ListenerEnd {
        // Without TCP_NODELAY an answer may wait for the acknowledgement of the one before.
        stream.set_nodelay(true)?;
        match tls {
            None => self.converse(stream, watcher).await,
            Some(tls) => {
                match timeout(tls.patience, TlsAcceptor::from(tls.config()).accept(stream)).await {
                    Ok(Ok(stream)) => self.converse(stream, watcher).await,
                    Ok(Err(error)) => {
                        self.tell(ClientFault::NoTls);
                        Err(error.into())
                    }
                    Err(late) => {
                        self.tell(ClientFault::NoTls);
                        Err(late.into())
                    }
                }
            }
        }
    }

    /// Serves HTTP/1.1 on a connection until it ends.
    async fn converse<S>(&self, stream: S, watcher: Watcher) -> ListenerEnd
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let stream = TokioIo::new(WriteTimeoutStream::new(stream, TAKE_PATIENCE));
        let service = service_fn(|request| {
            let (ways, traffic, address) = (&self.ways, &self.traffic, self.address);
            async move {
                let mut answer = ways.answer(request).await;
                if let Some(misdeed) = answer.extensions_mut().remove::<ClientFault>() {
                    traffic.misdeeds.tell(misdeed, address);
                }
                Ok::<_, Infallible>(answer)
            }
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            // A client that has sent its request may close its sending side and still gets the answer.
            .half_close(true)
            .header_read_timeout(HEAD_PATIENCE)
            .max_buf_size(HEAD_LEN_MAX)
            .max_headers(HEADERS_MAX)
            .serve_connection(stream, service);
        Ok(watcher.watch(connection).await?)
    }
}
