//! Time in UTC, and the reset periods of counters, by arithmetic on days (proleptic Gregorian calendar).

const HOUR_MS: i64 = 3_600_000;
const DAY_MS: i64 = 24 * HOUR_MS;

/// UTC milliseconds since 1970.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(pub i64);

impl Time {
    /// The last moment of a host's clock, in the year 6429: what is remembered from then on
    /// still has room for its own time.
    pub const LAST: Time = Time((1 << 47) - 1);

    /// The time this many milliseconds later, at most the end of time.
    pub const fn plus_ms(self, ms: i64) -> Time {
        Time(self.0.saturating_add(ms))
    }
}

/// When a counter falls back to 0.
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
    /// The word on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Period::None => "none",
            Period::Hour => "hour",
            Period::Day => "day",
            Period::Week => "week",
            Period::Month => "month",
        }
    }

    /// Start of the period that contains `now`; the beginning of time for [`Period::None`].
    pub fn start(self, now: Time) -> Time {
        let days = now.0.div_euclid(DAY_MS);
        match self {
            Period::None => Time(i64::MIN),
            Period::Hour => Time(now.0.saturating_sub(now.0.rem_euclid(HOUR_MS))),
            Period::Day => Time(now.0.saturating_sub(now.0.rem_euclid(DAY_MS))),
            // 1 January 1970 was a Thursday: day 3 after a Monday.
            Period::Week => Time((days - (days + 3).rem_euclid(7)).saturating_mul(DAY_MS)),
            Period::Month => {
                Time((days - i64::from(day_of_month(days) - 1)).saturating_mul(DAY_MS))
            }
        }
    }

    /// Start of the next period; none for [`Period::None`].
    pub fn end(self, now: Time) -> Option<Time> {
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

/// Day of the month, 1 to 31, of a day counted from 1 January 1970.
/// The year is taken to begin in March, so that the leap day comes last.
fn day_of_month(days: i64) -> u8 {
    let since_march_0000 = days.saturating_add(719_468);
    let day_of_era = since_march_0000.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    u8::try_from(day_of_year - (153 * month + 2) / 5 + 1).unwrap_or(1)
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
