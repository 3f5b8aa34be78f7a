//! A real Valkey Cluster with libscurry.so, under load and under faults. Checks that every request acknowledged on all
//! copies survives, that none is executed in part, that everything with a deadline ends once, and that duplicates get
//! their stored answers. docs/cluster.md says what an acknowledgement promises. `group` makes the same checks on a
//! group of three `scurry serve`.
#![forbid(unsafe_code)]

mod audit;
mod client;
mod cluster;
mod fault;
pub mod group;
mod module;
mod move_slot;
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
pub use namespaces::{enter, enter_network, inside, possible};
pub use node::ClusterNode;
pub use options::{Options, hours, interrupted};
pub use report::{Report, Row};
pub use run::{Settings, run};
