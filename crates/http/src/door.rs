//! An HTTP server: its listening socket, and the threads that serve it.

use crate::bounds::DRAIN;
use crate::front::DoorSettings;
use crate::listener::Listener;
use crate::request_handler::RequestHandler;
use crate::start_error::StartError;
use crate::traffic::DoorMetrics;
use scurry_tls::Certificates;
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::oneshot;

/// An open door, which serves until it is stopped or dropped.
pub struct Door {
    address: SocketAddr,
    certificates: Option<Certificates>,
    stop: oneshot::Sender<()>,
    serving: JoinHandle<()>,
}

impl Door {
    /// Returns the address that it listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Reports whether it serves HTTPS.
    pub fn has_tls(&self) -> bool {
        self.certificates.is_some()
    }

    /// Returns its certificates, so that the caller can reload them. None without TLS.
    pub fn certificates(&self) -> Option<Certificates> {
        self.certificates.clone()
    }

    /// Stops accepting requests, waits a few seconds for the running ones, and closes.
    pub fn close(self) {
        // An error means that the thread has already ended.
        let _ = self.stop.send(());
        let _ = self.serving.join();
    }
}

/// A door that listens and does not serve yet: its routes are still to be made.
pub struct Opening {
    runtime: Runtime,
    listener: Listener,
    certificates: Option<Certificates>,
    on_start: fn(),
}

impl Opening {
    /// Listens on the address of a door. Each of its threads calls `on_start` first.
    ///
    /// # Errors
    /// When it must not or cannot listen. The error says what to do about it.
    pub fn listen(front: &DoorSettings, on_start: fn()) -> Result<Opening, StartError> {
        front.check()?;
        let tls = front.tls()?;
        let certificates = tls.as_ref().map(|tls| tls.certificates.clone());
        // A single thread uses the current-thread runtime: no other thread has to wake it, and it steals no work.
        let mut builder = match front.threads {
            1 => Builder::new_current_thread(),
            _ => Builder::new_multi_thread(),
        };
        builder.worker_threads(front.threads).thread_name("http").enable_all();
        builder.on_thread_start(on_start);
        let runtime = builder.build().map_err(StartError::Threads)?;
        let listener = runtime.block_on(Listener::open(front, tls))?;
        Ok(Opening { runtime, listener, certificates, on_start })
    }

    /// Returns the address that it listens on.
    pub fn address(&self) -> SocketAddr {
        self.listener.address
    }

    /// Returns the runtime that will serve the door, for the tasks of its routes.
    pub fn runtime(&self) -> &Handle {
        self.runtime.handle()
    }

    /// Returns the metrics of the door's requests. `serves` is the label for its services.
    pub fn traffic(&self, serves: &'static str) -> Arc<DoorMetrics> {
        DoorMetrics::new(self.listener.address, serves, self.certificates.clone())
    }

    /// Serves these routes until the door is closed.
    ///
    /// # Errors
    /// When the system refuses to start a thread.
    pub fn serve(
        self,
        front: &DoorSettings,
        ways: RequestHandler,
        traffic: Arc<DoorMetrics>,
    ) -> Result<Door, StartError> {
        let (stop, stopped) = oneshot::channel();
        let Opening { runtime, listener, certificates, on_start } = self;
        let (address, connections_max) = (listener.address, front.connections_max);
        let serving = thread::Builder::new().name("http".to_owned()).spawn(move || {
            on_start();
            runtime.block_on(listener.serve(ways, connections_max, traffic, stopped));
            runtime.shutdown_timeout(DRAIN);
        });
        let serving = serving.map_err(StartError::Threads)?;
        Ok(Door { address, certificates, stop, serving })
    }
}
