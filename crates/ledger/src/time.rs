//! Time in UTC, and the periods after which counters, limits and allowances reset, by arithmetic on days (proleptic
//! Gregorian calendar).

const MINUTE_MS: i64 = 60_000;
const HOUR_MS: i64 = 60 * MINUTE_MS;
const DAY_MS: i64 = 24 * HOUR_MS;

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

/// Period after which something resets, such as a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Period {
    /// Never.
    None = 0,
    /// At each full hour.
    Hour = 1,
    /// At midnight.
    Day = 2,
    /// At midnight before Monday.
    Week = 3,
    /// At midnight before the first of a month.
    Month = 4,
}

impl Period {
    /// Returns the word on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Period::None => "none",
            Period::Hour => "hour",
            Period::Day => "day",
            Period::Week => "week",
            Period::Month => "month",
        }
    }

    /// Returns the start of the period that contains `now`; the beginning of time for [`Period::None`].
    pub fn start(self, now: Time) -> Time {
        let days = now.0.div_euclid(DAY_MS);
        match self {
            Period::None => Time(i64::MIN),
            Period::Hour => Time(now.0.saturating_sub(now.0.rem_euclid(HOUR_MS))),
            Period::Day => Time(now.0.saturating_sub(now.0.rem_euclid(DAY_MS))),
            // 1 January 1970 was a Thursday: day 3 after a Monday.
            Period::Week => Time((days - (days + 3).rem_euclid(7)).saturating_mul(DAY_MS)),
            Period::Month => {
                Time((days - i64::from(month_and_day(days).1 - 1)).saturating_mul(DAY_MS))
            }
        }
    }

    /// Returns the number of the period that contains `now`: consecutive periods have consecutive numbers.
    fn number(self, now: Time) -> i64 {
        let days = now.0.div_euclid(DAY_MS);
        match self {
            Period::None => 0,
            Period::Hour => now.0.div_euclid(HOUR_MS),
            Period::Day => days,
            Period::Week => (days + 3).div_euclid(7),
            Period::Month => month_and_day(days).0,
        }
    }

    /// Returns the start of the next period; `None` for [`Period::None`], and if it is after the last moment of the
    /// clock.
    pub fn end(self, now: Time) -> Option<Time> {
        self.next_start(now).filter(|&next| next <= Time::LAST)
    }

    fn next_start(self, now: Time) -> Option<Time> {
        let start = self.start(now);
        match self {
            Period::None => None,
            Period::Hour => Some(start.plus_ms(HOUR_MS)),
            Period::Day => Some(start.plus_ms(DAY_MS)),
            Period::Week => Some(start.plus_ms(7 * DAY_MS)),
            // 31 days after the first of a month is always in the next month.
            Period::Month => Some(self.start(start.plus_ms(31 * DAY_MS))),
        }
    }
}

/// Periods of a time zone without summer time: those of UTC, earlier by the offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cycle {
    /// Length of a period.
    pub period: Period,
    /// Minutes by which the clocks of the zone are ahead of UTC, at most
    /// [`Cycle::OFFSET_MINUTES_MAX`] in both directions.
    pub offset_minutes: i16,
}

impl Cycle {
    /// Greatest distance of a time zone from UTC: 14 hours.
    pub const OFFSET_MINUTES_MAX: i16 = 14 * 60;
    /// The cycle that never resets.
    pub const NONE: Cycle = Cycle { period: Period::None, offset_minutes: 0 };

    /// Returns the start of the period that contains `now`; the beginning of time for [`Period::None`].
    pub fn start(self, now: Time) -> Time {
        match self.period {
            Period::None => Period::None.start(now),
            period => self.to_utc(period.start(self.to_zone(now))),
        }
    }

    /// Returns the start of the next period; `None` for [`Period::None`], and if it is after the last moment of the
    /// clock.
    pub fn end(self, now: Time) -> Option<Time> {
        let next = self.period.next_start(self.to_zone(now)).map(|next| self.to_utc(next));
        next.filter(|&next| next <= Time::LAST)
    }

    /// Returns by how many ms a period with a number begins later under another offset. Days, weeks and months have
    /// numbers of the zone's calendar. Zones that differ by full hours have the same hours.
    pub(crate) fn later_under(self, offset_minutes: i16) -> i64 {
        let ahead = |minutes: i16| match self.period {
            Period::Hour => i64::from(minutes).rem_euclid(60),
            _ => i64::from(minutes),
        };
        (ahead(self.offset_minutes) - ahead(offset_minutes)) * MINUTE_MS
    }

    /// Returns how many periods begin after `from` and no later than `to`; 0 for [`Period::None`].
    pub fn begun(self, from: Time, to: Time) -> i64 {
        if to <= from {
            return 0;
        }
        self.period.number(self.to_zone(to)) - self.period.number(self.to_zone(from))
    }

    fn offset_ms(self) -> i64 {
        i64::from(self.offset_minutes) * MINUTE_MS
    }

    fn to_zone(self, utc: Time) -> Time {
        utc.plus_ms(self.offset_ms())
    }

