//! The HTTP door. Entities are kept on several nodes that speak RESP, Scurry servers or Valkey
//! with libscurry.so, and this door is a coordinator of theirs: any number of doors may serve the
//! same nodes.
//!
//! [`Quorum`] says how many copies a request means, `coordinator.rs` reads and writes them, and
//! `membership.rs` decides which nodes count.

mod beside;
mod clock;
mod console;
mod coordinator;
mod copy;
mod door;
mod door_metrics;
mod engine;
mod entity;
mod front;
mod gate;
mod listener;
mod lookup;
mod mark;
mod membership;
mod node;
mod patience;
mod placement;
mod problem;
mod query;
mod quorum;
mod reply;
mod settings;
mod status;
mod sync;
mod traffic;

pub use door::Door;
pub use front::Front;
pub use quorum::{Quorum, QuorumError};
pub use settings::{Settings, StartError};
