//! The tests of `scurry-model` in one program, so that each crate is linked once.

mod calendars;
mod chains;
mod changes;
mod exhaustive;
mod identities;
mod keys;
mod limits;
mod property;
mod rules;
mod session_accounts;
mod sessions;
mod shard;
mod spans;
mod ticks;
mod transfers;
mod windows;
