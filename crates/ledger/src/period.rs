//! Periods of the calendar on a clock that shows local time, by arithmetic on days (proleptic Gregorian calendar).

use core::fmt;

const MINUTE_MS: i64 = 60_000;
const HOUR_MS: i64 = 60 * MINUTE_MS;
pub(crate) const DAY_MS: i64 = 24 * HOUR_MS;

/// Period after which something resets, such as a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Period {
    /// Never.
    None,
    /// An hour.
    Hour,
    /// A day.
    Day,
    /// Seven days.
    Week,
    /// A month.
    Month,
    /// A minute.
    Minute,
    /// Three months.
    Quarter,
    /// A year.
    Year,
    /// So many minutes, 1 to [`Period::COUNT_MAX`].
    Minutes(u16),
    /// So many hours, 1 to [`Period::COUNT_MAX`].
    Hours(u16),
    /// So many days, 1 to [`Period::COUNT_MAX`].
    Days(u16),
}

/// Length of a period.
enum Length {
    /// A length in ms, and where on the local clock a period begins.
    Ms { ms: i64, phase: i64 },
    /// Months.
    Months(i64),
}

impl Period {
    /// Greatest number of minutes, hours or days of a period.
    pub const COUNT_MAX: u16 = 9_999;
    /// Periods that have a name.
    pub const NAMED: [Period; 8] = [
        Period::None,
        Period::Minute,
        Period::Hour,
        Period::Day,
        Period::Week,
        Period::Month,
        Period::Quarter,
        Period::Year,
    ];

    /// Returns the period with this word on the wire: a name in any case, or `5h`.
    pub fn new(word: &[u8]) -> Option<Period> {
        let is = |period: &Period| {
            period.word().is_some_and(|name| word.eq_ignore_ascii_case(name.as_bytes()))
        };
        if let Some(named) = Period::NAMED.into_iter().find(is) {
            return Some(named);
        }
        let (unit, digits) = word.split_last()?;
        if !(1..=4).contains(&digits.len()) || digits[0] == b'0' {
            return None;
        }
        let digit = |count: u16, &byte: &u8| {
            byte.is_ascii_digit().then(|| count * 10 + u16::from(byte - b'0'))
        };
        let count = digits.iter().try_fold(0, digit)?;
        match unit.to_ascii_lowercase() {
            b'm' => Some(Period::Minutes(count)),
            b'h' => Some(Period::Hours(count)),
            b'd' => Some(Period::Days(count)),
            _ => None,
        }
    }

