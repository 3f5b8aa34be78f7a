//! `/metrics` of a door to nodes: its own requests, and what it knows of the nodes.

use crate::node::Link;
use crate::shared::Shared;
use crate::status;
use crate::traffic::Traffic;
use axum::extract::State;
use axum::http::header;
use axum::response::IntoResponse;
use scurry_server::{Exposition, Kind};
use std::sync::Arc;

pub(crate) async fn page(
    State((shared, traffic)): State<(Arc<Shared>, Arc<Traffic>)>,
) -> impl IntoResponse {
    let mut page = Exposition::default();
    let nodes = &shared.coordinator.nodes;
    let help = "1 for the state that the node is in. Answers of a node count when it is ready.";
    page.metric("scurry_http_node_state", Kind::Gauge, help);
    for node in nodes {
        let (link, _) = node.link_since();
        let states = [
            ("ready", matches!(link, Link::Ready(_))),
            ("not_ready", matches!(link, Link::NotReady(_))),
            ("away", matches!(link, Link::Away(_))),
        ];
        for (state, is_so) in states {
            page.sample(&[("node", &node.address), ("state", state)], u8::from(is_so));
        }
    }
    let help = "When the node came into this state, by the clock of the door.";
    page.metric("scurry_http_node_state_since_timestamp_seconds", Kind::Gauge, help);
    for node in nodes {
        let (_, since) = node.link_since();
        page.sample(&[("node", &node.address)], since.0 as f64 / 1e3);
    }
    let help = "1 when the store answers and requests that ask for a majority can be answered.";
    let is_ready = status::ready(State(Arc::clone(&shared))).await.is_ok();
    page.single("scurry_http_ready", Kind::Gauge, help, u8::from(is_ready));
    traffic.show(&mut page);
    ([(header::CONTENT_TYPE, Exposition::CONTENT_TYPE)], page.into_text())
}
