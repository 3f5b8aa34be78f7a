//! Time in UTC, and the cycles after which counters, limits and allowances reset.

use crate::period::Period;
use crate::zone::Zone;

const MINUTE_MS: i64 = 60_000;
const HOUR_MS: i64 = 60 * MINUTE_MS;

/// UTC milliseconds since 1970.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(pub i64);

impl Time {
    /// The last moment of a host's clock, in the year 6429. Forget times and deadlines computed from it still fit their
    /// stored width.
    pub const LAST: Time = Time((1 << 47) - 1);

    /// Returns the time this many milliseconds later, at most the end of time.
    pub const fn plus_ms(self, ms: i64) -> Time {
        Time(self.0.saturating_add(ms))
    }
}

/// Periods that follow each other without a gap and without an overlap: of a length, by the clocks of a time zone,
/// beginning at an hour, a weekday or a day of the month.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cycle {
    /// Length of a period.
    pub period: Period,
    /// Time zone whose clocks begin it.
    pub zone: Zone,
    /// Hour, weekday or day of the month at which it begins, see [`Period::begins`]; or [`Cycle::FIRST_USE`].
    pub begin: u8,
}

impl Cycle {
    /// The cycle that never resets.
    pub const NONE: Cycle = Cycle::fixed(Period::None, 0);

    /// The begin of periods that begin with the first use after the last one ended, and last for so many ms. Persisted.
    pub const FIRST_USE: u8 = u8::MAX;

    /// The word of that begin on the wire.
    pub const FIRST_USE_WORD: &str = "first-use";

    /// Start of a period that has not begun: nothing was used since the last one ended.
    pub(crate) const NOT_BEGUN: Time = Time(i64::MIN);

    /// Returns the cycle of a zone without summer time, which begins where it does unless another begin is given.
    pub const fn fixed(period: Period, offset_minutes: i16) -> Cycle {
        Cycle { period, zone: Zone::Fixed(offset_minutes), begin: period.begins().0 }
    }

    /// Returns the begin that was given: `None` if it is the usual one.
    pub fn given_begin(self) -> Option<u8> {
        Some(self.begin).filter(|&begin| begin != self.period.begins().0)
    }

    /// Returns the length of a period that begins with its first use, ms; `None` if the calendar begins it.
    #[inline]
    fn first_use_ms(self) -> Option<i64> {
        if self.begin == Cycle::FIRST_USE { self.period.fixed_ms() } else { None }
    }

    /// Reports whether the first use begins a period.
    pub fn begins_with_use(self) -> bool {
        self.begin == Cycle::FIRST_USE
    }

    /// Reports whether the period has such a begin, and the zone such an offset.
    pub fn is_valid(self) -> bool {
        if self.begins_with_use() {
            return self.period.fixed_ms().is_some() && self.zone == Zone::UTC;
        }
        let (first, last) = self.period.begins();
        (first..=last).contains(&self.begin) && self.zone.is_in_range()
    }

    /// Returns the start of the period that contains `now`, or that a use now begins; the beginning of time for
    /// [`Period::None`].
    pub fn start(self, now: Time) -> Time {
        if self.begins_with_use() {
            return now;
        }
        match self.period {
            Period::None => Time(i64::MIN),
            _ => self.start_of(self.number(now)),
        }
    }

    /// Returns the start of the next period; `None` for [`Period::None`], and if it is after the last moment of the
    /// clock.
    pub fn end(self, now: Time) -> Option<Time> {
        self.end_after(Time(i64::MIN), now)
    }

    /// Returns the end of the period that contains `now`, or of the one that began at `start` if that is later.
    pub(crate) fn end_after(self, start: Time, now: Time) -> Option<Time> {
        if self.period == Period::None {
            return None;
        }
        if let Some(ms) = self.first_use_ms() {
            return Some(start.plus_ms(ms)).filter(|&end| now < end && end <= Time::LAST);
        }
        let number = self.number(now).max(self.number_from(start));
        Some(self.start_of(number.saturating_add(1))).filter(|&next| next <= Time::LAST)
    }

    /// Returns the start of the period that contains `now`, if it is a later one than the one that began at `start`.
    /// A period that begins with its first use has not begun, but a use now would begin it.
    pub(crate) fn begun_after(self, start: Time, now: Time) -> Option<Time> {
        if let Some(ms) = self.first_use_ms() {
            return (start.plus_ms(ms) <= now).then_some(now);
        }
        let present = self.start(now);
        let is_later = present > start
            && match self.zone {
                Zone::Fixed(_) => true,
                Zone::Named(_) => self.number(now) > self.number_from(start),
            };
        is_later.then_some(present)
    }

