//! The reason why a node can no longer take part in its group.

use std::fmt;

/// The reason why a node must end, and whether it may be started again with its files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// The process ends; it can be started again and continues with what the device has.
    Stops(String),
    /// The node ends for good: its log lacks entries that it had stored and confirmed. With these files it could help
    /// to elect a leader that lacks committed entries.
    Retires(String),
}

impl fmt::Display for StopReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (StopReason::Stops(why) | StopReason::Retires(why)) = self;
        f.write_str(why)
    }
}
