//! Calendar dates for people: conversion between seconds since 1970 and years, months and days of UTC.

const DAY_S: i64 = 86_400;
/// Days of 400 years, after which the calendar repeats.
const ERA_DAYS: i64 = 146_097;
/// Days from 1 March of the year 0 to 1 January 1970.
const BEFORE_1970_DAYS: i64 = 719_468;

/// Returns the date and time of a number of seconds since 1970, in the form of RFC 3339 without the zone.
pub fn date_time(seconds: i64) -> String {
    let (year, month, day) = date(seconds.div_euclid(DAY_S));
    let second = seconds.rem_euclid(DAY_S);
    let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}")
}

/// Returns the number of the day, counted from 1970-01-01. Years are taken to begin in March, so that the leap day is
/// their last day.
pub(crate) fn day_number(year: i64, month: i64, day: i64) -> i64 {
    let year = year - i64::from(month <= 2);
    let (era, year) = (year.div_euclid(400), year.rem_euclid(400));
    let month = (month + 9) % 12;
    let day_of_year = (153 * month + 2) / 5 + day - 1;
    era * ERA_DAYS + 365 * year + year / 4 - year / 100 + day_of_year - BEFORE_1970_DAYS
}

/// Returns year, month and day of a day counted from 1970-01-01.
fn date(days: i64) -> (i64, i64, i64) {
    let days = days + BEFORE_1970_DAYS;
    let (era, day) = (days.div_euclid(ERA_DAYS), days.rem_euclid(ERA_DAYS));
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (era * 400 + year + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00"),
            (-1, "1969-12-31T23:59:59"),
            (951_782_400, "2000-02-29T00:00:00"),
            (4_107_542_400, "2100-03-01T00:00:00"),
            (1_700_000_000, "2023-11-14T22:13:20"),
        ] {
            assert_eq!(date_time(seconds), text);
        }
    }

    #[test]
    fn a_date_has_the_number_of_its_day() {
        for days in (-800_000..800_000).step_by(7).chain(-400..400) {
            let (year, month, day) = date(days);
            assert_eq!(day_number(year, month, day), days, "{year}-{month}-{day}");
        }
    }
}
