//! Time, as nanoseconds.

use rustix::time::{ClockId, Timespec, clock_gettime};

/// A point of a monotonic clock.
pub(crate) fn nanos() -> u64 {
    of(clock_gettime(ClockId::Monotonic))
}

/// CPU time of all threads, with those that the kernel adds for a ring.
pub(crate) fn cpu_nanos() -> u64 {
    of(clock_gettime(ClockId::ProcessCPUTime))
}

fn of(time: Timespec) -> u64 {
    time.tv_sec.cast_unsigned() * 1_000_000_000 + time.tv_nsec.cast_unsigned()
}
