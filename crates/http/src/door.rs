//! The door itself: a socket, connections within bounds, and which path goes where.

use crate::beside;
use crate::charging;
use crate::coordinator::Coordinator;
use crate::door_metrics;
use crate::entities;
use crate::entity;
use crate::form;
use crate::front::{self, Front};
use crate::gate::Gate;
use crate::listener::Listener;
use crate::lookup;
use crate::membership::Membership;
use crate::nchf;
use crate::node::Node;
use crate::problem::Problem;
use crate::resp_store::RespStore;
use crate::service::Service;
use crate::settings::Settings;
use crate::start_error::StartError;
use crate::status::{self, status};
use crate::traffic::Traffic;
use axum::Router;
use axum::body::Bytes;
use axum::extract::Request;
use axum::http::StatusCode;
use axum::routing::{get, put};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use scurry_resp::table::Role;
use scurry_server::Inside;
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::oneshot;
use tokio::time::timeout;

/// How long the rest of a request may take.
const BODY_PATIENCE: Duration = Duration::from_secs(30);
/// How long requests under way may take at the end.
pub(crate) const DRAIN: Duration = Duration::from_secs(5);
/// Of the threads of a door beside an engine, as `nice` counts.
const NICE: i32 = 5;

/// State that every request can reach.
pub(crate) struct Shared {
    pub(crate) coordinator: Arc<Coordinator>,
    /// The store of accounts.
    pub(crate) store: Option<Arc<dyn Service>>,
    value_len_max: usize,
}

/// A door that is open, until it is stopped or dropped.
pub struct Door {
    address: SocketAddr,
    has_tls: bool,
    stop: oneshot::Sender<()>,
    serving: JoinHandle<()>,
}

