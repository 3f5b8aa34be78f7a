//! The tests of `scurry-replicas` as one program: each room is linked once.

mod seeds;
mod stories;
