//! The routes of a door, and the role that each requires.

use crate::charging;
use crate::direct::Direct;
use crate::entities;
use crate::entity;
use crate::entity_openapi;
use crate::front;
use crate::gate::Gate;
use crate::lookup;
use crate::nchf;
use crate::past;
use crate::shared::Shared;
use crate::status::{self, status};
use crate::traffic::Traffic;
use crate::ways::Ways;
use axum::Router;
use axum::routing::{get, put};
use scurry_resp::table::Role;
use scurry_server::Exposition;
use scurry_stores::Store;
use std::future::ready;
use std::sync::Arc;
use tokio::runtime::Handle;

/// Returns the routes of a door to nodes of entities, to a store, or to both.
pub(crate) fn to_nodes(
    shared: &Arc<Shared>,
    gate: &Arc<Gate>,
    traffic: &Arc<Traffic>,
    runtime: &Handle,
) -> Ways {
    let mut own = Router::new().route("/readyz", get(status::ready));
    if !shared.coordinator.nodes.is_empty() {
        let entity = gate.only(Role::Read, get(entity::get));
        let write = put(entity::put).delete(entity::delete);
        let entity = entity.merge(gate.only(Role::Charge, write));
        own = own
            .route("/v0/entity", entity)
            .route("/v0/entities", gate.only(Role::Read, get(entities::find)))
            .route("/v0/status", gate.only(Role::Read, get(status)));
        let document = entity_openapi::answer(gate.is_open());
        own = own.route("/v0/openapi.json", get(async move || document));
    }
    let metrics = get(status::metrics).with_state((Arc::clone(shared), Arc::clone(traffic)));
    let own = own.with_state(Arc::clone(shared)).route("/metrics", gate.only(Role::Read, metrics));
    let counted = Arc::clone(traffic);
    let own = own.merge(past::keep(gate, runtime, move || {
        let mut page = Exposition::default();
        counted.show(&mut page, []);
        ready(Some(page.into_text()))
    }));
    let own = match &shared.store {
        None => own,
        Some(store) => own.merge(charged(store, gate)),
    };
    let direct = shared.store.as_ref().map(|store| Direct::new(store, gate, traffic));
    let shared = Arc::clone(shared);
    Ways::new(direct, front::routes(own, move |path| why_not_found(&shared, path), traffic))
}

/// Returns the routes of charging, each for the role of its command. The routes that describe the interface itself are
/// for everyone.
pub(crate) fn charged(store: &Arc<dyn Store>, gate: &Arc<Gate>) -> Router {
    let lookup = Router::new().route("/v1/console/account", get(lookup::account));
    let mut all = gate.guard(Role::Read, lookup.with_state(Arc::clone(store)));
    for role in charging::ROLES {
        let routes = charging::routes(role, store, gate.is_open()).merge(nchf::routes(role, store));
        all = all.merge(if role == Role::Anyone { routes } else { gate.guard(role, routes) });
    }
    all
}

/// Returns the advice for an unknown path.
fn why_not_found(shared: &Shared, path: &str) -> &'static str {
    match (path.starts_with("/v0/"), &shared.store) {
        (true, _) if shared.coordinator.nodes.is_empty() => {
            "this door has no entities: start it with --nodes"
        }
        (true, _) => "see /v0/openapi.json",
        (false, None) => "this door has no charging: start it with --store, or see /v0/entity",
        (false, Some(_)) => "see /v1/openapi.json",
    }
}
