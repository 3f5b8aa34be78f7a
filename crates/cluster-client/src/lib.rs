//! The client of tools, of the HTTP door and of the lab for a scurry server, a Valkey or Redis server, and a Valkey
//! Cluster. The `redis` crate handles routing, MOVED, ASK and failover. This crate adds a wait for the replicas of the
//! one node that has written, which the `redis` crate cannot do.
#![forbid(unsafe_code)]

mod address;
mod copies;
mod decode;
mod decode_store;
mod error;
pub mod form;
mod line;
mod node;
mod reader;
mod store;
mod totals;

pub use address::Address;
pub use copies::{Copies, CopiesOutcome};
pub use decode::decode;
pub use decode_store::{decode_events, decode_store};
pub use error::ClientError;
pub use form::Member;
pub use line::RetryInterrupted;
pub use node::Node;
pub use redis;
pub use store::Store;
pub use totals::{Sums, Totals};
