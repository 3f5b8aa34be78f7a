//! Integers on the wire: strict decimal as in Redis, so that each number has one spelling.

/// Parses an i64 in decimal without plus sign, leading zero or space; `None` for anything else.
pub fn parse_integer(bytes: &[u8]) -> Option<i64> {
    let (negative, digits) = match bytes {
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    match digits {
        [b'0'] if !negative => return Some(0),
        [b'1'..=b'9', ..] if digits.len() <= 19 => {}
        _ => return None,
    }
    // Accumulates below zero, because i64::MIN has no positive counterpart.
    let mut value = 0i64;
    for &digit in digits {
        if !digit.is_ascii_digit() {
            return None;
        }
        value = value.checked_mul(10)?.checked_sub(i64::from(digit - b'0'))?;
    }
    if negative { Some(value) } else { value.checked_neg() }
}

#[cfg(test)]
mod tests {
    use super::parse_integer;

    #[test]
    fn one_number_has_one_spelling() {
        for (text, value) in [
            ("0", Some(0)),
            ("7", Some(7)),
            ("-7", Some(-7)),
            ("9223372036854775807", Some(i64::MAX)),
            ("-9223372036854775808", Some(i64::MIN)),
            ("9223372036854775808", None),
            ("-9223372036854775809", None),
            ("99999999999999999999", None),
            ("", None),
            ("-", None),
            ("-0", None),
            ("+1", None),
            ("01", None),
            (" 1", None),
            ("1 ", None),
            ("1.0", None),
            ("0x10", None),
            ("1e3", None),
        ] {
            assert_eq!(parse_integer(text.as_bytes()), value, "{text:?}");
        }
    }
}
