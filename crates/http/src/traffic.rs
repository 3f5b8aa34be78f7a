//! Metrics of a door: requests by route, method and status, their durations, and connections.

use crate::client_errors::{ClientFault, ClientFaultLog};
use axum::extract::{MatchedPath, Request, State};
use axum::http::Method;
use axum::middleware::Next;
use axum::response::Response;
use rustix::system::uname;
use scurry_server::{Exposition, Histogram, MetricKind, show_certificates};
use scurry_tls::{Certificates, Expiry};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Metrics of one door, with the labels that identify it.
pub struct DoorMetrics {
    /// Address that it listens on.
    listen: SocketAddr,
    /// Label for its services, such as `charging`.
    serves: &'static str,
    /// None when it has no TLS.
    certificates: Option<Certificates>,
    requests: Mutex<Requests>,
    connections: AtomicU64,
    accepted: AtomicU64,
    refused: AtomicU64,
    /// Connections and requests of each version of HTTP.
    connections_of: [AtomicU64; HttpVersion::ALL.len()],
    requests_of: [AtomicU64; HttpVersion::ALL.len()],
    pub(crate) misdeeds: ClientFaultLog,
}

/// Metrics by route. Routes, methods and statuses are few: a route is the door's own name of a path, not the path of a
/// request.
type Requests = BTreeMap<String, RouteMetrics>;

/// Metrics of one route.
#[derive(Default)]
struct RouteMetrics {
    /// Number of requests by method and status.
    answered: BTreeMap<(&'static str, u16), u64>,
    durations: Histogram,
}

/// A version of HTTP that a connection speaks.
#[derive(Clone, Copy)]
pub(crate) enum HttpVersion {
    /// HTTP/1.1, and HTTP/1.0.
    Http1,
    /// HTTP/2.
    Http2,
}

impl HttpVersion {
    const ALL: [HttpVersion; 2] = [HttpVersion::Http1, HttpVersion::Http2];

    /// Returns its label.
    fn name(self) -> &'static str {
        match self {
            HttpVersion::Http1 => "1.1",
            HttpVersion::Http2 => "2",
        }
    }
}

/// An open connection, which is counted until this is dropped.
pub(crate) struct ConnectionCount(Arc<DoorMetrics>);

impl Drop for ConnectionCount {
    fn drop(&mut self) {
        self.0.connections.fetch_sub(1, Ordering::Relaxed);
    }
}

impl DoorMetrics {
    pub(crate) fn new(
        listen: SocketAddr,
        serves: &'static str,
        certificates: Option<Certificates>,
    ) -> Arc<DoorMetrics> {
        Arc::new(DoorMetrics {
            listen,
            serves,
            certificates,
            requests: Mutex::default(),
            connections: AtomicU64::new(0),
            accepted: AtomicU64::new(0),
            refused: AtomicU64::new(0),
            connections_of: Default::default(),
            requests_of: Default::default(),
            misdeeds: ClientFaultLog::default(),
        })
    }

    /// Counts a new connection.
    pub(crate) fn connected(self: &Arc<DoorMetrics>) -> ConnectionCount {
        self.accepted.fetch_add(1, Ordering::Relaxed);
        self.connections.fetch_add(1, Ordering::Relaxed);
        ConnectionCount(Arc::clone(self))
    }

