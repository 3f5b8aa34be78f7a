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
mod dispatch;
mod gather;
mod glob;
mod listener;
mod mesh;
mod message;
mod node;
mod open_files;
mod password;
mod pool;
mod report;
mod server;
mod settings;
mod shared;
mod signals;
mod slots;
mod start_error;
mod tcp;
mod transport;

pub use password::Password;
pub use server::Server;
pub use settings::{DEFAULT_LISTEN, Settings};
pub use start_error::StartError;
