//! A real Valkey Cluster with libscurry.so, under load and under faults: is everything there that
//! was acknowledged on all copies, is nothing there by half, does what is due end once, and do
//! duplicates get their stored answers? What an acknowledgement promises is in docs/cluster.md. The same is asked of a
//! group of three `scurry serve`: `group`.
#![forbid(unsafe_code)]

mod audit;
mod carry;
mod client;
mod cluster;
mod fault;
pub mod group;
mod module;
mod namespaces;
mod node;
mod options;
mod report;
mod round;
mod route;
mod run;
mod view;
mod wait;

pub use cluster::Cluster;
pub use fault::Fault;
pub use module::Module;
pub use namespaces::{enter, inside, possible};
pub use node::Node;
pub use options::{Options, interrupted};
pub use report::{Report, Row};
pub use run::{Settings, run};