    fn word(self) -> Option<&'static str> {
        match self {
            Period::None => Some("none"),
            Period::Hour => Some("hour"),
            Period::Day => Some("day"),
            Period::Week => Some("week"),
            Period::Month => Some("month"),
            Period::Minute => Some("minute"),
            Period::Quarter => Some("quarter"),
            Period::Year => Some("year"),
            Period::Minutes(_) | Period::Hours(_) | Period::Days(_) => None,
        }
    }

    /// Returns the number of the kind of period. Persisted.
    pub const fn number(self) -> u8 {
        match self {
            Period::None => 0,
            Period::Hour => 1,
            Period::Day => 2,
            Period::Week => 3,
            Period::Month => 4,
            Period::Minute => 5,
            Period::Quarter => 6,
            Period::Year => 7,
            Period::Minutes(_) => 8,
            Period::Hours(_) => 9,
            Period::Days(_) => 10,
        }
    }

    /// Returns how many minutes, hours or days it has; 0 for a period with a name.
    pub const fn count(self) -> u16 {
        match self {
            Period::Minutes(count) | Period::Hours(count) | Period::Days(count) => count,
            _ => 0,
        }
    }

    /// Returns the period with this number and this count.
    pub fn from_number(number: u8, count: u16) -> Option<Period> {
        let counted = match number {
            8 => Period::Minutes(count),
            9 => Period::Hours(count),
            10 => Period::Days(count),
            _ => {
                let named = Period::NAMED.into_iter().find(|period| period.number() == number);
                return named.filter(|_| count == 0);
            }
        };
        (1..=Period::COUNT_MAX).contains(&count).then_some(counted)
    }

    /// Returns the ms of a period of fixed length, which may begin with its first use; `None` of any other.
    pub(crate) fn fixed_ms(self) -> Option<i64> {
        match self.length(self.begins().0) {
            Length::Ms { ms, .. } if self != Period::None => Some(ms),
            Length::Ms { .. } | Length::Months(_) => None,
        }
    }

    /// Returns the begin that holds unless another is given, and the last one: hours of a day, weekdays from Monday,
    /// days of a month. The first is the least.
    pub const fn begins(self) -> (u8, u8) {
        match self {
            Period::Day => (0, 23),
            Period::Week => (1, 7),
            Period::Month | Period::Quarter | Period::Year => (1, 31),
            _ => (0, 0),
        }
    }

    fn length(self, begin: u8) -> Length {
        let even = |unit: i64, count: u16| Length::Ms { ms: unit * i64::from(count), phase: 0 };
        let begin = i64::from(begin);
        match self {
            Period::None => Length::Ms { ms: i64::MAX, phase: 0 },
            Period::Minute => even(MINUTE_MS, 1),
            Period::Hour => even(HOUR_MS, 1),
            Period::Minutes(count) => even(MINUTE_MS, count),
            Period::Hours(count) => even(HOUR_MS, count),
            Period::Days(count) => even(DAY_MS, count),
            Period::Day => Length::Ms { ms: DAY_MS, phase: begin * HOUR_MS },
            // 1 January 1970 was a Thursday, three days after a Monday.
            Period::Week => Length::Ms { ms: 7 * DAY_MS, phase: (begin - 4) * DAY_MS },
            Period::Month => Length::Months(1),
            Period::Quarter => Length::Months(3),
            Period::Year => Length::Months(12),
        }
    }

    /// Returns the number of the period that contains a moment of the local clock: consecutive periods have consecutive
    /// numbers.
    pub(crate) fn number_at(self, begin: u8, local: i64) -> i64 {
        match self.length(begin) {
            Length::Ms { ms, phase } => local.saturating_sub(phase).div_euclid(ms),
            Length::Months(count) => {
                let (month, day) = month_and_day(local.div_euclid(DAY_MS));
                let first = month - month.rem_euclid(count);
                let is_before = month == first && day < first_day(month, begin);
                first.div_euclid(count) - i64::from(is_before)
            }
        }
    }

    /// Returns the nominal start of the period with this number, ms of the local clock.
    pub(crate) fn nominal_start(self, begin: u8, number: i64) -> i64 {
        match self.length(begin) {
            Length::Ms { ms, phase } => number.saturating_mul(ms).saturating_add(phase),
            Length::Months(count) => {
                let month = number.saturating_mul(count);
                let day = days_before(month) + first_day(month, begin) - 1;
                day.saturating_mul(DAY_MS)
            }
        }
    }
}

impl fmt::Display for Period {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Period::Minutes(count) => write!(f, "{count}m"),
            Period::Hours(count) => write!(f, "{count}h"),
            Period::Days(count) => write!(f, "{count}d"),
            named => f.write_str(named.word().unwrap_or("none")),
        }
    }
}

/// Returns the day of the month at which a period begins: the month's last day if it has fewer days.
fn first_day(month: i64, begin: u8) -> i64 {
    match begin {
        0..=28 => i64::from(begin),
        _ => i64::from(begin).min(days_before(month + 1) - days_before(month)),
    }
}

/// Days from 1 March of the year 0 to 1970.
const MARCH_0000: i64 = 719_468;

/// Returns the number of the month, counted from January of the year 0, and the day of the month, 1 to 31, of a day
/// counted from 1 January 1970. The year is taken to begin in March, so that the leap day is the last day.
fn month_and_day(days: i64) -> (i64, i64) {
    // There are 146,097 days in 400 years.
    let since_march_0000 = days.saturating_add(MARCH_0000);
    let day_of_era = since_march_0000.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    // Counted from March, every five months have 153 days.
    let month = (5 * day_of_year + 2) / 153;
    let year = since_march_0000.div_euclid(146_097) * 400 + year_of_era;
    (year * 12 + month + 2, day_of_year - (153 * month + 2) / 5 + 1)
}

/// Returns the days from 1970 to the first of a month counted from January of the year 0.
fn days_before(month: i64) -> i64 {
    let since_march = month.saturating_sub(2);
    let (year, month) = (since_march.div_euclid(12), since_march.rem_euclid(12));
    let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    year.saturating_mul(365) + leap_days + (153 * month + 2) / 5 - MARCH_0000
}
