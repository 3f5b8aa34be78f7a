//! A seeded simulation of the RDMA transport, which implements the traits of `scurry-rdma-proto`:
//! delays, receivers that are not ready, broken and silent connections, refused memory, checked
//! access. Programs that talk over it are included, with peers that behave like other
//! implementations, and hostile ones.
#![forbid(unsafe_code)]

mod fabric;
mod net;
mod queue;
mod raw;
mod run;
mod side;
mod stream;
mod valkey;

pub use fabric::Fabric;
pub use net::{Cause, Limits, SimEvent};
pub use queue::{SimQueue, SimStaging, SimWindow};
pub use raw::Raw;
pub use run::{Report, run, settings};
pub use side::{EndProgram, TurnLimits};
pub use stream::{Sizes, Stream};
pub use valkey::{ENTRIES, Valkey, WINDOW_LEN};
