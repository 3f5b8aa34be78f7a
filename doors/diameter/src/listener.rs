//! A listening socket and its connections: how many there may be, their handshakes of TLS, and how they end.

use crate::answerer::Answerer;
use crate::connection::{Arrival, Connection};
use crate::host::Host;
use crate::link::Link;
use crate::metrics::ConnectionFault;
use crate::open_error::OpenError;
use crate::remote::Remote;
use scurry_tls::{Certificates, tls_words};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, watch};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// Pause after a connection could not be accepted, most likely because too many files are open.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// How long the ends of connections may take, after the time for their requests and for the peers' answers, ms.
const END_MS: u64 = 2_000;

/// TLS of a listening socket.
#[derive(Clone, Debug)]
pub(crate) struct Tls {
    pub(crate) certificates: Certificates,
    /// Timeout of a handshake.
    pub(crate) patience: Duration,
}

/// A listening socket.
#[derive(Debug)]
pub(crate) struct Listener {
    socket: TcpListener,
    tls: Option<Tls>,
    is_sctp: bool,
    pub(crate) address: SocketAddr,
}

impl Listener {
    pub(crate) async fn open(address: SocketAddr, tls: Option<Tls>) -> Result<Listener, OpenError> {
        let socket = TcpListener::bind(address).await.map_err(|error| refused(address, error))?;
        Listener::over(socket, tls, false)
    }

    /// Listens for connections over SCTP: one-to-one style sockets (RFC 6458, 4), which are used as those of TCP are.
    #[cfg(feature = "sctp")]
    pub(crate) fn open_sctp(address: SocketAddr) -> Result<Listener, OpenError> {
        let bound = sctp::bind(address).and_then(TcpListener::from_std);
        let socket = bound.map_err(|error| refused(address, error))?;
        Listener::over(socket, None, true)
    }

    fn over(socket: TcpListener, tls: Option<Tls>, is_sctp: bool) -> Result<Listener, OpenError> {
        let unknown = SocketAddr::from(([0, 0, 0, 0], 0));
        let address = socket.local_addr().map_err(|error| refused(unknown, error))?;
        Ok(Listener { socket, tls, is_sctp, address })
    }

    /// Accepts connections until `stopped` changes, then ends them.
    pub(crate) async fn serve<A: Answerer>(
        self,
        host: Arc<Host<A>>,
        mut stopped: watch::Receiver<()>,
    ) {
        let mut tasks = JoinSet::new();
        let mut troubles = Troubles::default();
        loop {
            tokio::select! {
                // An error means that the door was dropped.
                _ = stopped.changed() => break,
                Some(_) = tasks.join_next() => {}
                accepted = self.socket.accept() => match accepted {
                    Ok((stream, address)) => {
                        troubles.is_failing = false;
                        if let Some(places) = troubles.places(&host) {
                            // Without TCP_NODELAY an answer may wait for the acknowledgement of the one before.
                            if !self.is_sctp && stream.set_nodelay(true).is_err() {
                                continue;
                            }
                            let (host, tls) = (Arc::clone(&host), self.tls.clone());
                            tasks.spawn(serve_one(host, stream, address, tls, places));
                        }
                    }
                    Err(error) => {
                        troubles.not_accepted(&error);
                        sleep(ACCEPT_PAUSE).await;
                    }
                },
            }
        }
        drop(self.socket);
        host.metrics.drain_all();
        let settings = &host.settings;
        let all_ms = settings.drain_ms.saturating_add(settings.disconnect_ms);
        let patience = Duration::from_millis(all_ms.saturating_add(END_MS));
        let _ = timeout(patience, async { while tasks.join_next().await.is_some() {} }).await;
    }
}

fn refused(address: SocketAddr, source: io::Error) -> OpenError {
    match source.kind() {
        io::ErrorKind::AddrInUse => OpenError::AddressInUse(address),
        _ => OpenError::Listen { address, source },
    }
}

#[cfg(feature = "sctp")]
mod sctp {
    use rustix::net::{
        AddressFamily, SocketFlags, SocketType, bind as bind_socket, ipproto, listen, socket_with,
    };
    use std::io;
    use std::net::{SocketAddr, TcpListener};

