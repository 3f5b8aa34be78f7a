//! What every door has in front of its own routes: where it listens and for whom, the console, a
//! sign of life, and answers to what leads nowhere.

use crate::form;
use crate::options;
use crate::problem::Problem;
use crate::start_error::StartError;
use crate::traffic::{self, Traffic};
use axum::Router;
use axum::extract::Request;
use axum::http::{StatusCode, header};
use axum::middleware::{from_fn, from_fn_with_state};
use axum::response::IntoResponse;
use axum::routing::get;
use rustls::ServerConfig;
use scurry_server::{Certificates, TlsSettings, Users};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

const CONSOLE: &str = include_str!("console.html");

/// The console brings everything along, and may reach nothing but this door.
const CONSOLE_POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'; \
     img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Where a door listens, and for whom.
#[derive(Clone, Debug)]
pub struct Front {
    /// Address and port; port 0 takes a free one.
    pub listen: SocketAddr,
    /// The option that says so.
    pub listen_option: &'static str,
    /// Connections at most.
    pub connections_max: usize,
    /// Threads.
    pub threads: usize,
    /// With a certificate the door speaks HTTPS, and nothing else.
    pub tls: Option<TlsSettings>,
    /// Users who may come in, and what they may do.
    pub users: Arc<Users>,
    /// Listen beyond this machine although everybody may come in.
    pub open_access_allowed: bool,
    /// The option that says so.
    pub open_access_option: &'static str,
    /// Names of hosts that it is asked by, and whose pages may ask it, beside its own addresses.
    pub hosts: Vec<String>,
    /// The option that names them.
    pub hosts_option: &'static str,
}

/// TLS as a door speaks it.
#[derive(Clone)]
pub(crate) struct Tls {
    pub(crate) certificates: Certificates,
    /// How long a handshake may take.
    pub(crate) patience: Duration,
}

impl Tls {
    /// The server's side of a connection that begins now.
    pub(crate) fn config(&self) -> Arc<ServerConfig> {
        self.certificates.current()
    }
}

impl Front {
    /// Refuses to listen where everybody could come in who reaches the address.
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
        let certificates = Certificates::read(settings, &[b"http/1.1"])?;
        Ok(Some(Tls { certificates, patience: Duration::from_millis(ms) }))
    }
}

/// A door's own routes, with what all doors have around them. `hint` tells who is lost where to go.
pub(crate) fn routes(
    own: Router,
    hint: impl Fn(&str) -> &'static str + Clone + Send + Sync + 'static,
    traffic: &Arc<Traffic>,
) -> Router {
    own.route("/", get(console))
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

/// `/`: the console, one page that shows what `/metrics` says, live. It holds no data itself, so
/// everybody may load it; what it asks for asks who it is for.
async fn console() -> impl IntoResponse {
    let headers = [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CONTENT_SECURITY_POLICY, CONSOLE_POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-cache"),
    ];
    (headers, CONSOLE)
}
