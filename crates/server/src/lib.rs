//! The RESP front door: a thread per core, each with its own shard of the engine, its connections
//! and its event loop. Cores share nothing but mail.

mod acceptor;
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
mod gather;
mod glob;
mod latency;
mod listener;
mod live_setting;
mod mesh;
mod message;
mod node;
mod open_files;
mod password;
mod pool;
mod port;
mod ports;
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
mod transport;
mod users;
mod watch;

pub use password::Password;
pub use server::Server;
pub use settings::{DEFAULT_LISTEN, Settings};
pub use start_error::StartError;
pub use tls::{TlsError, TlsSettings};
pub use users::{HashFault, Roles, USERS_MAX, UserEntry, UserError, Users, hash_password};
