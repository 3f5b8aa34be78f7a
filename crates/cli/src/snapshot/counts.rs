//! What INFO says of snapshots.

use super::reply::Reply;

/// Counts of a server, of all its threads together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) threads: u64,
    pub(super) is_running: bool,
    pub(super) written: u64,
    pub(super) failed: u64,
}

impl Counts {
    /// Snapshots that have ended, one way or the other.
    pub(super) fn ended(&self) -> u64 {
        self.written + self.failed
    }

    /// None where a line is missing.
    pub(super) fn read(info: &Reply) -> Option<Counts> {
        let Reply::Text(text) = info else { return None };
        let number = |name: &str| {
            let mut lines = text.lines().filter_map(|line| line.split_once(':'));
            lines.find(|(found, _)| *found == name)?.1.trim().parse::<u64>().ok()
        };
        Some(Counts {
            threads: number("threads")?,
            is_running: number("snapshot_in_progress")? != 0,
            written: number("snapshots_written")?,
            failed: number("snapshots_failed")?,
        })
    }
}
