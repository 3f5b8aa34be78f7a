//! The speed at which a snapshot is written. The log on the same device is synced many times a second, and each sync
//! waits for everything that the device was given before. So a snapshot is written in steps, each synced before the
//! next, and uses no more of the core and the device than it needs to be done in reasonable time.

use std::time::Duration;

/// Bytes of a step: the device gets no more of a snapshot at once.
const STEP_LEN: u64 = 1 << 20;
/// Rate at which a small snapshot is written, bytes per second: the core produces this much in a tenth of its time.
const RATE_MIN: u64 = 32 << 20;
/// Time in which a large snapshot is written, seconds, if device and core allow it: the log grows meanwhile.
const SECONDS_MAX: u64 = 60;

/// Divisor of the log growth between two snapshots: once the log has grown by this share while a snapshot is written,
/// the snapshot is written without pauses.
const HURRY_SHARE: u64 = 4;
/// The longest pause, whatever was written: other tasks of the thread (background syncs, the end of the run) wait for
/// it.
const REST_MAX: Duration = Duration::from_millis(100);

/// Reports whether a snapshot is to be written without pauses: the log has grown by a large share of its allowance
/// since the snapshot began, or may find no room for its next segment, which a finished snapshot would free.
pub(super) fn hurries(grown: u64, log_bytes_max: u64, is_short: bool) -> bool {
    is_short || grown >= log_bytes_max / HURRY_SHARE
}

/// The pace of one snapshot.
#[derive(Debug)]
pub(super) struct SnapshotPace {
    begun_ns: u64,
    /// Bytes per second.
    rate: u64,
    /// Bytes that were written and not synced yet.
    unsynced: u64,
}

impl SnapshotPace {
    /// Creates the pace of a snapshot of about `about` bytes that begins now.
    pub(super) fn new(now_ns: u64, about: u64) -> SnapshotPace {
        SnapshotPace { begun_ns: now_ns, rate: (about / SECONDS_MAX).max(RATE_MIN), unsynced: 0 }
    }

    /// Counts `len` written bytes. True when it is time to sync.
    pub(super) fn step(&mut self, len: usize) -> bool {
        self.unsynced += len as u64;
        let is_due = self.unsynced >= STEP_LEN;
        if is_due {
            self.unsynced = 0;
        }
        is_due
    }

    /// Returns the pause before the next write, once `written` bytes are written in all.
    pub(super) fn rest(&self, written: u64, now_ns: u64) -> Duration {
        let due_ns = u128::from(written) * 1_000_000_000 / u128::from(self.rate);
        let due = Duration::from_nanos(u64::try_from(due_ns).unwrap_or(u64::MAX));
        let passed = Duration::from_nanos(now_ns.saturating_sub(self.begun_ns));
        due.saturating_sub(passed).min(REST_MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_snapshot_is_synced_in_steps() {
        let mut pace = SnapshotPace::new(0, 0);
        let steps: Vec<bool> = (0..40).map(|_| pace.step(64 << 10)).collect();
        let synced: Vec<usize> = (0..40).filter(|&at| steps[at]).collect();
        assert_eq!(synced, [15, 31]);
    }

    #[test]
    fn a_snapshot_does_not_rest_while_the_log_grows_long_or_finds_no_room() {
        let log_bytes_max = 100 << 20;
        assert!(!hurries(0, log_bytes_max, false));
        assert!(!hurries((25 << 20) - 1, log_bytes_max, false));
        assert!(hurries(25 << 20, log_bytes_max, false));
        assert!(hurries(0, log_bytes_max, true));
    }

    #[test]
    fn a_small_snapshot_rests_and_a_large_one_takes_a_minute() {
        let begun_ns = 5_000_000_000;
        let (small, large) =
            (SnapshotPace::new(begun_ns, 1 << 20), SnapshotPace::new(begun_ns, 60 << 30));
        // A sixteenth of a second's worth was written in a hundredth of a second.
        let soon_ns = begun_ns + 10_000_000;
        assert_eq!(small.rest(RATE_MIN / 16, soon_ns), Duration::from_micros(52_500));
        assert_eq!(
            large.rest(RATE_MIN / 16, soon_ns),
            Duration::from_nanos(0),
            "the device is slower"
        );
        assert_eq!(large.rest(1 << 25, begun_ns), Duration::from_micros(31_250));
        // One value that takes a second at this rate.
        assert_eq!(small.rest(RATE_MIN, begun_ns), REST_MAX);
        // A snapshot that is late goes on at once.
        assert_eq!(small.rest(RATE_MIN, begun_ns + 2_000_000_000), Duration::ZERO);
        assert_eq!(small.rest(0, begun_ns), Duration::ZERO);
    }
}
