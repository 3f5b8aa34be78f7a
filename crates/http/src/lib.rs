//! The HTTP door. Entities are kept on several nodes that speak RESP, Scurry servers or Valkey
//! with libscurry.so, and this door is a coordinator of theirs: any number of doors may serve the
//! same nodes.
//!
//! [`Quorum`] says how many copies a request means, `coordinator.rs` reads and writes them, and
//! `membership.rs` decides which nodes count.

mod clock;
mod coordinator;
mod copy;
mod door;
mod entity;
mod mark;
mod membership;
mod node;
mod placement;
mod problem;
mod query;
mod quorum;
mod settings;
mod status;
mod sync;

pub use door::Door;
pub use quorum::{Quorum, QuorumError};
pub use settings::{Settings, StartError};
