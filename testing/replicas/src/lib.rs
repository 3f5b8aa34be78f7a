//! A seeded simulator of `scurry_consensus::replica`: up to five nodes with disks that finish late and lose unsynced data, and a
//! network that drops, duplicates, delays and reorders packets and can fail in one direction. After every step
//! [`InvariantChecker`], which sees all nodes and trusts none, checks the invariants.
//!
//! [`run`] is one seed: a phase in which everything may fail, then a phase without failures in which the nodes must
//! come to agree. [`World`] is for tests that script each step.
#![forbid(unsafe_code)]

mod disk;
mod network;
mod plan;
mod run;
mod truth;
mod world;

pub use disk::Disk;
pub use network::{Network, Packet};
pub use plan::Plan;
pub use run::{Report, run};
pub use truth::InvariantChecker;
pub use world::{ReplicaNode, World, node};
