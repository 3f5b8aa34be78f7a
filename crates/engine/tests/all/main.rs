//! The tests of `scurry-engine` as one program: each room is linked once.

mod events;
mod flooding;
mod images;
mod scan;
mod shard;
mod timers;