    fn to_utc(self, zone: Time) -> Time {
        zone.plus_ms(-self.offset_ms())
    }
}

/// Returns the number of the month, counted from March of the year 0, and the day of the month, 1 to 31, of a day
/// counted from 1 January 1970. The year is taken to begin in March, so that the leap day is the last day.
fn month_and_day(days: i64) -> (i64, u8) {
    // There are 719,468 days from 1 March of the year 0 to 1970, and 146,097 days in 400 years.
    let since_march_0000 = days.saturating_add(719_468);
    let day_of_era = since_march_0000.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    // Counted from March, every five months have 153 days.
    let month = (5 * day_of_year + 2) / 153;
    let year = since_march_0000.div_euclid(146_097) * 400 + year_of_era;
    let day = u8::try_from(day_of_year - (153 * month + 2) / 5 + 1).unwrap_or(1);
    (year * 12 + month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn periods_begin_where_the_calendar_says() {
        // 2024-02-29T12:34:56.789Z, a Thursday.
        let now = Time(1_709_210_096_789);
        assert_eq!(Period::Hour.start(now), Time(1_709_208_000_000));
        assert_eq!(Period::Day.start(now), Time(1_709_164_800_000));
        assert_eq!(Period::Week.start(now), Time(1_708_905_600_000)); // Monday 26 February
        assert_eq!(Period::Month.start(now), Time(1_706_745_600_000)); // 1 February
        assert_eq!(Period::Month.end(now), Some(Time(1_709_251_200_000))); // 1 March
        assert_eq!(Period::Week.end(now), Some(Time(1_709_510_400_000)));
        assert_eq!(Period::None.end(now), None);
    }

    #[test]
    fn periods_of_a_zone_begin_earlier_where_its_clocks_are_ahead() {
        // 2024-02-29T23:30:00Z: 1 March in Zurich (+60), and half past the hour in India (+330).
        let now = Time(1_709_249_400_000);
        let start = |period, offset_minutes| Cycle { period, offset_minutes }.start(now);
        assert_eq!(start(Period::Day, 60), Time(1_709_247_600_000));
        assert_eq!(start(Period::Month, 60), Time(1_709_247_600_000));
        assert_eq!(start(Period::Month, 0), Time(1_706_745_600_000));
        assert_eq!(start(Period::Hour, 330), Time(1_709_249_400_000));
        assert_eq!(start(Period::Day, -480), Time(1_709_193_600_000));
        let next = Cycle { period: Period::Day, offset_minutes: -480 };
        assert_eq!(next.end(now), Some(Time(1_709_280_000_000)));
        assert_eq!((Cycle::NONE.start(now), Cycle::NONE.end(now)), (Time(i64::MIN), None));
    }

    #[test]
    fn each_period_has_the_number_behind_that_of_the_one_before() {
        for period in [Period::Hour, Period::Day, Period::Week, Period::Month] {
            for offset_minutes in [-840, 0, 345] {
                let cycle = Cycle { period, offset_minutes };
                // Covers the time from before 1970 to after 1 March 2000.
                let (from, mut start, mut count) = (Time(-1), cycle.start(Time(-1)), 0);
                while count < 400 {
                    let end = cycle.end(start).expect("a period ends");
                    assert!(start < end && cycle.start(end) == end, "{cycle:?} {start:?}");
                    count += 1;
                    assert_eq!(cycle.begun(from, end), count, "{cycle:?} {end:?}");
                    assert_eq!(cycle.begun(from, Time(end.0 - 1)), count - 1, "{cycle:?} {end:?}");
                    start = end;
                }
            }
        }
        assert_eq!(Cycle::NONE.begun(Time(0), Time::LAST), 0);
        let daily = Cycle { period: Period::Day, offset_minutes: 0 };
        assert_eq!(daily.begun(Time(DAY_MS), Time(DAY_MS)), 0);
        assert_eq!(daily.begun(Time::LAST, Time(0)), 0);
    }

    #[test]
    fn no_period_begins_after_the_last_moment_of_the_clock() {
        for period in [Period::Hour, Period::Day, Period::Week, Period::Month] {
            for offset_minutes in [-840, 0, 345, 840] {
                let cycle = Cycle { period, offset_minutes };
                let last = cycle.start(Time::LAST);
                assert_eq!(cycle.end(Time(last.0 - 1)), Some(last), "{cycle:?}");
                for now in [last, Time::LAST, Time(i64::MAX - 1), Time(i64::MAX)] {
                    assert_eq!((cycle.end(now), period.end(now.max(Time::LAST))), (None, None));
                }
            }
        }
    }

    #[test]
    fn times_before_1970_and_at_the_edges_do_not_overflow() {
        for now in [i64::MIN, -1, 0, 1, i64::MAX] {
            for period in [Period::None, Period::Hour, Period::Day, Period::Week, Period::Month] {
                assert!(
                    period.start(Time(now)) <= Time(now) || now == i64::MIN,
                    "{period:?} {now}"
                );
            }
        }
    }
}
