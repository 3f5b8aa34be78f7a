//! A seeded simulation of what carries RESP over RDMA, behind the seam of `scurry-rdma-proto`: delay,
//! receivers that are not ready, broken and silent connections, refused memory, access that is
//! checked. Beside it programs that talk over it, peers as others have them, and hostile ones.
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
pub use net::{Cause, Limits, Told};
pub use queue::{SimQueue, SimStaging, SimWindow};
pub use raw::Raw;
pub use run::{Report, run, settings};
pub use side::{Pace, Side};
pub use stream::{Sizes, Stream};
pub use valkey::{ENTRIES, Valkey, WINDOW_LEN};
