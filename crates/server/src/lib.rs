//! The RESP front door: a thread per core, each with its own shard of the engine, its connections
//! and its event loop. Cores share nothing but mail.

mod acceptor;
mod batch;
mod buffer;
mod buffers;
mod bundle;
mod caller;
mod client;
mod clock;
mod commands;
mod connection;
mod core;
mod counters;
mod deadlines;
mod dispatch;
mod durable;
mod effect;
mod events;
mod exposition;
mod fault;
mod gather;
mod glob;
mod hash_key;
mod histogram;
mod inside;
mod kept;
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
mod stopwatch;
mod tcp;
mod ticket;
mod timing;
mod tls;
mod track;
mod tracking;
mod transaction;
mod transport;
mod users;
mod watch;
mod web;
mod work;

pub use durable::{RecoveryProgress, RecoveryReport};
pub use exposition::{Exposition, Kind, Labels};
pub use hash_key::draw_hash_key;
pub use histogram::Histogram;
pub use inside::{Inside, InsideError};
pub use metrics::Measurement;
pub use open_files::make_room;
pub use password::Password;
pub use scurry_engine::Durability;
pub use scurry_rdma_proto::{
    Handling, Settings as RdmaConnection, WINDOW_LEN_MAX as RDMA_WINDOW_LEN_MAX,
    WINDOW_LEN_MIN as RDMA_WINDOW_LEN_MIN,
};
pub use server::Server;
pub use settings::{
    DEFAULT_LISTEN, RdmaSettings, Settings, StartError, Storage, TlsError, TlsSettings,
};
pub use users::{
    Admission, Admitted, HashFault, MadeToken, Roles, USERS_MAX, UserEntry, UserError, Users,
    hash_password, make_token,
};
