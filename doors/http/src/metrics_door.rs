//! An HTTP port with metrics and health alone, for programs that serve nothing else over HTTP.

use axum::Router;
use axum::http::header;
use axum::routing::get;
use scurry_http::{Door, DoorSettings, Gate, Opening, RequestHandler, StartError, front};
use scurry_resp::table::Role;
use scurry_server::Exposition;
use std::sync::Arc;

/// Writes metrics to a page.
pub type MetricsPage = dyn Fn(&mut Exposition) + Send + Sync;

/// Opens a door with `/metrics` and `/healthz`. `serves` is the label of the door's own metrics.
///
/// # Errors
/// When it must not or cannot listen. The error says what to do about it.
pub fn open_metrics(
    settings: &DoorSettings,
    serves: &'static str,
    page: Arc<MetricsPage>,
) -> Result<Door, StartError> {
    let gate = Gate::new(settings)?;
    let opening = Opening::listen(settings, || {})?;
    let traffic = opening.traffic(serves);
    let shown = Arc::clone(&traffic);
    let metrics = move || async move {
        let mut text = Exposition::default();
        page(&mut text);
        shown.show(&mut text, []);
        ([(header::CONTENT_TYPE, Exposition::CONTENT_TYPE)], text.into_text())
    };
    let routes = gate.guard(Role::Read, Router::new().route("/metrics", get(metrics)));
    let hint = |_: &str| "this port has /metrics and /healthz";
    let ways = RequestHandler::new(None, front::routes(routes, hint, &traffic));
    opening.serve(settings, ways, traffic)
}
