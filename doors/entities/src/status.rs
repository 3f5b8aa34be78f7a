//! The state of the nodes, for people, load balancers and Prometheus.

use crate::node::{EntityNode, NodeLink};
use crate::quorum::Quorum;
use crate::shared::Shared;
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use scurry_http::Problem;
use scurry_server::{Exposition, MetricKind};
use serde::Serialize;
use std::sync::Arc;

#[derive(Serialize)]
pub(crate) struct Status {
    /// A request without `replicas` can be answered.
    ready: bool,
    /// The quorum of a request without `replicas`, as `ack/from`.
    replicas: String,
    nodes: Vec<NodeStatus>,
}

#[derive(Serialize)]
struct NodeStatus {
    address: String,
    /// `ready`, `not ready` or `away`.
    state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
    /// When the node came into this state, by the clock of this door, ms.
    since_ms: i64,
}

/// Answers 200 with the state of the nodes, as long as the door is up.
pub(crate) async fn status(State(shared): State<Arc<Shared>>) -> Json<Status> {
    let nodes = &shared.coordinator.nodes;
    let quorum = Quorum::majority(nodes.len());
    let nodes: Vec<NodeStatus> = nodes
        .iter()
        .map(|node| {
            let (link, since) = node.link_since();
            let (state, why) = match link {
                NodeLink::Ready(_) => ("ready", None),
                NodeLink::NotReady(lack) => ("not ready", Some(lack.lack.text().to_owned())),
                NodeLink::Away(why) => ("away", Some(why)),
            };
            NodeStatus { address: node.address.clone(), state, why, since_ms: since.0 }
        })
        .collect();
    let ready = nodes.iter().filter(|node| node.state == "ready").count() >= quorum.ack();
    Json(Status { ready, replicas: format!("{}/{}", quorum.ack(), quorum.from()), nodes })
}

/// Checks that a majority of the nodes counts, if there are nodes. Returns a 503 otherwise.
pub(crate) fn ready(nodes: &[Arc<EntityNode>]) -> Result<(), Problem> {
    if nodes.is_empty() {
        return Ok(());
    }
    let ready = nodes.iter().filter(|node| matches!(node.link(), NodeLink::Ready(_))).count();
    if ready >= Quorum::majority(nodes.len()).ack() {
        return Ok(());
    }
    let why = format!("{ready} of {} nodes are ready: see /v0/status", nodes.len());
    Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, "Service Unavailable", why))
}

/// Writes the metrics of the nodes to a page.
pub(crate) fn show(nodes: &[Arc<EntityNode>], page: &mut Exposition) {
    let help = "1 for the state that the node is in. Answers of a node count when it is ready.";
    page.metric("scurry_http_node_state", MetricKind::Gauge, help);
    for node in nodes {
        let (link, _) = node.link_since();
        let states = [
            ("ready", matches!(link, NodeLink::Ready(_))),
            ("not_ready", matches!(link, NodeLink::NotReady(_))),
            ("away", matches!(link, NodeLink::Away(_))),
        ];
        for (state, is_so) in states {
            page.sample(&[("node", &node.address), ("state", state)], u8::from(is_so));
        }
    }
    let help = "When the node came into this state, by the clock of the door.";
    page.metric("scurry_http_node_state_since_timestamp_seconds", MetricKind::Gauge, help);
    for node in nodes {
        let (_, since) = node.link_since();
        page.sample(&[("node", &node.address)], since.0 as f64 / 1e3);
    }
}
