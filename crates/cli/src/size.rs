//! Sizes of memory in the notation of Redis: `2gb`, `512mb`, `100k`, `4096`.

use crate::option_values::from_text;
use serde::{Deserialize, Deserializer};
use std::str::FromStr;

/// A size in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Size(pub(crate) u64);

/// Formats a number of bytes for people.
pub(crate) fn format_bytes(bytes: u64) -> String {
    let mut text = format!("{bytes} bytes");
    for (unit, shift) in [("kB", 10), ("MB", 20), ("GB", 30)] {
        if bytes >> shift > 0 {
            #[expect(clippy::cast_precision_loss, reason = "one decimal is shown")]
            let number = bytes as f64 / (1u64 << shift) as f64;
            text = format!("{number:.1} {unit}");
        }
    }
    text
}

impl FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Size, String> {
        let wrong = || format!("{text:?} is not a size: write it as 2gb, 512mb, 64kb or 4096");
        let split = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        let (digits, unit) = text.split_at(split);
        let factor: u64 = match unit.to_ascii_lowercase().as_str() {
            "" | "b" => 1,
            "k" => 1_000,
            "kb" => 1 << 10,
            "m" => 1_000_000,
            "mb" => 1 << 20,
            "g" => 1_000_000_000,
            "gb" => 1 << 30,
            _ => return Err(wrong()),
        };
        let number: u64 = digits.parse().map_err(|_| wrong())?;
        number.checked_mul(factor).map(Size).ok_or_else(wrong)
    }
}

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Size, D::Error> {
        from_text(deserializer)
    }
}

#[cfg(test)]
mod tests {
    use super::Size;

    #[test]
    fn sizes_as_redis_reads_them() {
        for (text, bytes) in [
            ("0", Some(0)),
            ("4096", Some(4096)),
            ("1k", Some(1_000)),
            ("1kb", Some(1_024)),
            ("512MB", Some(512 << 20)),
            ("2gb", Some(2 << 30)),
            ("2 gb", None),
            ("-1", None),
            ("gb", None),
            ("", None),
            ("1tb", None),
            ("99999999999gb", None),
        ] {
            assert_eq!(text.parse::<Size>().ok(), bytes.map(Size), "{text:?}");
        }
    }
}
