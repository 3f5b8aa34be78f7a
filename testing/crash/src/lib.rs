//! Crash tests of the real binary: load from several connections, SIGKILL at a moment chosen by a seed, a restart in
//! the same directory, and a check that everything acknowledged is there, nothing was executed in part, and duplicates
//! get their stored answers.
//!
//! SIGKILL ends the process but not the page cache. This proves the promise of `write`, and for `fsync` only that no
//! reply is sent before its batch is written. That a batch is on the device when power fails is tested by the
//! simulator, on a disk that loses unsynced data.
//!
//! The parts that send requests to accounts and shared keys and compare them are public: `testing/cluster` does the
//! same with a cluster and with a group.
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
pub mod views;
pub mod wire;

pub use binary::Binary;
pub use report::Report;
pub use run::{Settings, run};
pub use server::SETTINGS;
pub use shared::{Pending as SharedPending, Shared};
pub use subject::{
    Act, ModelReply, Pending, Requests, Slot, SlotRequests, compare, limits, shown, value_of,
    words_of,
};
