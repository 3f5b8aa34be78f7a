//! The routes of a door, and the role that each requires.

use crate::shared::Shared;
use crate::status;
use axum::Router;
use axum::routing::get;
use scurry_door_json::DirectCharging;
use scurry_door_nchf::NchfDoor;
use scurry_http::{DoorMetrics, Gate, RequestHandler, front, metrics_history};
use scurry_resp::table::Role;
use scurry_server::Exposition;
use scurry_service::Service;
use std::future::ready;
use std::sync::Arc;
use tokio::runtime::Handle;

/// Returns the routes of a door to nodes of entities, to a store, or to both. `user` is the route that tells the console
/// its user.
pub(crate) fn to_nodes(
    shared: &Arc<Shared>,
    gate: &Arc<Gate>,
    traffic: &Arc<DoorMetrics>,
    runtime: &Handle,
    user: Router,
) -> RequestHandler {
    let own = Router::new().route("/readyz", get(status::ready)).with_state(Arc::clone(shared));
    let own = own.merge(user).merge(shared.entities.routes(gate));
    let metrics = get(status::metrics).with_state((Arc::clone(shared), Arc::clone(traffic)));
    let own = own.route("/metrics", gate.only(Role::Read, metrics));
    let counted = Arc::clone(traffic);
    let own = own.merge(metrics_history::keep(gate, runtime, move || {
        let mut page = Exposition::default();
        counted.show(&mut page, []);
        ready(Some(page.into_text()))
    }));
    let own = match (&shared.store, &shared.nchf) {
        (Some(store), Some(nchf)) => own.merge(charged(store, nchf, gate)),
        _ => own,
    };
    let direct =
        shared.store.as_ref().map(|store| Box::new(DirectCharging::new(store, gate, traffic)) as _);
    let shared = Arc::clone(shared);
    RequestHandler::new(
        direct,
        front::routes(own, move |path| why_not_found(&shared, path), traffic),
    )
}

/// Returns the routes of all doors to charging.
pub(crate) fn charged(store: &Arc<dyn Service>, nchf: &Arc<NchfDoor>, gate: &Arc<Gate>) -> Router {
    scurry_door_json::routes(store, gate).merge(scurry_door_nchf::routes(nchf, gate))
}

/// Returns the advice for an unknown path.
fn why_not_found(shared: &Shared, path: &str) -> &'static str {
    match (path.starts_with("/v0/"), &shared.store) {
        (true, _) if shared.entities.is_empty() => {
            "this door has no entities: start it with --nodes"
        }
        (true, _) => "see /v0/openapi.json",
        (false, None) => "this door has no charging: start it with --store, or see /v0/entity",
        (false, Some(_)) => "see /v1/openapi.json",
    }
}