    /// Connections that wait to be accepted.
    const BACKLOG: i32 = 1_024;

    /// Returns a socket that listens, non-blocking.
    pub(super) fn bind(address: SocketAddr) -> io::Result<TcpListener> {
        let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = socket_with(family, SocketType::STREAM, flags, Some(ipproto::SCTP))?;
        bind_socket(&socket, &address)?;
        listen(&socket, BACKLOG)?;
        Ok(socket.into())
    }
}

/// Places that a connection takes, until it is dropped.
struct Places {
    _place: OwnedSemaphorePermit,
    unidentified: OwnedSemaphorePermit,
}

/// Troubles of accepting, each of which is logged once, when it begins.
#[derive(Default)]
struct Troubles {
    is_full: bool,
    is_failing: bool,
}

impl Troubles {
    /// Returns the places of a new connection; None if there are none, so that it is closed at once.
    fn places<A>(&mut self, host: &Host<A>) -> Option<Places> {
        let place = Arc::clone(&host.places).try_acquire_owned();
        let unidentified = Arc::clone(&host.unidentified).try_acquire_owned();
        let fault = match (place, unidentified) {
            (Ok(place), Ok(unidentified)) => {
                self.is_full = false;
                return Some(Places { _place: place, unidentified });
            }
            (Err(_), _) => ConnectionFault::TooMany,
            (Ok(_), Err(_)) => ConnectionFault::TooManyUnidentified,
        };
        host.metrics.fault(fault);
        if !self.is_full {
            tracing::warn!(?fault, "Diameter connections are closed at once");
        }
        self.is_full = true;
        None
    }

    fn not_accepted(&mut self, error: &io::Error) {
        if !self.is_failing {
            tracing::warn!(%error, "Diameter connections are not accepted");
        }
        self.is_failing = true;
    }
}

/// Counts a connection as long as it is there, also when its task is cancelled.
struct Counted<A> {
    host: Arc<Host<A>>,
    link: Arc<Link>,
}

impl<A> Drop for Counted<A> {
    fn drop(&mut self) {
        self.host.metrics.disconnected(&self.link);
    }
}

async fn serve_one<A: Answerer>(
    host: Arc<Host<A>>,
    stream: TcpStream,
    address: SocketAddr,
    tls: Option<Tls>,
    places: Places,
) {
    let link = host.metrics.connected();
    let _counted = Counted { host: Arc::clone(&host), link: Arc::clone(&link) };
    let Places { _place, unidentified } = places;
    let Ok(local) = stream.local_addr() else { return };
    let remote = Remote { address, is_tls: tls.is_some(), certificate: None };
    let arrival = Arrival { link, remote, local: local.ip(), unidentified };
    let Some(tls) = tls else { return Connection::new(host, stream, arrival).run().await };
    let shaken = tokio::select! {
        shaken = shake_hands(stream, &tls) => shaken,
        () = arrival.link.ordered() => return,
    };
    match shaken {
        Ok(stream) => {
            let shown = stream.get_ref().1.peer_certificates().and_then(<[_]>::first);
            let certificate = shown.map(|shown| shown.clone().into_owned());
            let remote = Remote { certificate, ..arrival.remote };
            Connection::new(host, stream, Arrival { remote, ..arrival }).run().await;
        }
        Err(error) => {
            host.metrics.fault(ConnectionFault::Tls);
            let what = "a handshake of TLS with a Diameter peer has failed";
            if let Some(untold) = host.refusals.note(what) {
                tracing::info!(%address, untold, "{what}: {error}");
            }
        }
    }
}

async fn shake_hands(stream: TcpStream, tls: &Tls) -> Result<TlsStream<TcpStream>, String> {
    let accepting = TlsAcceptor::from(tls.certificates.current()).accept(stream);
    match timeout(tls.patience, accepting).await {
        Ok(Ok(stream)) => Ok(stream),
        Ok(Err(error)) => {
            let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
            Err(inner.map_or_else(|| error.to_string(), tls_words))
        }
        Err(_) => Err("it took too long".to_owned()),
    }
}
