//! How fast a snapshot is written. A log beside it on the same device is synced many times in a second, and
//! each sync waits for what the device was given before: so a snapshot comes to it in steps, each synced
//! before the next, and takes no more time of the core and the device than it needs to be done in a while.

use std::time::Duration;

/// Bytes of a step: the device takes no more of a snapshot at once.
const STEP_LEN: u64 = 1 << 20;
/// A small snapshot is written at this rate, bytes per second: the core makes so much in a tenth of its time.
const RATE_MIN: u64 = 32 << 20;
/// A large one is done in about so long, seconds, where device and core allow: meanwhile the log grows.
const SECONDS_MAX: u64 = 60;

/// A share of what the log may grow by between two snapshots: once it has grown by so much while one is written,
/// that one does not rest any more.
const HURRY_SHARE: u64 = 4;
/// Other tasks of the thread wait no longer than this, whatever was written: syncs behind the clients, the end.
const REST_MAX: Duration = Duration::from_millis(100);

/// True when a snapshot is not to rest: the log has grown by so much since it was begun, of what it may grow by
/// between two, or may find no room for its next segment, and a snapshot makes log needless.
pub(super) fn hurries(grown: u64, log_bytes_max: u64, is_short: bool) -> bool {
    is_short || grown >= log_bytes_max / HURRY_SHARE
}

/// The pace of one snapshot.
#[derive(Debug)]
pub(super) struct Pace {
    begun_ns: u64,
    /// Bytes per second.
    rate: u64,
    /// Bytes that were written and not synced yet.
    unsynced: u64,
}

impl Pace {
    /// Of a snapshot of about so many bytes, which begins now.
    pub(super) fn new(now_ns: u64, about: u64) -> Pace {
        Pace { begun_ns: now_ns, rate: (about / SECONDS_MAX).max(RATE_MIN), unsynced: 0 }
    }

    /// So much more was written. True when it is time to sync.
    pub(super) fn step(&mut self, len: usize) -> bool {
        self.unsynced += len as u64;
        let is_due = self.unsynced >= STEP_LEN;
        if is_due {
            self.unsynced = 0;
        }
        is_due
    }

    /// How long to wait before more is written, behind so many bytes in all.
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
        let mut pace = Pace::new(0, 0);
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
        let (small, large) = (Pace::new(begun_ns, 1 << 20), Pace::new(begun_ns, 60 << 30));
        // A sixteenth of a second's worth was written in a hundredth.
        let soon_ns = begun_ns + 10_000_000;
        assert_eq!(small.rest(RATE_MIN / 16, soon_ns), Duration::from_micros(52_500));
        assert_eq!(
            large.rest(RATE_MIN / 16, soon_ns),
            Duration::from_nanos(0),
            "the device is slower"
        );
        assert_eq!(large.rest(1 << 25, begun_ns), Duration::from_micros(31_250));
        // One value of a second's worth.
        assert_eq!(small.rest(RATE_MIN, begun_ns), REST_MAX);
        // Whoever is late goes on at once.
        assert_eq!(small.rest(RATE_MIN, begun_ns + 2_000_000_000), Duration::ZERO);
        assert_eq!(small.rest(0, begun_ns), Duration::ZERO);
    }
}
