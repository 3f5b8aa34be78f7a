//! The listening socket: how many connections there may be, and how they end when the door is stopped.

use crate::bounds::DRAIN;
use crate::client::Client;
use crate::connection;
use crate::front::{DoorSettings, Tls};
use crate::request_handler::RequestHandler;
use crate::start_error::StartError;
use crate::stop::DoorStop;
use crate::traffic::DoorMetrics;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, oneshot, watch};
use tokio::time::sleep;

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
        let (drain, draining) = watch::channel(());
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
            let (tls, ways, draining) = (self.tls.clone(), Arc::clone(&ways), draining.clone());
            let traffic = Arc::clone(&traffic);
            tokio::spawn(async move {
                let _counted = traffic.connected();
                let (address, stop) = (stream.peer_addr().ok(), DoorStop::new(draining.clone()));
                let client = Arc::new(Client { address, ways, traffic, stop });
                if let Err(error) = connection::talk(&client, stream, tls, draining).await {
                    client.tell_of_end(&*error);
                    tracing::debug!(%error, "a connection ended");
                }
                drop(place);
            });
        }
        drop((self.socket, draining));
        drain.send_replace(());
        tokio::select! {
            // Each connection holds a receiver until it has ended.
            () = drain.closed() => {}
            () = sleep(DRAIN) => {}
        }
    }
}
