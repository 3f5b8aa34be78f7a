//! The tests of `scurry-codec` as one program, so that each dependency is linked once.

mod change;
mod cycle;
mod entry_frame;
mod frame;
mod group_members;
mod image;
mod memory;
mod reach;
mod snapshot;
mod state_digest;
mod support;
mod window;
