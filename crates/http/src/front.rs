//! Routes and settings that every door has: its address, its users, the console, `/healthz`, and the answers to unknown
//! paths and methods.

use crate::bounds::{ALPN_HTTP1, ALPN_HTTP2};
use crate::console::{self, UnitDecimals};
use crate::form;
use crate::options;
use crate::problem::Problem;
use crate::start_error::StartError;
use crate::traffic::{self, DoorMetrics};
use axum::Router;
use axum::extract::Request;
use axum::http::StatusCode;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::response::IntoResponse;
use axum::routing::get;
use rustls::ServerConfig;
use scurry_server::Users;
use scurry_tls::{Certificates, TlsSettings};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

/// Address, users and limits of a door.
#[derive(Clone, Debug)]
pub struct DoorSettings {
    /// Address and port to listen on; port 0 takes a free one.
    pub listen: SocketAddr,
    /// Name of the option that sets `listen`, for messages.
    pub listen_option: &'static str,
    /// Maximum number of connections.
    pub connections_max: usize,
    /// Number of threads that serve connections.
    pub threads: usize,
    /// Certificate and TLS settings. With them the door serves HTTPS alone.
    pub tls: Option<TlsSettings>,
    /// Users who may connect, and their roles.
    pub users: Arc<Users>,
    /// Allows an address beyond this machine although no credentials are required.
    pub open_access_allowed: bool,
    /// Name of the option that sets `open_access_allowed`, for messages.
    pub open_access_option: &'static str,
    /// Host names of this door, beside its own addresses. Their web pages may send requests too.
    pub hosts: Vec<String>,
    /// Name of the option that sets `hosts`, for messages.
    pub hosts_option: &'static str,
    /// Decimals of units, for the console.
    pub unit_decimals: UnitDecimals,
}

/// TLS of a door.
#[derive(Clone)]
pub(crate) struct Tls {
    pub(crate) certificates: Certificates,
    /// Timeout of a handshake.
    pub(crate) patience: Duration,
}

impl Tls {
    /// Returns the server's TLS configuration for a new connection.
    pub(crate) fn config(&self) -> Arc<ServerConfig> {
        self.certificates.current()
    }
}

impl DoorSettings {
    /// Refuses an address beyond loopback that needs neither user nor client certificate, unless open access is
    /// allowed.
    pub(crate) fn check(&self) -> Result<(), StartError> {
        let demands = self.tls.as_ref().is_some_and(|tls| tls.client_ca.is_some());
        let is_guarded = !self.users.is_open() || demands;
        if is_guarded || self.listen.ip().is_loopback() || self.open_access_allowed {
            return Ok(());
        }
        Err(StartError::OpenAccess(self.listen, self.open_access_option))
    }

    pub(crate) fn tls(&self) -> Result<Option<Tls>, StartError> {
        let Some(settings) = &self.tls else { return Ok(None) };
        let ms = u64::try_from(settings.handshake_ms_max).unwrap_or_default();
        let certificates = Certificates::read(settings, &[ALPN_HTTP2, ALPN_HTTP1])?;
        Ok(Some(Tls { certificates, patience: Duration::from_millis(ms) }))
    }
}

/// Adds the common routes and layers to a door's own routes. `hint` returns the advice for an unknown path.
pub fn routes(
    own: Router,
    hint: impl Fn(&str) -> &'static str + Clone + Send + Sync + 'static,
    traffic: &Arc<DoorMetrics>,
) -> Router {
    own.merge(console::routes())
        .route("/healthz", get(|| async { "ok\n" }))
        .fallback(move |request: Request| {
            let path = request.uri().path();
            let problem = Problem::new(StatusCode::NOT_FOUND, "Not Found", hint(path)).at(path);
            let answer = options::of_door(&request).unwrap_or_else(|| problem.into_response());
            async move { answer }
        })
        .method_not_allowed_fallback(|request: Request| async move {
            let why = "this method means nothing here: see the header Allow";
            let status = StatusCode::METHOD_NOT_ALLOWED;
            let problem = Problem::new(status, "Method Not Allowed", why).at(request.uri().path());
            options::of_path(&request).unwrap_or_else(|| problem.into_response())
        })
        .layer(from_fn(form::check))
        .layer(from_fn_with_state(Arc::clone(traffic), traffic::count))
}
