//! The entities of a door, as the door composes them with its other services.

use crate::coordinator::Coordinator;
use crate::entities;
use crate::entity;
use crate::entity_openapi;
use crate::entity_settings::EntitySettings;
use crate::membership::Membership;
use crate::node::EntityNode;
use crate::shared::Shared;
use crate::status;
use axum::Router;
use axum::routing::{get, put};
use scurry_http::{Gate, Problem};
use scurry_resp::table::Role;
use scurry_server::Exposition;
use std::sync::Arc;
use tokio::runtime::Handle;

/// Entities on several nodes. Without nodes there are none, and no routes.
#[derive(Clone)]
pub struct EntityStore(Arc<Shared>);

impl EntityStore {
    /// Returns the entities on these nodes, and starts connecting to the nodes.
    pub fn open(settings: EntitySettings, runtime: &Handle) -> EntityStore {
        let node = |address: &String| Arc::new(EntityNode::new(address.clone(), settings.patience));
        let nodes = settings.nodes.iter().map(node).collect();
        let coordinator =
            Coordinator::new(nodes, settings.number, settings.tombstone_ms, settings.patience);
        let coordinator = Arc::new(coordinator);
        let membership = Arc::new(Membership {
            coordinator: Arc::clone(&coordinator),
            patience: settings.patience,
            tombstone_ms: settings.tombstone_ms,
            user: settings.user,
            password: settings.password,
            trust_old_nodes: settings.trust_old_nodes,
        });
        for number in 0..coordinator.nodes.len() {
            runtime.spawn(Arc::clone(&membership).keep(number));
        }
        EntityStore(Arc::new(Shared { coordinator, value_len_max: settings.value_len_max }))
    }

    /// Reports whether there are no nodes.
    pub fn is_empty(&self) -> bool {
        self.0.coordinator.nodes.is_empty()
    }

    /// Returns the routes under `/v0`, each for its role.
    pub fn routes(&self, gate: &Arc<Gate>) -> Router {
        if self.is_empty() {
            return Router::new();
        }
        let entity = gate.only(Role::Read, get(entity::get));
        let write = put(entity::put).delete(entity::delete);
        let entity = entity.merge(gate.only(Role::Charge, write));
        let document = entity_openapi::answer(gate.is_open());
        Router::new()
            .route("/v0/entity", entity)
            .route("/v0/entities", gate.only(Role::Read, get(entities::find)))
            .route("/v0/status", gate.only(Role::Read, get(status::status)))
            .route("/v0/openapi.json", get(async move || document))
            .with_state(Arc::clone(&self.0))
    }

    /// Checks that requests for a majority of the nodes can be answered.
    ///
    /// # Errors
    /// A 503 when too few nodes count.
    pub fn ready(&self) -> Result<(), Problem> {
        status::ready(&self.0.coordinator.nodes)
    }

    /// Writes the metrics of the nodes to a page.
    pub fn show(&self, page: &mut Exposition) {
        status::show(&self.0.coordinator.nodes, page);
    }
}