impl Door {
    /// Listens, and begins to reach for the nodes.
    pub fn open(settings: Settings) -> Result<Door, StartError> {
        settings.check()?;
        let gate = Gate::new(&settings.front)?;
        let open = Open::listen(&settings.front, || {})?;
        let runtime = &open.runtime;

        let (user, password) = (settings.user.clone(), settings.password.clone());
        let store: Option<Arc<dyn Service>> = (!settings.store.is_empty()).then(|| {
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
        let traffic = Traffic::new(open.listener.address, serves);
        let routes = routes(&shared, &gate, &traffic);
        open.serve(&settings.front, routes, traffic)
    }

    /// Listens beside the server that this is the inside of, in its process.
    ///
    /// # Errors
    /// When it must not or cannot listen, with what to do about it.
    pub fn beside(front: &Front, inside: Inside) -> Result<Door, StartError> {
        let gate = Gate::new(front)?;
        let open = Open::listen(front, step_back)?;
        let traffic = Traffic::new(open.listener.address, "charging");
        let routes = beside::routes(inside, &gate, &traffic);
        open.serve(front, routes, traffic)
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Whether it speaks HTTPS.
    pub fn has_tls(&self) -> bool {
        self.has_tls
    }

    /// Takes no more requests, lets those under way end for a few seconds, and closes.
    pub fn close(self) {
        // An error means that it has ended already.
        let _ = self.stop.send(());
        let _ = self.serving.join();
    }
}

/// The door to nodes and to a store: who may ask what of them.
fn routes(shared: &Arc<Shared>, gate: &Arc<Gate>, traffic: &Arc<Traffic>) -> Router {
    let mut own = Router::new().route("/readyz", get(status::ready));
    if !shared.coordinator.nodes.is_empty() {
        let entity = gate.only(Role::Read, get(entity::get));
        let write = put(entity::put).delete(entity::delete);
        let entity = entity.merge(gate.only(Role::Charge, write));
        own = own
            .route("/v0/entity", entity)
            .route("/v0/entities", gate.only(Role::Read, get(entities::find)))
            .route("/v0/status", gate.only(Role::Read, get(status)));
    }
    let metrics = get(door_metrics::page).with_state((Arc::clone(shared), Arc::clone(traffic)));
    let own = own.with_state(Arc::clone(shared)).route("/metrics", gate.only(Role::Read, metrics));
    let own = match &shared.store {
        None => own,
        Some(store) => own.merge(charged(store, gate)),
    };
    let shared = Arc::clone(shared);
    front::routes(own, move |path| why_not_found(&shared, path), traffic)
}

/// The resources of charging, each for the role of its command. What tells of the interface itself is
/// for everybody.
pub(crate) fn charged(store: &Arc<dyn Service>, gate: &Arc<Gate>) -> Router {
    let lookup = Router::new().route("/v1/console/account", get(lookup::account));
    let mut all = gate.guard(Role::Read, lookup.with_state(Arc::clone(store)));
    for role in charging::ROLES {
        let routes = charging::routes(role, store, gate.is_open()).merge(nchf::routes(role, store));
        all = all.merge(if role == Role::Anyone { routes } else { gate.guard(role, routes) });
    }
    all
}

fn why_not_found(shared: &Shared, path: &str) -> &'static str {
    match (path.starts_with("/v0/"), &shared.store) {
        (true, _) if shared.coordinator.nodes.is_empty() => {
            "this door has no entities: start it with --nodes"
        }
        (true, _) => "see /v0/entity, /v0/entities and /v0/status",
        (false, None) => "this door has no charging: start it with --store, or see /v0/entity",
        (false, Some(_)) => "see /v1/openapi.json",
    }
}

/// A socket that listens, and what will serve it.
struct Open {
    runtime: Runtime,
    listener: Listener,
    on_start: fn(),
}

impl Open {
    fn listen(front: &Front, on_start: fn()) -> Result<Open, StartError> {
        front.check()?;
        let tls = front.tls()?;
        // One thread serves all by itself: nobody else can wake it, and it looks for nobody's work.
        let mut builder = match front.threads {
            1 => Builder::new_current_thread(),
            _ => Builder::new_multi_thread(),
        };
        builder.worker_threads(front.threads).thread_name("http").enable_all();
        builder.on_thread_start(on_start);
        let runtime = builder.build().map_err(StartError::Threads)?;
        let listener = runtime.block_on(Listener::open(front, tls))?;
        Ok(Open { runtime, listener, on_start })
    }

    fn serve(
        self,
        front: &Front,
        routes: Router,
        traffic: Arc<Traffic>,
    ) -> Result<Door, StartError> {
        let (stop, stopped) = oneshot::channel();
        let Open { runtime, listener, on_start } = self;
        let (address, connections_max) = (listener.address, front.connections_max);
        let serving = thread::Builder::new().name("http".to_owned()).spawn(move || {
            on_start();
            runtime.block_on(listener.serve(routes, connections_max, traffic, stopped));
            runtime.shutdown_timeout(DRAIN);
        });
        let serving = serving.map_err(StartError::Threads)?;
        Ok(Door { address, has_tls: front.tls.is_some(), stop, serving })
    }
}

/// The threads of a door beside an engine give way to those that charge.
fn step_back() {
    // Of no consequence where the system refuses.
    let _ = rustix::process::setpriority_process(None, NICE);
}

impl Shared {
    /// The body of a request, within its bounds.
    pub(crate) async fn body(&self, request: Request) -> Result<Bytes, Problem> {
        let too_long = || {
            let why = format!("the value has more than {} bytes", self.value_len_max);
            Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "Content Too Large", why)
        };
        let body = request.into_body();
        if form::is_too_long(&body, self.value_len_max) {
            return Err(too_long());
        }
        let body = Limited::new(body, self.value_len_max).collect();
        match timeout(BODY_PATIENCE, body).await {
            Ok(Ok(body)) => Ok(body.to_bytes()),
            Ok(Err(error)) if error.is::<LengthLimitError>() => Err(too_long()),
            Ok(Err(error)) => Err(Problem::bad_request(error)),
            Err(_) => {
                let why = format!("the body took more than {} s", BODY_PATIENCE.as_secs());
                Err(Problem::new(StatusCode::REQUEST_TIMEOUT, "Request Timeout", why))
            }
        }
    }
}
