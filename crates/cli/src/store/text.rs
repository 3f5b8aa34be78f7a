//! Numbers as people read them.

use scurry_ledger::Time;

const DAY_MS: i64 = 86_400_000;

/// A time as RFC 3339 has it, UTC.
pub(crate) fn time_text(time: Time) -> String {
    let (days, ms) = (time.0.div_euclid(DAY_MS), time.0.rem_euclid(DAY_MS));
    let (year, month, day) = date(days);
    let (hour, minute) = (ms / 3_600_000, ms / 60_000 % 60);
    let (second, ms) = (ms / 1_000 % 60, ms % 1_000);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{ms:03}Z")
}

/// The date of a day, counted from 1970-01-01. Years are taken to begin in March, so that the
/// day that is sometimes missing is their last.
fn date(days: i64) -> (i64, i64, i64) {
    const ERA_DAYS: i64 = 146_097;
    let days = days + 719_468;
    let (era, day) = (days.div_euclid(ERA_DAYS), days.rem_euclid(ERA_DAYS));
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (era * 400 + year + i64::from(month <= 2), month, day)
}

/// A number with its noun: `1 record`, `12,345 records`.
pub(crate) fn count_text(number: u64, noun: &str) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    let end = match (number, noun) {
        (1, noun) => noun.to_owned(),
        (_, "entry") => "entries".to_owned(),
        (_, noun) => format!("{noun}s"),
    };
    format!("{text} {end}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_of_the_calendar() {
        for (ms, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (-1, "1969-12-31T23:59:59.999Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
            (1_700_000_000_123, "2023-11-14T22:13:20.123Z"),
        ] {
            assert_eq!(time_text(Time(ms)), text);
        }
    }

    #[test]
    fn nouns_have_their_plural() {
        assert_eq!(count_text(1, "entry"), "1 entry");
        assert_eq!(count_text(0, "entry"), "0 entries");
        assert_eq!(count_text(1_234_567, "record"), "1,234,567 records");
        assert_eq!(count_text(999, "record"), "999 records");
    }
}