    /// Reports whether a cycle differs at most in its zone, so that a period keeps its number.
    pub(crate) fn is_moved_from(self, from: Cycle) -> bool {
        (self.period, self.begin) == (from.period, from.begin)
    }

    /// Returns when the period begins here that began at `start` in another cycle: the one with its number.
    pub(crate) fn moved(self, from: Cycle, start: Time) -> Time {
        self.start_of(from.number_from(start))
    }

    /// Returns how many periods begin after that which began at `start`, and after `from`, and no later than `to`; 0
    /// for [`Period::None`].
    pub fn begun(self, start: Time, from: Time, to: Time) -> i64 {
        if to <= from || self.period == Period::None {
            return 0;
        }
        let done = self.number_from(start);
        let done = if from > start { done.max(self.number(from)) } else { done };
        (self.number(to) - done).max(0)
    }

    /// Returns the number of the period that contains `now`: consecutive periods have consecutive numbers.
    fn number(self, now: Time) -> i64 {
        if self.period == Period::None {
            return 0;
        }
        if let Zone::Fixed(_) = self.zone {
            let local = now.0.saturating_add(self.ahead_ms(now.0));
            return self.period.number_at(self.begin, local);
        }
        let now = now.0.clamp(-Time::LAST.0, 2 * Time::LAST.0);
        let mut number = self.period.number_at(self.begin, now + self.ahead_ms(now));
        // A clock that is set back shows times of a period that is over.
        while self.start_of(number + 1).0 <= now {
            number += 1;
        }
        number
    }

    /// Returns the number of the period that began at `start`. The tables that decided its start may have been others:
    /// it is the period that begins nearest to it.
    fn number_from(self, start: Time) -> i64 {
        if start.0 == i64::MIN {
            return i64::MIN;
        }
        let number = self.number(start);
        match self.zone {
            Zone::Fixed(_) => number,
            Zone::Named(_) => {
                let (last, next) = (self.start_of(number), self.start_of(number + 1));
                number + i64::from(next.0 - start.0 < start.0 - last.0)
            }
        }
    }

    /// Returns the start of a period: the first moment whose local time is not before its nominal start.
    fn start_of(self, number: i64) -> Time {
        let local = self.period.nominal_start(self.begin, number);
        let by = |ahead: i64| local.saturating_sub(ahead);
        if let Zone::Fixed(_) = self.zone {
            return Time(by(self.ahead_ms(local)));
        }
        // No zone is 16 hours from UTC, and none changes its clocks twice in 32 hours.
        let before = self.ahead_ms(local.saturating_sub(16 * HOUR_MS));
        let after = self.ahead_ms(local.saturating_add(16 * HOUR_MS));
        if before == after || self.ahead_ms(by(before)) == before {
            return Time(by(before));
        }
        if self.ahead_ms(by(after)) == after {
            return Time(by(after));
        }
        // The clocks skip the nominal start: the period begins when they do.
        let (mut early, mut late) = (by(after), by(before));
        while late - early > 1 {
            let middle = early + (late - early) / 2;
            if self.ahead_ms(middle) == after {
                late = middle;
            } else {
                early = middle;
            }
        }
        Time(late)
    }

