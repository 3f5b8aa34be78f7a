//! The door itself: a socket, connections within bounds, and which path goes where.

use crate::charging;
use crate::coordinator::Coordinator;
use crate::entity;
use crate::membership::Membership;
use crate::nchf;
use crate::node::Node;
use crate::problem::Problem;
use crate::resp_store::RespStore;
use crate::service::Service;
use crate::settings::{Settings, StartError};
use crate::status::{self, status};
use axum::Router;
use axum::body::Bytes;
use axum::extract::Request;
use axum::http::StatusCode;
use axum::routing::get;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;
use tokio::sync::{Semaphore, oneshot};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

/// How long a connection may take to send the head of a request, or be idle.
const HEAD_PATIENCE: Duration = Duration::from_secs(60);
/// How long the rest of a request may take.
const BODY_PATIENCE: Duration = Duration::from_secs(30);
/// Of the head of a request, bytes.
const HEAD_LEN_MAX: usize = 128 * 1024;
const HEADERS_MAX: usize = 64;
/// How long requests under way may take at the end.
const DRAIN: Duration = Duration::from_secs(5);
/// After a connection could not be accepted: most likely there are too many open files.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// What every request can reach.
pub(crate) struct Shared {
    pub(crate) coordinator: Arc<Coordinator>,
    /// The store of accounts.
    pub(crate) store: Option<Arc<dyn Service>>,
    value_len_max: usize,
}

/// A door that is open, until it is stopped or dropped.
pub struct Door {
    runtime: Runtime,
    address: SocketAddr,
    stop: oneshot::Sender<()>,
    served: JoinHandle<()>,
}

impl Door {
    /// Listens, and begins to reach for the nodes.
    pub fn open(settings: Settings) -> Result<Door, StartError> {
        settings.check()?;
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        builder.worker_threads(settings.threads).thread_name("http").enable_all();
        let runtime = builder.build().map_err(StartError::Threads)?;
        let refused = |error| StartError::Listen(settings.listen, error);
        let listener = runtime.block_on(TcpListener::bind(settings.listen)).map_err(refused)?;
        let address = listener.local_addr().map_err(refused)?;

        let (user, password) = (settings.user.clone(), settings.password.clone());
        let store: Option<Arc<dyn Service>> = (!settings.store.is_empty()).then(|| {
            let addresses = settings.store.clone();
            Arc::new(RespStore::new(addresses, user, password, settings.patience)) as _
        });
        let nodes = settings.nodes.iter().map(|node| Arc::new(Node::new(node.clone()))).collect();
        let coordinator = Coordinator::new(nodes, settings.number, settings.tombstone_ms);
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
        let (stop, stopped) = oneshot::channel();
        let serving = serve(listener, routes(shared), settings.connections_max, stopped);
        let served = runtime.spawn(serving);
        Ok(Door { runtime, address, stop, served })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Takes no more requests, lets those under way end for a few seconds, and closes.
    pub fn close(self) {
        // An error means that it has ended already.
        let _ = self.stop.send(());
        let _ = self.runtime.block_on(self.served);
        self.runtime.shutdown_timeout(DRAIN);
    }
}

fn routes(shared: Arc<Shared>) -> Router {
    let mut routes = Router::new()
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/readyz", get(status::ready));
    if !shared.coordinator.nodes.is_empty() {
        let entity = get(entity::get).put(entity::put).delete(entity::delete);
        routes = routes.route("/v0/entity", entity).route("/v0/status", get(status));
    }
    let mut routes = routes.with_state(Arc::clone(&shared));
    if let Some(store) = &shared.store {
        for role in charging::ROLES {
            routes = routes.merge(charging::routes(role, store)).merge(nchf::routes(role, store));
        }
    }
    routes
        .fallback(|request: Request| async move {
            let why = why_not_found(&shared, request.uri().path());
            Problem::new(StatusCode::NOT_FOUND, "Not Found", why)
        })
        .method_not_allowed_fallback(|| async {
            let why = "this method means nothing here: see the header Allow";
            Problem::new(StatusCode::METHOD_NOT_ALLOWED, "Method Not Allowed", why)
        })
}

fn why_not_found(shared: &Shared, path: &str) -> &'static str {
    match (path.starts_with("/v0/"), &shared.store) {
        (true, _) if shared.coordinator.nodes.is_empty() => {
            "this door has no entities: start it with --nodes"
        }
        (true, _) => "see /v0/entity and /v0/status",
        (false, None) => "this door has no charging: start it with --store, or see /v0/entity",
        (false, Some(_)) => "see /v1/openapi.json",
    }
}

impl Shared {
    /// The body of a request, within its bounds.
    pub(crate) async fn body(&self, request: Request) -> Result<Bytes, Problem> {
        let body = Limited::new(request.into_body(), self.value_len_max).collect();
        match timeout(BODY_PATIENCE, body).await {
            Ok(Ok(body)) => Ok(body.to_bytes()),
            Ok(Err(error)) if error.is::<LengthLimitError>() => {
                let why = format!("the value has more than {} bytes", self.value_len_max);
                Err(Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "Content Too Large", why))
            }
            Ok(Err(error)) => Err(Problem::bad_request(error)),
            Err(_) => {
                let why = format!("the body took more than {} s", BODY_PATIENCE.as_secs());
                Err(Problem::new(StatusCode::REQUEST_TIMEOUT, "Request Timeout", why))
            }
        }
    }
}

async fn serve(
    listener: TcpListener,
    routes: Router,
    connections_max: usize,
    mut stopped: oneshot::Receiver<()>,
) {
    let graceful = GracefulShutdown::new();
    let places = Arc::new(Semaphore::new(connections_max));
    let mut full = false;
    loop {
        let stream = tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => stream,
                Err(error) => {
                    tracing::warn!(%error, "a connection is not accepted");
                    sleep(ACCEPT_PAUSE).await;
                    continue;
                }
            },
            _ = &mut stopped => break,
        };
        let Ok(place) = Arc::clone(&places).try_acquire_owned() else {
            if !full {
                tracing::warn!(
                    connections_max,
                    "connections are closed at once: there are too many"
                );
            }
            full = true;
            continue;
        };
        full = false;
        let connection = graceful.watch(converse(stream, routes.clone()));
        tokio::spawn(async move {
            // A client that goes away is no fault of anybody's.
            if let Err(error) = connection.await {
                tracing::debug!(%error, "a connection ended");
            }
            drop(place);
        });
    }
    drop(listener);
    tokio::select! {
        () = graceful.shutdown() => {}
        () = sleep(DRAIN) => {}
    }
}

fn converse(
    stream: TcpStream,
    routes: Router,
) -> http1::Connection<TokioIo<TcpStream>, TowerToHyperService<Router>> {
    // Without it an answer may wait for the acknowledgement of the one before.
    let _ = stream.set_nodelay(true);
    http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_PATIENCE)
        .max_buf_size(HEAD_LEN_MAX)
        .max_headers(HEADERS_MAX)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(routes))
}
