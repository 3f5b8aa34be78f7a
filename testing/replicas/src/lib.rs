//! A seeded simulator of `scurry-replica`: up to five nodes with disks that finish late and lose what was not
//! synced, and a network that drops, doubles, delays, reorders and cuts one way. What must hold is looked at
//! after every step by [`Truth`], which sees all nodes and trusts none.
//!
//! [`run`] is one seed: a phase in which everything may fail, then a phase in which nothing does, and in which
//! the nodes must come to agree. [`World`] is for stories that are told step by step.
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
pub use truth::Truth;
pub use world::{Node, World, node};
