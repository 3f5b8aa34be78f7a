//! The tests of `scurry-model` as one program: each room is linked once.

mod chains;
mod changes;
mod exhaustive;
mod identities;
mod keys;
mod limits;
mod property;
mod rules;
mod shard;
mod ticks;
