//! The HTTP door that runs in the process of an engine: its routes, its readiness and its metrics.

use crate::diameter;
use crate::routes::charged;
use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use axum::routing::get;
use scurry_door_diameter::DoorView;
use scurry_door_json::{DirectCharging, Retry, refused};
use scurry_door_nchf::NchfDoor;
use scurry_http::{DoorMetrics, Gate, Problem, RequestHandler, front, metrics_history};
use scurry_resp::table::Role;
use scurry_server::{CoreAccess, Exposition, Measurement};
use scurry_service::{Service, StoreRead};
use std::sync::Arc;
use tokio::runtime::Handle;
use tokio::task::spawn_blocking;

/// What the door serves.
pub(crate) struct DoorParts {
    pub(crate) inside: CoreAccess,
    pub(crate) store: Arc<dyn Service>,
    /// The Diameter door of the server, if it has one.
    pub(crate) diameter: Option<DoorView>,
    pub(crate) nchf: Arc<NchfDoor>,
}

/// State shared by the request handlers of this door.
pub(crate) struct EmbeddedDoor {
    parts: DoorParts,
    traffic: Arc<DoorMetrics>,
}

pub(crate) fn routes(
    parts: DoorParts,
    gate: &Arc<Gate>,
    traffic: &Arc<DoorMetrics>,
    runtime: &Handle,
    user: Router,
) -> RequestHandler {
    let (store, nchf) = (Arc::clone(&parts.store), Arc::clone(&parts.nchf));
    let peers = parts.diameter.clone().map(|view| diameter::routes(view, gate));
    let beside = Arc::new(EmbeddedDoor { parts, traffic: Arc::clone(traffic) });
    let kept = Arc::clone(&beside);
    // Samples the same page for the console's history.
    let past = metrics_history::keep(gate, runtime, move || {
        let beside = Arc::clone(&kept);
        async move { beside.page().await.ok() }
    });
    let guarded = Router::new().route("/metrics", get(metrics));
    let own = gate.guard(Role::Read, guarded).route("/readyz", get(ready)).with_state(beside);
    let own = own.merge(user).merge(past).merge(charged(&store, &nchf, gate));
    let own = peers.into_iter().fold(own, Router::merge);
    let hint = |_: &str| "see /v1/openapi.json, /metrics and the console at /";
    RequestHandler::new(
        Some(Box::new(DirectCharging::new(&store, gate, traffic))),
        front::routes(own, hint, traffic),
    )
}

impl EmbeddedDoor {
    async fn measure(&self) -> Result<Measurement, Problem> {
        let inside = self.parts.inside.clone();
        spawn_blocking(move || inside.measure()).await.map_err(|_| unavailable("it stops"))
    }

    /// Returns the page of metrics, in Prometheus' text format.
    async fn page(&self) -> Result<String, Problem> {
        let measurement = self.measure().await?;
        let mut page = measurement.page();
        if let Some(view) = &self.parts.diameter {
            diameter::show(view, &mut page);
        }
        self.parts.nchf.show(&mut page);
        self.traffic.show(&mut page, measurement.certificates());
        Ok(page.into_text())
    }
}

/// Returns a 503 problem: a balancer should send no requests here.
fn unavailable(why: impl ToString) -> Problem {
    Problem::new(StatusCode::SERVICE_UNAVAILABLE, "Service Unavailable", why)
}

async fn metrics(State(beside): State<Arc<EmbeddedDoor>>) -> Result<impl IntoResponse, Problem> {
    Ok(([(header::CONTENT_TYPE, Exposition::CONTENT_TYPE)], beside.page().await?))
}

/// Answers 200 when every core answers and its log takes changes, else 503 with the reason. On a follower of a group it
/// also sends a read through this door, which the leader answers.
async fn ready(State(beside): State<Arc<EmbeddedDoor>>) -> Result<&'static str, Problem> {
    if let Some(why) = beside.measure().await?.trouble() {
        return Err(unavailable(why));
    }
    if !beside.parts.inside.leads() {
        let ready = beside.parts.store.read_store(StoreRead::Ready).await;
        ready.map_err(|error| refused(error, Retry::Read))?;
    }
    Ok("ready\n")
}
