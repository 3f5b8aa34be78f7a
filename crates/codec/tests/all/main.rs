//! The tests of `scurry-codec` as one program: each room is linked once.

mod change;
mod entry_frame;
mod frame;
mod group_members;
mod image;
mod memory;
mod reach;
mod snapshot;
mod support;
