//! The RESP front door: a thread per core, each with its own shard of the engine, its connections
//! and its event loop. Cores share nothing but mail.

mod acceptor;
mod batch;
mod buffer;
mod bundle;
mod client;
mod clock;
mod commands;
mod connection;
mod core;
mod counters;
mod deadlines;
mod dispatch;
mod durable;
mod events;
mod exposition;
mod fault;
mod gather;
mod glob;
mod hash_key;
mod histogram;
mod inside;
mod latency;
mod listener;
mod live_setting;
mod lobby;
mod measures;
mod mesh;
mod message;
mod metrics;
mod monitor;
mod node;
mod open_files;
mod password;
mod pool;
mod port;
mod ports;
#[cfg_attr(not(feature = "rdma"), path = "rdma/absent.rs")]
mod rdma;
mod reader;
mod report;
mod server;
mod settings;
mod shared;
mod signals;
mod slots;
mod slowlog;
mod socket;
mod start_error;
mod stopwatch;
mod tcp;
mod tls;
mod tracking;
mod transaction;
mod transport;
mod users;
mod watch;
mod web;

pub use durable::{RecoveryProgress, RecoveryReport};
pub use exposition::{Exposition, Kind, Labels};
pub use hash_key::draw_hash_key;
pub use histogram::Histogram;
pub use inside::{Inside, InsideError, Measurement};
pub use open_files::make_room;
pub use password::Password;
pub use rdma::RdmaSettings;
pub use scurry_engine::Durability;
pub use server::Server;
pub use settings::{DEFAULT_LISTEN, Settings, Storage};
pub use start_error::StartError;
pub use tls::{TlsError, TlsSettings};
pub use users::{
    Admission, Admitted, HashFault, MadeToken, Roles, USERS_MAX, UserEntry, UserError, Users,
    hash_password, make_token,
};
