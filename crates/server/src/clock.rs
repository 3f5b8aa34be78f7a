//! The one place where the server reads clocks: once per turn of the loop for everything that
//! happens in it, and more often only to find out what took long.

use nix::time::{ClockId, clock_gettime};
use scurry_ledger::Time;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// Reads the wall clock for the ledger, and a monotonic one for everything else.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    started: Instant,
    /// What the ledger's time was at the start, at least: what was written before.
    floor: Time,
}

/// One reading.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reading {
    /// UTC, for the ledger.
    pub(crate) time: Time,
    /// Milliseconds since the start, never going back.
    pub(crate) uptime_ms: i64,
}

impl Clock {
    #[expect(clippy::disallowed_methods, reason = "the clock seam of the server")]
    pub(crate) fn start(floor: Time) -> Clock {
        Clock { started: Instant::now(), floor }
    }

    #[expect(clippy::disallowed_methods, reason = "the clock seam of the server")]
    pub(crate) fn read(&self) -> Reading {
        // A clock before 1970 reads as 1970: the ledger's time never runs back anyway.
        let utc = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let uptime_ms = i64::try_from(self.started.elapsed().as_millis()).unwrap_or(i64::MAX);
        let utc = Time(i64::try_from(utc.as_millis()).unwrap_or(i64::MAX));
        // A clock that was set back before the start goes on from where the last run was.
        let time = utc.max(self.floor.plus_ms(uptime_ms));
        Reading { time, uptime_ms }
    }

    /// Nanoseconds since the start: for durations.
    #[expect(clippy::disallowed_methods, reason = "the clock seam of the server")]
    pub(crate) fn monotonic_ns(&self) -> u64 {
        u64::try_from(Instant::now().duration_since(self.started).as_nanos()).unwrap_or(u64::MAX)
    }

    /// Nanoseconds that the calling thread has had a processor; 0 where the system does not tell.
    pub(crate) fn thread_cpu_ns() -> u64 {
        let Ok(time) = clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID) else { return 0 };
        u64::try_from(std::time::Duration::from(time).as_nanos()).unwrap_or(u64::MAX)
    }
}
