//! The length of a rolling limit or of a rate, in ms.

use crate::period::DAY_MS;
use core::fmt;

/// A length of time of a limit: 1 second to 9999 days.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span(i64);

/// Units in which a span is written, from the longest.
const UNITS: [(&str, i64); 5] =
    [("d", DAY_MS), ("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1)];

impl Span {
    /// Least length, ms.
    pub const MS_MIN: i64 = 1_000;
    /// Greatest length, ms: 9999 days.
    pub const MS_MAX: i64 = 9_999 * DAY_MS;

    /// Returns the span of so many ms; `None` if it is too short or too long.
    pub fn new(ms: i64) -> Option<Span> {
        (Span::MS_MIN..=Span::MS_MAX).contains(&ms).then_some(Span(ms))
    }

    /// Returns the length in ms.
    pub const fn ms(self) -> i64 {
        self.0
    }

    /// Returns the ms of a number with its unit, in any case: `500ms`, `60s`, `20m`, `5h`, `30d`.
    pub fn parse_ms(word: &[u8]) -> Option<i64> {
        let len = word.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (digits, unit) = word.split_at(len);
        let is = |(name, _): &&(&str, i64)| unit.eq_ignore_ascii_case(name.as_bytes());
        let (_, ms) = UNITS.iter().find(is)?;
        let digit = |number: i64, byte: &u8| {
            number.checked_mul(10)?.checked_add(i64::from(byte.wrapping_sub(b'0')))
        };
        (len > 0).then(|| digits.iter().try_fold(0, digit))?.and_then(|n| n.checked_mul(*ms))
    }
}

/// Writes the number in the longest unit that divides it.
impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let divides = |(_, ms): &&(&str, i64)| self.0 % ms == 0;
        let (unit, ms) = UNITS.iter().find(divides).unwrap_or(&("ms", 1));
        write!(f, "{}{unit}", self.0 / ms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn a_span_is_read_as_it_is_shown() {
        for (word, ms) in [("1s", 1_000), ("1500ms", 1_500), ("90s", 90_000), ("5h", 18_000_000)] {
            let span = Span::new(ms).expect("a span");
            assert_eq!(
                (span.to_string(), Span::parse_ms(word.as_bytes())),
                (word.into(), Some(ms))
            );
        }
        let shown = |ms| Span::new(ms).map(|span| span.to_string());
        assert_eq!(shown(60_000).as_deref(), Some("1m"));
        assert_eq!(shown(Span::MS_MAX).as_deref(), Some("9999d"));
        assert_eq!((shown(999), shown(Span::MS_MAX + 1)), (None, None));
        for word in ["", "5", "h", "-1h", "1w", "99999999999999999999d", "9223372036854775807d"] {
            assert_eq!(Span::parse_ms(word.as_bytes()), None, "{word}");
        }
    }
}
