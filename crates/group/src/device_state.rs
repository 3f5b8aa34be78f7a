//! The state of a shard's log device: full, stalled, or working. The log's thread updates it while other threads read
//! it, on the leader and on followers.

use scurry_consensus::shard::Stored;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Time without finished work after which a device counts as stalled, ns.
const STILL_NS: u64 = 1_000_000_000;
/// Stands for a time: the device has no work.
const IDLE: u64 = u64::MAX;

/// The state of the log device of one shard.
#[derive(Debug)]
pub struct DeviceState {
    /// Whether the last write found the disk full, and nothing was stored since.
    is_full: AtomicBool,
    /// When the present work began or last made progress, ns of the monotonic clock; [`IDLE`] without work.
    since_ns: AtomicU64,
}

impl Default for DeviceState {
    fn default() -> DeviceState {
        DeviceState { is_full: AtomicBool::new(false), since_ns: AtomicU64::new(IDLE) }
    }
}

impl DeviceState {
    /// Notes that work begins.
    pub(super) fn begin(&self, now_ns: u64) {
        self.since_ns.store(now_ns, Ordering::Relaxed);
    }

    /// Notes progress, or that the disk is full. A full disk does not count as progress.
    pub(super) fn note(&self, stored: &Stored, now_ns: u64) {
        match stored {
            Stored::Full(_) => self.is_full.store(true, Ordering::Relaxed),
            Stored::Done { .. } | Stored::Begun => {
                self.is_full.store(false, Ordering::Relaxed);
                self.begin(now_ns);
            }
            Stored::Failed(_) => {}
        }
    }

    /// Notes that all work is done.
    pub(super) fn end(&self) {
        self.is_full.store(false, Ordering::Relaxed);
        self.since_ns.store(IDLE, Ordering::Relaxed);
    }

    /// Reports whether the disk is full.
    pub fn is_full(&self) -> bool {
        self.is_full.load(Ordering::Relaxed)
    }

    /// Reports whether the device has work and has finished nothing for longer than a second.
    pub fn stands_still(&self, now_ns: u64) -> bool {
        let since_ns = self.since_ns.load(Ordering::Relaxed);
        since_ns != IDLE && now_ns.saturating_sub(since_ns) > STILL_NS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_is_in_trouble_while_it_has_no_room_or_finishes_nothing() {
        let state = DeviceState::default();
        assert!(!state.is_full() && !state.stands_still(10 * STILL_NS), "it has no work");
        state.begin(STILL_NS);
        assert!(!state.stands_still(2 * STILL_NS));
        assert!(state.stands_still(2 * STILL_NS + 1));
        state.note(&Stored::Begun, 3 * STILL_NS);
        assert!(!state.stands_still(4 * STILL_NS), "it goes on");
        state.note(&Stored::Full("no room".to_owned()), 4 * STILL_NS);
        assert!(state.is_full() && state.stands_still(5 * STILL_NS));
        state.note(&Stored::Begun, 5 * STILL_NS);
        assert!(!state.is_full() && !state.stands_still(6 * STILL_NS));
        state.note(&Stored::Full("no room".to_owned()), 6 * STILL_NS);
        state.end();
        assert!(!state.is_full() && !state.stands_still(60 * STILL_NS));
    }
}
