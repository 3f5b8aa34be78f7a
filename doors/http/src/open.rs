//! Opens the doors of the binary: `scurry http` to nodes and to a store, and the door of `scurry serve` to the server
//! in the same process.

use crate::embedded_door::{self, DoorParts};
use crate::open_error::OpenError;
use crate::routes;
use crate::settings::{NchfPart, Settings};
use crate::shared::Shared;
use scurry_door_diameter::DoorView;
use scurry_door_entities::EntityStore;
use scurry_door_nchf::{NchfDoor, NchfError};
use scurry_http::{Door, DoorSettings, Gate, Opening, console_user};
use scurry_server::CoreAccess;
use scurry_service::Service;
use scurry_stores::{Engine, RespStore};
use std::sync::Arc;
use tokio::runtime::Handle;

/// Niceness of the threads of a door in an engine's process, so that the engine's threads come first.
const NICE: i32 = 5;

/// An open door, and its part for 5G, whose table of services can be replaced. None without a store.
pub type OpenDoor = (Door, Option<Arc<NchfDoor>>);

/// Opens a door to nodes of entities, to a store, or to both: listens, and starts connecting to the nodes.
///
/// # Errors
/// When the settings are wrong, or it must not or cannot listen. The error says what to do about it.
pub fn open(settings: Settings) -> Result<OpenDoor, OpenError> {
    settings.check()?;
    let gate = Gate::new(&settings.front)?;
    let opening = Opening::listen(&settings.front, || {})?;
    let Settings { front, store, entities, nchf } = settings;
    let resp_store = {
        let (user, password) = (entities.user.clone(), entities.password.clone());
        let (nodes, patience) = (store.clone(), entities.patience);
        move || -> Arc<dyn Service> {
            Arc::new(RespStore::new(nodes.clone(), user.clone(), password.clone(), patience))
        }
    };
    let store = (!store.is_empty()).then(&resp_store);
    let entities = EntityStore::open(entities, opening.runtime());
    let nchf = store
        .as_ref()
        .map(|store| nchf_door(store, |_| resp_store(), nchf, opening.address().port()))
        .transpose()?;
    let shared = Arc::new(Shared { entities, store, nchf: nchf.clone() });
    let serves = match (shared.store.is_some(), shared.entities.is_empty()) {
        (true, true) => "charging",
        (true, false) => "charging, entities",
        (false, _) => "entities",
    };
    let traffic = opening.traffic(serves);
    let user = console_user::route(&gate, &front.unit_decimals);
    let ways = routes::to_nodes(&shared, &gate, &traffic, opening.runtime(), user);
    Ok((opening.serve(&front, ways, traffic)?, nchf))
}

/// Makes the door of 5G. Connections belong to the thread that has made them, so `events` makes a store of its own.
fn nchf_door(
    store: &Arc<dyn Service>,
    events: impl FnOnce(&Handle) -> Arc<dyn Service>,
    nchf: NchfPart,
    port: u16,
) -> Result<Arc<NchfDoor>, NchfError> {
    NchfDoor::new(Arc::clone(store), events, nchf.services, nchf.settings, port)
}

/// Opens a door for the server in this process that `inside` belongs to. `diameter` is the Diameter door of the server,
/// if it has one.
///
/// # Errors
/// When it must not or cannot listen. The error says what to do about it.
pub fn open_beside(
    front: &DoorSettings,
    inside: CoreAccess,
    diameter: Option<DoorView>,
    nchf: NchfPart,
) -> Result<(Door, Arc<NchfDoor>), OpenError> {
    let gate = Gate::new(front)?;
    let opening = Opening::listen(front, lower_priority)?;
    let traffic = opening.traffic("charging");
    let store: Arc<dyn Service> = Arc::new(Engine::beside(&inside, opening.runtime()));
    let nchf = nchf_door(
        &store,
        |runtime| Arc::new(Engine::beside(&inside, runtime)),
        nchf,
        opening.address().port(),
    )?;
    let parts = DoorParts { inside, store, diameter, nchf: Arc::clone(&nchf) };
    let user = console_user::route(&gate, &front.unit_decimals);
    let ways = embedded_door::routes(parts, &gate, &traffic, opening.runtime(), user);
    Ok((opening.serve(front, ways, traffic)?, nchf))
}

/// Lowers the priority of a thread of a door in an engine's process, below the threads that charge.
fn lower_priority() {
    // It is only an optimization: ignore a refusal of the system.
    let _ = rustix::process::setpriority_process(None, NICE);
}