    /// Counts a connection that was closed because there are too many.
    pub(crate) fn refused(&self) {
        self.refused.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a connection whose version of HTTP is known.
    pub(crate) fn connection_of(&self, version: HttpVersion) {
        self.connections_of[version as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a request.
    pub(crate) fn request_of(&self, version: HttpVersion) {
        self.requests_of[version as usize].fetch_add(1, Ordering::Relaxed);
    }

    fn requests(&self) -> MutexGuard<'_, Requests> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes the metrics to a page, with the expiry of the door's certificates and of `others`.
    pub fn show(
        &self,
        page: &mut Exposition,
        others: impl IntoIterator<Item = (&'static str, Option<Expiry>)>,
    ) {
        let own = ("http", self.certificates.as_ref().and_then(Certificates::expiry));
        show_certificates(page, others.into_iter().chain([own]));
        let (machine, listen) = (uname(), self.listen.to_string());
        page.metric(
            "scurry_http_info",
            MetricKind::Gauge,
            "Always 1; the labels say which door this is.",
        );
        let labels = [
            ("version", env!("CARGO_PKG_VERSION")),
            ("machine", &machine.nodename().to_string_lossy()),
            ("listen", &listen),
            ("serves", self.serves),
        ];
        page.sample(&labels, 1);
        let requests = self.requests();
        let help = "Requests that were answered, by the door's own name of the path.";
        page.metric("scurry_http_requests_total", MetricKind::Counter, help);
        for (route, of_route) in &*requests {
            for ((method, status), count) in &of_route.answered {
                let status = status.to_string();
                let labels = [("route", &route[..]), ("method", method), ("status", &status)];
                page.sample(&labels, count);
            }
        }
        let help = "From the head of a request until its answer was made.";
        page.metric("scurry_http_request_duration_seconds", MetricKind::Histogram, help);
        for (route, RouteMetrics { durations: histogram, .. }) in &*requests {
            page.histogram(&[("route", route)], histogram.cumulative(), histogram.sum_seconds());
        }
        let load = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let help = "Open connections of the HTTP door.";
        page.single("scurry_http_connections", MetricKind::Gauge, help, load(&self.connections));
        let help = "Connections that the HTTP door has taken in.";
        let name = "scurry_http_connections_accepted_total";
        page.single(name, MetricKind::Counter, help, load(&self.accepted));
        let help = "Connections that were closed at once because there were too many.";
        let name = "scurry_http_connections_refused_total";
        page.single(name, MetricKind::Counter, help, load(&self.refused));
        let help = "Connections by version of HTTP, counted at their first bytes.";
        page.metric("scurry_http_version_connections_total", MetricKind::Counter, help);
        for version in HttpVersion::ALL {
            let count = load(&self.connections_of[version as usize]);
            page.sample(&[("version", version.name())], count);
        }
        let help = "Requests by version of HTTP, counted when they begin.";
        page.metric("scurry_http_version_requests_total", MetricKind::Counter, help);
        for version in HttpVersion::ALL {
            let count = load(&self.requests_of[version as usize]);
            page.sample(&[("version", version.name())], count);
        }
    }
}

/// Counts a request, whatever its answer is.
pub(crate) async fn count(
    State(traffic): State<Arc<DoorMetrics>>,
    request: Request,
    next: Next,
) -> Response {
    let begun = RequestTimer::now(request.method());
    let route = request.extensions().get::<MatchedPath>().cloned();
    let response = next.run(request).await;
    traffic.answered(&begun, route.as_ref().map(MatchedPath::as_str), response)
}

/// A request that has no answer yet.
pub struct RequestTimer {
    at: Instant,
    method: &'static str,
}

impl RequestTimer {
    /// Returns a request that begins now.
    #[expect(clippy::disallowed_methods, reason = "a duration, which decides nothing")]
    pub fn now(method: &Method) -> RequestTimer {
        RequestTimer { at: Instant::now(), method: known(method) }
    }
}

impl DoorMetrics {
    /// Counts an answered request. `route` is None when the path is unknown. Marks the answer when the client has done
    /// something wrong.
    pub fn answered(
        &self,
        begun: &RequestTimer,
        route: Option<&str>,
        mut response: Response,
    ) -> Response {
        if let Some(misdeed) = ClientFault::of_answer(response.status(), route.is_none()) {
            // The client's address is known to the connection, which logs the error.
            response.extensions_mut().insert(misdeed);
        }
        let duration_ns = u64::try_from(begun.at.elapsed().as_nanos()).unwrap_or(u64::MAX);
        let route = route.unwrap_or("other");
        let mut requests = self.requests();
        // Copies the name of a route only when it is new.
        if !requests.contains_key(route) {
            requests.insert(route.to_owned(), RouteMetrics::default());
        }
        if let Some(of_route) = requests.get_mut(route) {
            of_route.durations.note(duration_ns);
            *of_route.answered.entry((begun.method, response.status().as_u16())).or_default() += 1;
        }
        drop(requests);
        response
    }
}

/// Returns a method as a label: clients may send any word as a method.
fn known(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::PATCH => "PATCH",
        Method::DELETE => "DELETE",
        Method::OPTIONS => "OPTIONS",
        _ => "other",
    }
}
