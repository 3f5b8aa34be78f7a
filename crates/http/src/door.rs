//! The HTTP server: its listening socket, and the threads that serve it.

use crate::beside;
use crate::coordinator::Coordinator;
use crate::front::Front;
use crate::gate::Gate;
use crate::listener::{DRAIN, Listener};
use crate::membership::Membership;
use crate::node::Node;
use crate::routes;
use crate::settings::Settings;
use crate::shared::Shared;
use crate::start_error::StartError;
use crate::traffic::Traffic;
use crate::ways::Ways;
use scurry_server::{Certificates, Inside};
use scurry_stores::{RespStore, Store};
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::oneshot;

/// Niceness of the threads of a door in an engine's process, so that the engine's threads come first.
const NICE: i32 = 5;

/// An open door, which serves until it is stopped or dropped.
pub struct Door {
    address: SocketAddr,
    certificates: Option<Certificates>,
    stop: oneshot::Sender<()>,
    serving: JoinHandle<()>,
}

impl Door {
    /// Opens a door to nodes of entities, to a store, or to both: listens, and starts connecting to the nodes.
    pub fn open(settings: Settings) -> Result<Door, StartError> {
        settings.check()?;
        let gate = Gate::new(&settings.front)?;
        let open = Open::listen(&settings.front, || {})?;
        let runtime = &open.runtime;

        let (user, password) = (settings.user.clone(), settings.password.clone());
        let store: Option<Arc<dyn Store>> = (!settings.store.is_empty()).then(|| {
            let addresses = settings.store.clone();
            Arc::new(RespStore::new(addresses, user, password, settings.patience)) as _
        });
        let node = |address: &String| Arc::new(Node::new(address.clone(), settings.patience));
        let nodes = settings.nodes.iter().map(node).collect();
        let coordinator =
            Coordinator::new(nodes, settings.number, settings.tombstone_ms, settings.patience);
        let coordinator = Arc::new(coordinator);
        let membership = Arc::new(Membership {
            coordinator: Arc::clone(&coordinator),
            patience: settings.patience,
            tombstone_ms: settings.tombstone_ms,
            user: settings.user,
            password: settings.password,
            trust_old_nodes: settings.trust_old_nodes,
        });
        for number in 0..coordinator.nodes.len() {
            runtime.spawn(Arc::clone(&membership).keep(number));
        }
        let shared = Arc::new(Shared { coordinator, store, value_len_max: settings.value_len_max });
        let serves = match (shared.store.is_some(), shared.coordinator.nodes.is_empty()) {
            (true, true) => "charging",
            (true, false) => "charging, entities",
            (false, _) => "entities",
        };
        let traffic = Traffic::new(open.listener.address, serves, open.certificates.clone());
        let ways = routes::to_nodes(&shared, &gate, &traffic, open.runtime.handle());
        open.serve(&settings.front, ways, traffic)
    }

    /// Opens a door for the server in this process that `inside` belongs to.
    ///
    /// # Errors
    /// When it must not or cannot listen. The error says what to do about it.
    pub fn beside(front: &Front, inside: Inside) -> Result<Door, StartError> {
        let gate = Gate::new(front)?;
        let open = Open::listen(front, step_back)?;
        let traffic = Traffic::new(open.listener.address, "charging", open.certificates.clone());
        let ways = beside::routes(inside, &gate, &traffic, open.runtime.handle());
        open.serve(front, ways, traffic)
    }

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

/// A listening socket, and the runtime that will serve it.
struct Open {
    runtime: Runtime,
    listener: Listener,
    certificates: Option<Certificates>,
    on_start: fn(),
}

impl Open {
    fn listen(front: &Front, on_start: fn()) -> Result<Open, StartError> {
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
        Ok(Open { runtime, listener, certificates, on_start })
    }

    fn serve(self, front: &Front, ways: Ways, traffic: Arc<Traffic>) -> Result<Door, StartError> {
        let (stop, stopped) = oneshot::channel();
        let Open { runtime, listener, certificates, on_start } = self;
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

/// Lowers the priority of a thread of a door in an engine's process, below the threads that charge.
fn step_back() {
    // It is only an optimization: ignore a refusal of the system.
    let _ = rustix::process::setpriority_process(None, NICE);
}