    /// Returns by how many ms the clock that begins the periods is ahead of UTC. Minutes and hours are absolute time:
    /// zones that differ by full ones have the same, and several of them are those of UTC.
    fn ahead_ms(self, utc: i64) -> i64 {
        match self.period {
            Period::Minutes(_) | Period::Hours(_) => 0,
            Period::Minute => self.zone.ahead_ms(utc).rem_euclid(MINUTE_MS),
            Period::Hour => self.zone.ahead_ms(utc).rem_euclid(HOUR_MS),
            _ => self.zone.ahead_ms(utc),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::period::DAY_MS;
    use crate::zone::NamedZone;

    const PLAIN: [Period; 4] = [Period::Hour, Period::Day, Period::Week, Period::Month];

    fn zone(name: &str) -> Zone {
        Zone::Named(NamedZone::new(name.as_bytes()).expect("a zone"))
    }

    #[test]
    fn periods_begin_where_the_calendar_says() {
        // 2024-02-29T12:34:56.789Z, a Thursday.
        let now = Time(1_709_210_096_789);
        let start = |period| Cycle::fixed(period, 0).start(now);
        let end = |period| Cycle::fixed(period, 0).end(now);
        assert_eq!(start(Period::Minute), Time(1_709_210_040_000));
        assert_eq!(start(Period::Hour), Time(1_709_208_000_000));
        assert_eq!(start(Period::Day), Time(1_709_164_800_000));
        assert_eq!(start(Period::Week), Time(1_708_905_600_000)); // Monday 26 February
        assert_eq!(start(Period::Month), Time(1_706_745_600_000)); // 1 February
        assert_eq!(start(Period::Quarter), Time(1_704_067_200_000)); // 1 January
        assert_eq!(start(Period::Year), Time(1_704_067_200_000));
        assert_eq!(end(Period::Month), Some(Time(1_709_251_200_000))); // 1 March
        assert_eq!(end(Period::Week), Some(Time(1_709_510_400_000)));
        assert_eq!(end(Period::Quarter), Some(Time(1_711_929_600_000))); // 1 April
        assert_eq!(end(Period::Year), Some(Time(1_735_689_600_000))); // 1 January 2025
        assert_eq!(end(Period::None), None);
        // Five hours since 1970, and thirty days.
        assert_eq!(start(Period::Hours(5)), Time(94_956 * 5 * HOUR_MS));
        assert_eq!(start(Period::Days(30)), Time(659 * 30 * DAY_MS));
    }

    #[test]
    fn a_period_begins_on_its_day_or_on_the_last_of_a_shorter_month() {
        let begins = |period, begin, now| {
            let cycle = Cycle { begin, ..Cycle::fixed(period, 0) };
            (cycle.start(Time(now)).0 / DAY_MS, cycle.end(Time(now)).expect("an end").0 / DAY_MS)
        };
        let february = 19_782; // 29 February 2024
        assert_eq!(begins(Period::Month, 31, february * DAY_MS - 1), (19_753, february));
        assert_eq!(begins(Period::Month, 31, february * DAY_MS), (february, 19_813));
        assert_eq!(begins(Period::Month, 29, 19_416 * DAY_MS), (19_416, 19_445)); // 28 February 2023
        assert_eq!(begins(Period::Quarter, 15, february * DAY_MS), (19_737, 19_828));
        assert_eq!(begins(Period::Year, 2, february * DAY_MS), (19_724, 20_090));
        // Sundays, and 06:00.
        assert_eq!(begins(Period::Week, 7, february * DAY_MS), (19_778, 19_785));
    }

    #[test]
    fn periods_of_a_zone_begin_earlier_where_its_clocks_are_ahead() {
        // 2024-02-29T23:30:00Z: 1 March in Zurich (+60), and half past the hour in India (+330).
        let now = Time(1_709_249_400_000);
        let start = |period, offset_minutes| Cycle::fixed(period, offset_minutes).start(now);
        assert_eq!(start(Period::Day, 60), Time(1_709_247_600_000));
        assert_eq!(start(Period::Month, 60), Time(1_709_247_600_000));
        assert_eq!(start(Period::Month, 0), Time(1_706_745_600_000));
        assert_eq!(start(Period::Hour, 330), Time(1_709_249_400_000));
        assert_eq!(start(Period::Day, -480), Time(1_709_193_600_000));
        let next = Cycle::fixed(Period::Day, -480);
        assert_eq!(next.end(now), Some(Time(1_709_280_000_000)));
        assert_eq!((Cycle::NONE.start(now), Cycle::NONE.end(now)), (Time(i64::MIN), None));
    }

    #[test]
    fn each_period_has_the_number_behind_that_of_the_one_before() {
        let zones = [
            Zone::Fixed(-840),
            Zone::UTC,
            Zone::Fixed(345),
            zone("Europe/Berlin"),
            zone("America/New_York"),
            zone("Australia/Lord_Howe"),
            zone("Asia/Kathmandu"),
            // It had midnights that no clock showed, and a day that it skipped.
            zone("Pacific/Apia"),
            zone("America/Sao_Paulo"),
        ];
        let lengths = [Period::Quarter, Period::Year, Period::Hours(5), Period::Days(30)];
        for period in PLAIN.into_iter().chain(lengths) {
            for zone in zones {
                let (_, last) = period.begins();
                for begin in [period.begins().0, last] {
                    let cycle = Cycle { period, zone, begin };
                    // Covers the time from before 1970 to after 1 March 2000.
                    let (from, mut start, mut count) = (Time(-1), cycle.start(Time(-1)), 0);
                    let first = start;
                    while count < 400 {
                        let end = cycle.end(start).expect("a period ends");
                        assert!(start < end && cycle.start(end) == end, "{cycle:?} {start:?}");
                        assert_eq!(cycle.start(Time(end.0 - 1)), start, "{cycle:?} {end:?}");
                        count += 1;
                        let begun = |to| cycle.begun(first, from, to);
                        assert_eq!(begun(end), count, "{cycle:?} {end:?}");
                        assert_eq!(begun(Time(end.0 - 1)), count - 1, "{cycle:?} {end:?}");
                        start = end;
                    }
                }
            }
        }
        let begun = |cycle: Cycle, from, to| cycle.begun(cycle.start(from), from, to);
        assert_eq!(begun(Cycle::NONE, Time(0), Time::LAST), 0);
        let daily = Cycle::fixed(Period::Day, 0);
        assert_eq!(begun(daily, Time(DAY_MS), Time(DAY_MS)), 0);
        assert_eq!(begun(daily, Time::LAST, Time(0)), 0);
    }

    #[test]
    fn summer_time_makes_days_of_23_and_25_hours() {
        let berlin = Cycle { zone: zone("Europe/Berlin"), ..Cycle::fixed(Period::Day, 0) };
        // 2025-03-30 begins at 23:00 UTC of the day before, and ends at 22:00 UTC.
        let spring = Time(1_743_289_200_000);
        assert_eq!(berlin.start(Time(spring.0 + 5)), spring);
        assert_eq!(berlin.end(spring), Some(Time(spring.0 + 23 * HOUR_MS)));
        // 2025-10-26 begins at 22:00 UTC of the day before, and ends at 23:00 UTC.
        let autumn = Time(1_761_429_600_000);
        assert_eq!(berlin.end(autumn), Some(Time(autumn.0 + 25 * HOUR_MS)));
        // 02:00 does not exist in spring, and is there twice in autumn: the first counts.
        let two = Cycle { begin: 2, ..berlin };
        assert_eq!(two.end(spring), Some(Time(spring.0 + 2 * HOUR_MS)));
        assert_eq!(two.end(autumn), Some(Time(autumn.0 + 2 * HOUR_MS)));
        assert_eq!(two.start(Time(autumn.0 + 3 * HOUR_MS)), Time(autumn.0 + 2 * HOUR_MS));
        // In Newfoundland 00:01 was 23:01 again, a minute after midnight: the day had begun, and went on.
        let johns = Cycle { zone: zone("America/St_Johns"), ..berlin };
        let begin = Time(1_289_097_000_000); // 2010-11-07
        for minutes in [0, 1, 30, 59, 60, 61] {
            assert_eq!(johns.start(Time(begin.0 + minutes * MINUTE_MS)), begin, "{minutes}");
        }
    }

    #[test]
    fn other_tables_move_no_period_that_has_begun() {
        // A build whose tables had summer time began 1 December 2025 in Berlin at 22:00 UTC; it begins at 23:00.
        let berlin = Cycle { zone: zone("Europe/Berlin"), ..Cycle::fixed(Period::Day, 0) };
        let (told, begin) = (Time(1_764_540_000_000), Time(1_764_543_600_000));
        let (noon, end) = (Time(begin.0 + 12 * HOUR_MS), Time(begin.0 + DAY_MS));
        assert_eq!(berlin.start(noon), begin);
        for told in [told, begin, Time(begin.0 + HOUR_MS)] {
            assert_eq!(berlin.begun_after(told, noon), None, "{told:?}");
            assert_eq!(berlin.begun_after(told, end), Some(end), "{told:?}");
            assert_eq!(berlin.begun(told, Time(-1), noon), 0, "{told:?}");
            assert_eq!(berlin.begun(told, Time(-1), end), 1, "{told:?}");
            assert_eq!(berlin.end_after(told, told), Some(end), "{told:?}");
        }
    }

    #[test]
    fn no_period_begins_after_the_last_moment_of_the_clock() {
        for period in PLAIN {
            for offset_minutes in [-840, 0, 345, 840] {
                let cycle = Cycle::fixed(period, offset_minutes);
                let last = cycle.start(Time::LAST);
                assert_eq!(cycle.end(Time(last.0 - 1)), Some(last), "{cycle:?}");
                for now in [last, Time::LAST, Time(i64::MAX - 1), Time(i64::MAX)] {
                    assert_eq!(cycle.end(now), None);
                }
            }
        }
    }

    #[test]
    fn times_before_1970_and_at_the_edges_do_not_overflow() {
        for now in [i64::MIN, -1, 0, 1, i64::MAX] {
            for period in Period::NAMED.into_iter().chain([Period::Days(9_999)]) {
                for zone in [Zone::UTC, zone("Europe/Berlin")] {
                    let cycle = Cycle { zone, ..Cycle::fixed(period, 0) };
                    let start = cycle.start(Time(now));
                    assert!(start <= Time(now) || now == i64::MIN, "{cycle:?} {now}");
                }
            }
        }
    }
}
