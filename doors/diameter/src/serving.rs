//! The thread of a door, and its listening sockets.

use crate::answerer::Answerer;
use crate::host::Host;
use crate::listener::{Listener, Tls};
use crate::metrics::DoorMetrics;
use crate::open_error::OpenError;
use crate::peer_table::PeerTable;
use crate::random::Random;
use crate::settings::Settings;
use scurry_tls::Certificates;
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::watch;

/// How long tasks of the store's client may take to end with the thread.
const TASKS_PATIENCE: Duration = Duration::from_secs(1);

/// A door that serves until it is closed or dropped.
#[derive(Debug)]
pub(crate) struct Serving {
    pub(crate) address: Option<SocketAddr>,
    pub(crate) tls_address: Option<SocketAddr>,
    pub(crate) certificates: Option<Certificates>,
    pub(crate) peers: Arc<PeerTable>,
    pub(crate) metrics: Arc<DoorMetrics>,
    stop: watch::Sender<()>,
    thread: JoinHandle<()>,
}

impl Serving {
    /// Listens and serves. `answerer` is made when the door has its runtime and its addresses.
    ///
    /// # Errors
    /// When a setting is wrong or the system refuses. The error says what to do about it.
    pub(crate) fn open<A: Answerer>(
        settings: Settings,
        answerer: impl FnOnce(&Handle) -> Arc<A>,
    ) -> Result<Serving, OpenError> {
        settings.check()?;
        let tls = tls(&settings)?;
        let certificates = tls.as_ref().map(|tls| tls.certificates.clone());
        let random = Random::new().map_err(OpenError::Random)?;
        let runtime = Builder::new_current_thread()
            .thread_name("diameter")
            .enable_all()
            .build()
            .map_err(OpenError::Threads)?;
        let mut addresses = [None, None];
        let mut listeners = Vec::new();
        for (at, (address, tls)) in
            [(settings.listen, None), (settings.tls_listen, tls)].into_iter().enumerate()
        {
            let Some(address) = address else { continue };
            let listener = runtime.block_on(Listener::open(address, tls))?;
            addresses[at] = Some(listener.address);
            listeners.push(listener);
        }
        if let Some(address) = settings.sctp_listen {
            listeners.push(open_sctp(&runtime, address)?);
        }
        let answerer = answerer(runtime.handle());
        let entered = runtime.enter();
        let host = Arc::new(Host::new(settings, answerer, random));
        drop(entered);
        let (peers, metrics) = (Arc::clone(&host.peers), Arc::clone(&host.metrics));
        let (stop, stopped) = watch::channel(());
        let thread = thread::Builder::new().name("diameter".to_owned()).spawn(move || {
            runtime.block_on(async {
                let serve = |listener: Listener| listener.serve(host.clone(), stopped.clone());
                futures_util::future::join_all(listeners.into_iter().map(serve)).await;
            });
            runtime.shutdown_timeout(TASKS_PATIENCE);
        });
        let thread = thread.map_err(OpenError::Threads)?;
        let [address, tls_address] = addresses;
        Ok(Serving { address, tls_address, certificates, peers, metrics, stop, thread })
    }

    /// Ends all connections, and waits until they have ended.
    pub(crate) fn close(self) {
        // An error means that the thread has already ended.
        let _ = self.stop.send(());
        let _ = self.thread.join();
    }
}

#[cfg(feature = "sctp")]
fn open_sctp(runtime: &Runtime, address: SocketAddr) -> Result<Listener, OpenError> {
    let _entered = runtime.enter();
    let listener = Listener::open_sctp(address)?;
    tracing::info!(address = %listener.address, "Diameter over SCTP");
    Ok(listener)
}

#[cfg(not(feature = "sctp"))]
fn open_sctp(_runtime: &Runtime, _address: SocketAddr) -> Result<Listener, OpenError> {
    Err(OpenError::WithoutSctp)
}

fn tls(settings: &Settings) -> Result<Option<Tls>, OpenError> {
    let Some(tls) = &settings.tls else { return Ok(None) };
    let ms = u64::try_from(tls.handshake_ms_max).unwrap_or_default();
    let certificates = Certificates::read(tls, &[])?;
    Ok(Some(Tls { certificates, patience: Duration::from_millis(ms) }))
}
