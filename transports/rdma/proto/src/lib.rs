//! The Valkey-over-RDMA protocol (valkey-doc, topics/RDMA.md) for both peers, without a device. A
//! device or a simulation implements the traits of [`fabric`] underneath.
//!
//! An [`Endpoint`] is one connection. Its owner passes in the [`fabric::Event`]s of the device and
//! the time, reads the bytes that have arrived, forms replies and publishes them.
#![forbid(unsafe_code)]

mod codec;
mod control;
mod control_rate_limit;
mod counts;
mod endpoint;
pub mod fabric;
mod fault;
mod inbound;
mod output;
mod peer_windows;
mod publish;
mod requests_in_flight;
mod send_queue;
mod settings;
mod timers;

pub use codec::{Feature, Memory, Message};
pub use counts::Counts;
pub use endpoint::Endpoint;
pub use fault::Fault;
pub use inbound::Progress;
pub use settings::{Role, SendBuffering, Settings, WINDOW_LEN_MAX, WINDOW_LEN_MIN};
