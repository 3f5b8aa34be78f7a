//! The HTTP port of `scurry diameter`: health, metrics and the console, without charging.

use super::{routes, show};
use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use axum::routing::get;
use scurry_door_diameter::DoorView;
use scurry_door_json::{Retry, refused};
use scurry_http::{
    Door, DoorMetrics, DoorSettings, Gate, Opening, Problem, RequestHandler, StartError, front,
    metrics_history,
};
use scurry_resp::table::Role;
use scurry_server::{Exposition, MetricKind};
use scurry_service::{Service, StoreRead};
use std::future::ready;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;

/// How long the store may take: a page of metrics comes in time although requests wait longer.
const READY_PATIENCE: Duration = Duration::from_secs(1);

struct BesideDiameter {
    view: DoorView,
    /// The store that the Diameter door charges.
    store: Arc<dyn Service>,
    traffic: Arc<DoorMetrics>,
}

/// Opens a door that shows the state of a Diameter door in this process. `store` is asked whether it answers.
///
/// # Errors
/// When it must not or cannot listen. The error says what to do about it.
pub fn open_beside_diameter(
    settings: &DoorSettings,
    view: DoorView,
    store: Arc<dyn Service>,
) -> Result<Door, StartError> {
    let gate = Gate::new(settings)?;
    let opening = Opening::listen(settings, || {})?;
    let traffic = opening.traffic("diameter");
    let own = Arc::new(BesideDiameter { view: view.clone(), store, traffic: Arc::clone(&traffic) });
    let kept = Arc::clone(&own);
    let past = metrics_history::keep(&gate, opening.runtime(), move || {
        let mut page = Exposition::default();
        kept.traffic.show(&mut page, []);
        ready(Some(page.into_text()))
    });
    let guarded = Router::new().route("/metrics", get(metrics));
    let shown = gate.guard(Role::Read, guarded).route("/readyz", get(is_ready)).with_state(own);
    let shown = shown.merge(past).merge(routes(view, &gate));
    let hint = |_: &str| "this port has /metrics, /healthz, /readyz and the console at /";
    let ways = RequestHandler::new(None, front::routes(shown, hint, &traffic));
    opening.serve(settings, ways, traffic)
}

/// Answers 200 when the store answers within a second, else 503 or 504.
async fn is_ready(State(own): State<Arc<BesideDiameter>>) -> Result<&'static str, Problem> {
    let ready = timeout(READY_PATIENCE, own.store.read_store(StoreRead::Ready)).await;
    let late = |_| {
        let why = "the store has not answered within a second";
        Problem::new(StatusCode::SERVICE_UNAVAILABLE, "Service Unavailable", why)
    };
    ready.map_err(late)?.map_err(|error| refused(error, Retry::Read))?;
    Ok("ready\n")
}

async fn metrics(State(own): State<Arc<BesideDiameter>>) -> impl IntoResponse {
    let mut page = Exposition::default();
    show(&own.view, &mut page);
    let is_well = is_ready(State(Arc::clone(&own))).await.is_ok();
    let help = "1 when the store answers.";
    page.single("scurry_http_ready", MetricKind::Gauge, help, u8::from(is_well));
    own.traffic.show(&mut page, []);
    ([(header::CONTENT_TYPE, Exposition::CONTENT_TYPE)], page.into_text())
}
