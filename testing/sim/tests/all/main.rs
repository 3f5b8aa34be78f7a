//! The tests of `scurry-sim` as one program: each room is linked once.

mod bases;
mod entries;
mod gate;
mod group;
mod spares;
mod stories;
