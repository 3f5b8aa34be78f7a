//! How much of the log is kept, in the notation of `--keep-log`: `64gb`, `30d`, `30d,64gb`.

use crate::option_values::from_text;
use crate::size::Size;
use scurry_server::{ByteCount, LogRetention};
use serde::{Deserialize, Deserializer};
use std::str::FromStr;

const HOUR_MS: u64 = 3_600_000;

/// How much of the log is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KeepLog(pub(crate) LogRetention);

impl FromStr for KeepLog {
    type Err = String;

    fn from_str(text: &str) -> Result<KeepLog, String> {
        let wrong = || {
            format!(
                "{text:?} does not say how much is kept: write it as a size (64gb), days or hours (30d, 12h), or both \
                 (30d,64gb)"
            )
        };
        let size =
            |text: &str| text.parse().map(|size: Size| ByteCount(size.0)).map_err(|_| wrong());
        let (age, rest) = match text.split_once(',') {
            Some((age, rest)) => (age, Some(rest)),
            None => (text, None),
        };
        Ok(KeepLog(match (parse_age(age), rest) {
            (Some(ms), rest) => LogRetention::Age { ms, bytes_max: rest.map(size).transpose()? },
            (None, Some(_)) => return Err(wrong()),
            (None, None) => match size(text)? {
                ByteCount(0) => LogRetention::Nothing,
                bytes => LogRetention::Bytes(bytes),
            },
        }))
    }
}

/// Returns the milliseconds of days or hours.
fn parse_age(text: &str) -> Option<u64> {
    let (digits, unit_ms) = match text.strip_suffix('d') {
        Some(digits) => (digits, 24 * HOUR_MS),
        None => (text.strip_suffix('h')?, HOUR_MS),
    };
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let number: u64 = digits.parse().ok().filter(|&number| is_number && number > 0)?;
    number.checked_mul(unit_ms).filter(|&ms| i64::try_from(ms).is_ok())
}

impl<'de> Deserialize<'de> for KeepLog {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<KeepLog, D::Error> {
        from_text(deserializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_an_age_or_both() {
        let age = |ms, bytes_max: Option<u64>| {
            Some(LogRetention::Age { ms, bytes_max: bytes_max.map(ByteCount) })
        };
        for (text, expected) in [
            ("0", Some(LogRetention::Nothing)),
            ("64gb", Some(LogRetention::Bytes(ByteCount(64 << 30)))),
            ("30d", age(30 * 24 * HOUR_MS, None)),
            ("12h", age(12 * HOUR_MS, None)),
            ("30d,64gb", age(30 * 24 * HOUR_MS, Some(64 << 30))),
            ("", None),
            ("0d", None),
            ("+1d", None),
            ("d", None),
            ("30d,", None),
            ("30d, 64gb", None),
            ("64gb,30d", None),
            ("1gb,2gb", None),
            ("30d,64gb,1d", None),
            ("9999999999999999d", None),
        ] {
            assert_eq!(text.parse().ok(), expected.map(KeepLog), "{text:?}");
        }
    }
}
