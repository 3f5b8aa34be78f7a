//! One door to a server of ours, to a Valkey or Redis server, and to a Valkey Cluster: what tools
//! and the lab ask a store. Routing, MOVED, ASK and failover are the kept `redis` crate's; what it
//! cannot do, to wait for the replicas of the one node that has written, is here.
#![forbid(unsafe_code)]

mod address;
mod copies;
mod decode;
mod error;
pub mod form;
mod line;
mod node;
mod store;
mod totals;

pub use address::Address;
pub use copies::{Copies, Kept};
pub use decode::{decode, refusal};
pub use error::ClientError;
pub use form::Member;
pub use line::Steady;
pub use node::Node;
pub use redis;
pub use store::Store;
pub use totals::{Sums, Totals};
