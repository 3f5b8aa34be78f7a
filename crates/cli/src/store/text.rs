//! Formats times and numbers for people.

use scurry_ledger::Time;
use scurry_tls::date_time;

/// Formats a time as RFC 3339, in UTC.
pub(crate) fn time_text(time: Time) -> String {
    format!("{}.{:03}Z", date_time(time.0.div_euclid(1_000)), time.0.rem_euclid(1_000))
}

/// Formats a number with a comma at each thousand: `12,345`.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Formats a number with its noun: `1 record`, `12,345 records`.
pub(crate) fn count_text(number: u64, noun: &str) -> String {
    let end = match (number, noun) {
        (1, noun) => noun.to_owned(),
        (_, "entry") => "entries".to_owned(),
        (_, noun) => format!("{noun}s"),
    };
    format!("{} {end}", grouped(number))
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
