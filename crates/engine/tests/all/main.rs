//! The tests of `scurry-engine` as one program, so that each library is linked once.

mod events;
mod flooding;
mod images;
mod scan;
mod shard;
mod timers;
