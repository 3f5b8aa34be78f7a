//! The tests of `scurry-disk` as one program, so that each library is linked once.

mod files;
mod short_write;
mod store;
