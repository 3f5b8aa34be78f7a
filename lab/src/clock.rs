//! The only place that reads a clock: everything else gets nanoseconds as numbers.

use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

/// A monotonic clock that counts from its start.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    origin: Instant,
}

impl Clock {
    /// Starts a clock at zero.
    #[expect(clippy::disallowed_methods, reason = "the lab measures real time, and only here")]
    pub fn start() -> Clock {
        Clock { origin: Instant::now() }
    }

    /// Returns the nanoseconds since the start.
    #[inline]
    pub fn nanos(&self) -> u64 {
        u64::try_from(self.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    /// Returns the time since the start.
    pub fn elapsed(&self) -> Duration {
        self.origin.elapsed()
    }
}

/// Returns the milliseconds since 1970, as a server counts them.
pub fn unix_ms() -> i64 {
    let time = clock_gettime(ClockId::Realtime);
    time.tv_sec * 1_000 + time.tv_nsec / 1_000_000
}

/// Returns the CPU time that the calling thread has used, in nanoseconds.
pub fn thread_cpu_nanos() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    u64::try_from(time.tv_sec).unwrap_or(0) * 1_000_000_000
        + u64::try_from(time.tv_nsec).unwrap_or(0)
}
