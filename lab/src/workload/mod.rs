//! The content of the load: it writes requests, reads their replies and keeps the tallies that the audit compares with
//! the store.

mod batch;
mod charging;
mod commands;
mod hash_fields;
mod index;
mod key_value;
mod last_writes;
mod live;
mod pick;
mod usage;

pub use charging::{ChargingPlan, ChargingWorkload};
pub use hash_fields::HashFieldsWorkload;
pub(crate) use index::names_only;
pub use index::{IndexDialect, IndexWorkload};
pub use key_value::{KeyCheck, KeyValueWorkload};

pub use live::{LiveCounts, LiveWorkload};
pub use usage::{UsageWorkload, User};

use crate::errors::ErrorTally;
use crate::resp::Stop;

/// Closed loop of sessions. Each session has at most one request in flight.
pub trait Workload {
    /// Returns the names of the operations, by the index that [`Workload::emit`] returns.
    fn operations(&self) -> &[String];

    /// Appends the next request of a session and returns its operation.
    fn emit(&mut self, session: u32, out: &mut Vec<u8>) -> u8;

    /// Appends the request that closes the session; `None` when nothing is open.
    fn emit_closing(&mut self, session: u32, out: &mut Vec<u8>) -> Option<u8>;

    /// Reads the reply to the session's request at the start of `bytes` and returns its length.
    ///
    /// # Errors
    /// [`Stop`]. An error reply is counted, not an error.
    fn accept(&mut self, session: u32, bytes: &[u8]) -> Result<usize, Stop>;

    /// Returns the error replies so far.
    fn errors(&self) -> &ErrorTally;
}
