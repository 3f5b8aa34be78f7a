//! The HTTP doors of the binary: which routes stand on one port, and the settings of that port. [`open`] opens a door
//! to nodes of entities, to a store, or to both; [`open_beside`] one to the server in the same process.

mod diameter;
mod embedded_door;
mod metrics_door;
mod open;
mod open_error;
mod routes;
mod settings;
mod shared;
mod status;

pub use diameter::open_beside_diameter;
pub use metrics_door::{MetricsPage, open_metrics};
pub use open::{OpenDoor, open, open_beside};
pub use open_error::OpenError;
pub use scurry_door_entities::EntitySettings;
pub use scurry_door_nchf::{NchfDoor, NchfSettings};
pub use scurry_http::{Door, DoorSettings, StartError};
pub use settings::{NchfPart, Settings};
