//! The HTTP door: entities and charging over HTTP. Entities are kept on several nodes that speak RESP, either Scurry
//! servers or Valkey with libscurry.so. This door coordinates reads and writes over them, and any number of doors may
//! serve the same nodes. Charging requests go to one store (`store.rs`).
//!
//! [`Quorum`] says how many copies a request reads or writes, `coordinator.rs` reads and writes them, and
//! `membership.rs` decides which nodes count.

mod beside;
mod charging;
mod clock;
mod condition;
mod coordinator;
mod copy;
mod direct;
mod door;
mod door_codes;
mod entities;
mod entity;
mod entity_openapi;
mod form;
mod front;
mod gate;
mod hosts;
mod listener;
mod lookup;
mod mark;
mod membership;
mod misdeeds;
mod nchf;
mod node;
mod options;
mod past;
mod patience;
mod placement;
mod problem;
mod query;
mod quorum;
mod range;
mod reply;
mod round;
mod routes;
mod search;
mod settings;
mod shared;
mod start_error;
mod status;
mod step;
mod sync;
mod traffic;
mod ways;

pub use door::Door;
pub use front::Front;
pub use quorum::{Quorum, QuorumError};
pub use redis::Value;
pub use settings::Settings;
pub use start_error::StartError;
