//! The state of a door to nodes and to a store, for load balancers and Prometheus: `/readyz` and `/metrics`.

use crate::shared::Shared;
use axum::extract::State;
use axum::http::header;
use axum::response::IntoResponse;
use scurry_door_json::{Retry, refused};
use scurry_http::{DoorMetrics, Problem};
use scurry_server::{Exposition, MetricKind};
use scurry_service::StoreRead;
use std::sync::Arc;

/// Answers 200 when the store answers and a majority of the nodes counts, else 503 or 504.
pub(crate) async fn ready(State(shared): State<Arc<Shared>>) -> Result<&'static str, Problem> {
    if let Some(store) = &shared.store {
        let ready = store.read_store(StoreRead::Ready).await;
        ready.map_err(|error| refused(error, Retry::Read))?;
    }
    shared.entities.ready()?;
    Ok("ready\n")
}

/// Answers 200 with the metrics of the requests, the connections and the nodes.
pub(crate) async fn metrics(
    State((shared, traffic)): State<(Arc<Shared>, Arc<DoorMetrics>)>,
) -> impl IntoResponse {
    let mut page = Exposition::default();
    shared.entities.show(&mut page);
    let help = "1 when the store answers and requests that ask for a majority can be answered.";
    let is_ready = ready(State(Arc::clone(&shared))).await.is_ok();
    page.single("scurry_http_ready", MetricKind::Gauge, help, u8::from(is_ready));
    if let Some(nchf) = &shared.nchf {
        nchf.show(&mut page);
    }
    traffic.show(&mut page, []);
    ([(header::CONTENT_TYPE, Exposition::CONTENT_TYPE)], page.into_text())
}
