//! The RESP server: a thread per core, each with its own shard of the engine, its connections and its event loop. Cores
//! share almost nothing and communicate by messages.

mod adapter;
mod connection;
mod core;
mod durable;
mod execute;
mod glob;
mod hash_key;
mod inside;
mod mail;
mod measures;
mod metrics;
mod net;
mod object_pool;
mod open_files;
mod reload;
mod server;
mod settings;
mod shared;
mod slots;
mod ticket;
mod users;

pub use adapter::{
    Adapter, AdapterConnection, AdapterCount, AdapterReport, AdapterRequest, Arrival, CoreAdapter,
    DESCRIPTORS, OpenAdapter, WithConnection,
};
pub use durable::events::{EventLog, missed_events};
pub use durable::{RecoveryProgress, RecoveryReport};
pub use hash_key::draw_hash_key;
pub use inside::{Calls, CoreAccess, DoorRoute, InsideError, Passage};
pub use mail::calls::PendingReply;
pub use measures::histogram::Histogram;
pub use metrics::Measurement;
pub use metrics::certificates::show_certificates;
pub use metrics::exposition::{Exposition, Labels, MetricKind};
pub use open_files::make_room;
pub use reload::{ReloadError, Reloader};
pub use scurry_engine::{ByteCount, Durability, LogRetention};
pub use scurry_group::peers::LostGroup;
pub use server::Server;
pub use settings::{DEFAULT_LISTEN, GroupSettings, Settings, StartError, Storage};
pub use users::password::Password;
pub use users::{
    Admission, Admitted, HashFault, MadeToken, Roles, USERS_MAX, UserEntry, UserError, Users,
    hash_password, make_token,
};
