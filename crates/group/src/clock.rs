//! The one place where a server reads clocks: once per turn of the loop for everything that happens in it, and more
//! often only to measure what took long.

use nix::time::{ClockId, clock_gettime};
use scurry_ledger::Time;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// A step back of the wall clock by less than this is not reported, ms: slewed clocks make none, and both clocks are
/// rounded.
const SET_BACK_MS_MIN: i64 = 500;
/// Maximum number of readings until one was not interrupted.
const READINGS_MAX: usize = 4;

/// Reads the wall clock for the ledger, and a monotonic one for everything else.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    started: Instant,
    /// Time of the latest write before the start; the ledger never shows an earlier one.
    floor: Time,
    /// How far the wall clock was behind the floor at the start, ms; None when it was not.
    behind_ms: Option<i64>,
}

/// One reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    /// UTC, for the ledger.
    pub time: Time,
    /// Milliseconds since the start, never going back.
    pub uptime_ms: i64,
}

impl Reading {
    /// Returns by how many milliseconds the wall clock was set back from this reading to a later one, if it was.
    fn set_back_ms(self, later: Reading) -> Option<i64> {
        let passed_ms = later.uptime_ms - self.uptime_ms;
        Some(self.time.plus_ms(passed_ms).0 - later.time.0).filter(|&ms| ms >= SET_BACK_MS_MIN)
    }

    /// Takes a reading after this one, and returns by how much the wall clock was set back between them.
    pub fn then(self, read: impl Fn() -> Reading) -> (Reading, Option<i64>) {
        let mut now = read();
        for _ in 1..READINGS_MAX {
            if self.set_back_ms(now).is_none() {
                break;
            }
            // A thread that is interrupted between reading the two clocks looks the same, so read again.
            now = read();
        }
        (now, self.set_back_ms(now))
    }
}

impl Clock {
    /// Starts a clock that never shows a time before `floor`.
    #[expect(clippy::disallowed_methods, reason = "the clock seam of the server")]
    pub fn start(floor: Time) -> Clock {
        let clock = Clock { started: Instant::now(), floor: Time(i64::MIN), behind_ms: None };
        let first = Reading { time: floor, uptime_ms: 0 };
        Clock { floor, behind_ms: first.set_back_ms(clock.read()), ..clock }
    }

    /// Ensures that no time earlier than this one, plus the time that passes from now on, is read.
    pub fn not_before(&mut self, time: Time) {
        self.floor = self.floor.max(time.plus_ms(-self.wall().uptime_ms));
    }

    /// Does the same as [`Clock::not_before`] for a reading of this clock, with a tolerance of `slack_ms`.
    pub fn hold(&mut self, shown: Reading, slack_ms: i64) {
        self.floor = self.floor.max(shown.time.plus_ms(-shown.uptime_ms - slack_ms));
    }

    /// Returns by how many milliseconds the wall clock was behind earlier writes at the start.
    pub fn behind_ms(&self) -> Option<i64> {
        self.behind_ms
    }

    /// Reads the wall clock, raised to the floor.
    pub fn read(&self) -> Reading {
        self.not_behind(self.wall())
    }

    /// Raises the reading to the floor: a clock that was set back before the start goes on from where the last run was.
    pub fn not_behind(&self, reading: Reading) -> Reading {
        let time = reading.time.max(self.floor.plus_ms(reading.uptime_ms));
        Reading { time, ..reading }
    }

    /// Reads the wall clock, whatever was written before.
    #[expect(clippy::disallowed_methods, reason = "the clock seam of the server")]
    pub fn wall(&self) -> Reading {
        // A clock before 1970 reads as 1970: the ledger's time never goes back anyway.
        let utc = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let uptime_ms = i64::try_from(self.started.elapsed().as_millis()).unwrap_or(i64::MAX);
        let time = Time(i64::try_from(utc.as_millis()).unwrap_or(i64::MAX));
        Reading { time, uptime_ms }
    }

    /// Returns the nanoseconds since the start, to measure durations.
    #[expect(clippy::disallowed_methods, reason = "the clock seam of the server")]
    pub fn monotonic_ns(&self) -> u64 {
        u64::try_from(Instant::now().duration_since(self.started).as_nanos()).unwrap_or(u64::MAX)
    }

    /// Returns the CPU time of the calling thread, ns; 0 where the system does not report it.
    pub fn thread_cpu_ns() -> u64 {
        let Ok(time) = clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID) else { return 0 };
        u64::try_from(std::time::Duration::from(time).as_nanos()).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_back_is_told_from_time_that_passes() {
        let at = |time, uptime_ms| Reading { time: Time(time), uptime_ms };
        let before = at(1_000_000, 500);
        for (later, expected) in [
            (at(1_000_100, 600), None),
            // A step forward, as after a suspended machine.
            (at(9_000_000, 600), None),
            // Slewed.
            (at(1_000_090, 600), None),
            (at(1_000_100 - 499, 600), None),
            (at(1_000_100 - 500, 600), Some(500)),
            // Set back while an hour has passed: it shows a later time all the same.
            (at(1_000_000 + 3_000_000, 500 + 3_600_000), Some(600_000)),
        ] {
            assert_eq!(before.set_back_ms(later), expected, "{later:?}");
        }
    }

    #[test]
    fn a_time_that_was_given_holds_also_when_the_clock_is_set_back_later() {
        let mut clock = Clock::start(Time(0));
        let given = clock.read().time.plus_ms(-1_000);
        clock.not_before(given);
        let now = clock.wall();
        let set_back = Reading { time: now.time.plus_ms(-3_600_000), ..now };
        assert!(clock.not_behind(set_back).time >= given);
        assert_eq!(clock.not_behind(now), now);
        let later = Reading { uptime_ms: now.uptime_ms + 60_000, ..set_back };
        assert!(clock.not_behind(later).time >= given.plus_ms(60_000), "it goes on");
    }

    #[test]
    fn what_was_shown_is_gone_behind_by_no_more_than_the_slack() {
        let mut clock = Clock::start(Time(0));
        let shown = clock.wall();
        clock.hold(shown, 1_000);
        let back = |ms: i64| Reading {
            time: shown.time.plus_ms(60_000 - ms),
            uptime_ms: shown.uptime_ms + 60_000,
        };
        assert_eq!(clock.not_behind(back(999)), back(999));
        assert_eq!(clock.not_behind(back(3_600_000)), back(1_000));
    }

    #[test]
    fn a_start_before_what_was_written_is_told() {
        assert_eq!(Clock::start(Time(0)).behind_ms(), None);
        let year_3000 = Time(32_503_680_000_000);
        let clock = Clock::start(year_3000);
        assert!(clock.behind_ms().is_some_and(|ms| ms > 1_000_000));
        assert!(clock.read().time >= year_3000, "time goes on from there");
        let (_, set_back) = clock.read().then(|| clock.read());
        assert_eq!(set_back, None);
    }
}
