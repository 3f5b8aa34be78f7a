//! The tests of `scurry-sim` in one program, so that each crate is linked once.

mod bases;
mod entries;
mod gate;
mod group;
mod regressions;
mod spares;
