//! Sizes that all candidates share, so that they differ in their I/O alone.

use std::time::Duration;

/// Bytes that one read takes at most.
pub(crate) const READ_LEN: usize = 65_536;
/// Events taken at once.
pub(crate) const EVENTS_MAX: usize = 1_024;
/// The loop wakes at least this often, as the product's does for its timers.
pub(crate) const WAIT_MAX: Duration = Duration::from_millis(100);
/// Connections that may wait to be accepted.
pub(crate) const BACKLOG_MAX: i32 = 4_096;
/// Connections, where a table must be made in advance.
pub(crate) const CONNECTIONS_MAX: u32 = 16_384;
