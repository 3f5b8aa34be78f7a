//! The versions that a door gives, which are made from its clock.

use scurry_engine::Version;
use scurry_http::now;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The hybrid logical clock of this door. Each version that it gives is greater than all that it gave before and all
/// that it has seen from nodes.
pub(crate) struct Clock {
    last: Mutex<Version>,
    /// Number of this door, 0 to [`scurry_engine::NODE_MAX`]. Another door may have the same number and give the same
    /// version to another write: then the greater content wins.
    number: u16,
}

impl Clock {
    pub(crate) fn new(number: u16) -> Clock {
        Clock { last: Mutex::new(Version::ABSENT), number }
    }

    /// Returns a version greater than every one given or seen. None at the end of the range.
    pub(crate) fn next(&self) -> Option<Version> {
        let mut last = self.last();
        let next = last.next(now(), self.number)?;
        *last = next;
        Some(next)
    }

    /// Takes note of a version that a node has: the next version will be greater.
    pub(crate) fn see(&self, version: Version) {
        let mut last = self.last();
        *last = version.max(*last);
    }

    fn last(&self) -> MutexGuard<'_, Version> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use scurry_ledger::Time;

    #[test]
    fn the_next_version_is_above_what_a_faster_clock_gave() {
        let clock = Clock::new(3);
        let ahead = Version::at(now().plus_ms(60_000), 7);
        clock.see(ahead);
        let next = clock.next().expect("room");
        assert!(next > ahead);
        clock.see(Version::at(Time(1), 0));
        assert!(clock.next().expect("room") > next);
    }
}
