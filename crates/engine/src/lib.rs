//! One shard, sans-I/O: it owns accounts and plain values, decides commands on them, and
//! releases what nobody touches when its time comes. It reads no clock and opens nothing:
//! `now` comes in, outcomes go out.
#![forbid(unsafe_code)]

mod config;
mod entry;
mod outcome;
mod shard;
mod stats;
mod table;
mod timers;

pub use config::Config;
pub use outcome::{Outcome, ReadError, WriteError, WrongType};
pub use shard::Shard;
pub use stats::Stats;
