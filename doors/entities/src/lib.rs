//! The door to entities. They are kept on several nodes that speak RESP, either Scurry servers or Valkey with
//! libscurry.so. This door coordinates reads and writes over them, and any number of doors may serve the same nodes.
//!
//! `quorum.rs` says how many copies a request reads or writes, `coordinator.rs` reads and writes them, and
//! `membership.rs` decides which nodes count. [`EntityStore`] is all that other crates see.

mod clock;
mod condition;
mod coordinator;
mod copy;
mod entities;
mod entity;
mod entity_openapi;
mod entity_settings;
mod entity_store;
mod membership;
mod node;
mod placement;
mod quorum;
mod range;
mod round;
mod search;
mod shared;
mod status;
mod step;
mod sync;
mod sync_mark;

pub use entity_settings::EntitySettings;
pub use entity_store::EntityStore;
pub use scurry_engine::NODE_MAX;
