//! The tests of `scurry-disk` as one program: each room is linked once.

mod files;
mod short_write;
mod store;
