//! Crashes of the real binary: load from several connections, SIGKILL at a moment that a seed
//! has chosen, a restart in the same directory, and the question whether everything that was
//! acknowledged is there, nothing is there by half, and duplicates get their stored answers.
//!
//! SIGKILL ends the process and leaves the page cache: this proves what `write` promises, and of
//! `fsync` that no reply overtakes its batch. That a batch is on the device when power fails is
//! what the simulator shows, on a disk that forgets what was not synced.
//!
//! What asks and compares accounts, and the shared keys, are public: `testing/cluster` does the same to a cluster
//! and to a group.
#![forbid(unsafe_code)]

mod binary;
pub mod clock;
mod history;
pub mod linear;
mod load;
mod plan;
mod report;
mod run;
mod server;
mod shared;
mod subject;
mod verify;
pub mod wire;

pub use binary::Binary;
pub use report::Report;
pub use run::{Settings, run};
pub use server::SETTINGS;
pub use shared::{Pending as SharedPending, Shared};
pub use subject::{
    Act, Pending, Requests, Said, Slot, SlotRequests, compare, limits, shown, value_of, words_of,
};
