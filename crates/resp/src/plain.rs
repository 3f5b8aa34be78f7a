//! Options of plain commands, with Redis's order of checks: words first, numbers only when the command asks for them,
//! because some commands look at the key in between.

mod deadline;
mod expire;
mod fault;
mod increx;
mod scan;
mod set;

pub use deadline::{Deadline, DeadlineUnit};
pub use expire::{ExpireCondition, parse_expire};
pub use fault::PlainFault;
pub use increx::{IncrexOptions, parse_increx};
pub use scan::{ScanKind, ScanRequest, parse_scan};
pub use set::{Lifetime, SetCondition, SetOptions, parse_get_ex, parse_set};
