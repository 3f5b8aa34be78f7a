//! Why a node takes no part in its group any more.

use std::fmt;

/// The reason for which a node must end, and what a start on its files may do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Broken {
    /// End of the process: a start finds out what is on the device, and goes on with that.
    Stops(String),
    /// End for good: its log lacks what it had stored, so with these files it could help to elect a node that lacks
    /// what is committed.
    Retires(String),
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Broken::Stops(why) | Broken::Retires(why)) = self;
        f.write_str(why)
    }
}
