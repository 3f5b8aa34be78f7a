//! What a door to nodes and to a store serves.

use scurry_door_entities::EntityStore;
use scurry_door_nchf::NchfDoor;
use scurry_service::Service;
use std::sync::Arc;

/// State shared by the request handlers of a door to nodes and to a store.
pub(crate) struct Shared {
    pub(crate) entities: EntityStore,
    /// The store of accounts; None when the door has no charging.
    pub(crate) store: Option<Arc<dyn Service>>,
    /// The door of 5G to that store.
    pub(crate) nchf: Option<Arc<NchfDoor>>,
}
