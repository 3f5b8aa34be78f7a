//! The tests of `scurry-replicas` in one program, so that each crate is linked once.

mod scenarios;
mod seeds;
