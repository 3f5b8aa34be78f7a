//! The RESP front door: sockets, connections and an event loop around one shard of the engine.
//! A [`Server`] is one core's worth: it shares nothing, so that more cores are more of them.

mod buffer;
mod client;
mod clock;
mod commands;
mod connection;
mod core;
mod counters;
mod deadlines;
mod dispatch;
mod door;
mod glob;
mod listener;
mod node;
mod open_files;
mod password;
mod pool;
mod server;
mod settings;
mod signals;
mod socket;
mod start_error;
mod tcp;
mod tls;
mod transport;
mod users;

pub use password::Password;
pub use server::Server;
pub use settings::{DEFAULT_LISTEN, Settings};
pub use start_error::StartError;
pub use tls::{TlsError, TlsSettings};
pub use users::{HashFault, Roles, USERS_MAX, UserEntry, UserError, Users, hash_password};
