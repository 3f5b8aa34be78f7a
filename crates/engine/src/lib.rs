//! One shard, sans-I/O: it owns accounts, plain values and entities, decides commands on them,
//! and releases what nobody touches when its time comes. It reads no clock and opens nothing:
//! `now` comes in, outcomes go out.
#![forbid(unsafe_code)]

mod config;
mod disk;
mod entity;
mod entry;
mod index;
mod key;
mod outcome;
mod shard;
mod stats;
mod table;
mod timers;
mod value;
mod version;

pub use config::Config;
pub use disk::{Disk, File};
pub use entity::{Entity, EntityDelete, EntityPut, EntityState, EntityWrite};
pub use entry::{KEY_LEN_MAX, VALUE_LEN_MAX};
pub use key::{Key, KeyHasher};
pub use outcome::{NoIndex, Outcome, ReadError, WriteError, WrongType};
pub use shard::Shard;
pub use stats::{Memory, Stats};
pub use value::{Expiry, KeyKind, Value};
pub use version::{NODE_MAX, Version};
