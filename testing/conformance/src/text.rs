//! Text common to commands and expected replies: quotes, and times relative to the start.

use scurry_ledger::Time;

/// Start of every script's clock: Tuesday 14 November 2023, 22:13:20 UTC.
pub const START: Time = Time(1_700_000_000_000);

/// Distance from the start, ms, within which a number is shown as a relative time.
const NEAR_MS: i128 = 10 * 366 * 24 * 3_600_000;

/// One word of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ScriptWord {
    pub(crate) bytes: Vec<u8>,
    pub(crate) quoted: bool,
}

/// Splits a command line as redis-cli does, with double quotes only.
pub(crate) fn words(line: &str) -> Result<Vec<ScriptWord>, String> {
    let mut words = Vec::new();
    let mut rest = line.trim_start();
    while !rest.is_empty() {
        if let Some(quoted) = rest.strip_prefix('"') {
            let (bytes, tail) = unquote(quoted)?;
            if !tail.is_empty() && !tail.starts_with(char::is_whitespace) {
                return Err("a closing quote must end the word".to_owned());
            }
            words.push(ScriptWord { bytes, quoted: true });
            rest = tail.trim_start();
        } else {
            let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
            let (word, tail) = rest.split_at(end);
            if word.contains('"') {
                return Err(format!("a quote within the word {word}"));
            }
            words.push(ScriptWord { bytes: word.as_bytes().to_vec(), quoted: false });
            rest = tail.trim_start();
        }
    }
    Ok(words)
}

/// Reads up to the closing quote. Returns the quoted bytes and the text after the quote.
pub(crate) fn unquote(text: &str) -> Result<(Vec<u8>, &str), String> {
    let mut bytes = Vec::new();
    let mut rest = text;
    loop {
        let Some(first) = rest.chars().next() else {
            return Err("a quote does not end".to_owned());
        };
        rest = &rest[first.len_utf8()..];
        match first {
            '"' => return Ok((bytes, rest)),
            '\\' => {
                let escape = rest.chars().next().ok_or("a quote does not end")?;
                let hex = rest.strip_prefix('x').and_then(|rest| rest.get(..2));
                if let Some(byte) = hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
                    bytes.push(byte);
                    rest = &rest[3..];
                } else if matches!(escape, '"' | '\\') {
                    bytes.push(if escape == '"' { b'"' } else { b'\\' });
                    rest = &rest[1..];
                } else {
                    return Err(format!("\\{escape} is no escape: use \\xNN, \\\" or \\\\"));
                }
            }
            other => bytes.extend_from_slice(other.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
}

/// Quotes bytes. The inverse of [`unquote`].
pub(crate) fn quote(bytes: &[u8]) -> String {
    let mut text = String::from("\"");
    for &byte in bytes {
        match byte {
            b'"' => text.push_str("\\\""),
            b'\\' => text.push_str("\\\\"),
            0x20..=0x7e => text.push(char::from(byte)),
            _ => text.push_str(&format!("\\x{byte:02x}")),
        }
    }
    text.push('"');
    text
}

/// Parses `t+5000` or `t-5000`, a time relative to the start in ms.
pub(crate) fn relative(word: &str) -> Option<i64> {
    let offset = word.strip_prefix("t+").map(str::to_owned);
    let offset = offset.or_else(|| word.strip_prefix("t-").map(|digits| format!("-{digits}")))?;
    offset.parse::<i64>().ok().and_then(|offset| START.0.checked_add(offset))
}

/// Parses `$name`, the name of a stored reply.
pub(crate) fn kept_name(word: &str) -> Option<&str> {
    let name = word.strip_prefix('$')?;
    let is_name = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_lowercase());
    is_name.then_some(name)
}

/// Formats an integer, as a relative time if it is near the start.
pub(crate) fn integer(value: i128) -> String {
    let offset = value - i128::from(START.0);
    if (-NEAR_MS..=NEAR_MS).contains(&offset) { format!("t{offset:+}") } else { value.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_quotes() {
        let bytes = |line| {
            words(line).map(|words| words.into_iter().map(|word| word.bytes).collect::<Vec<_>>())
        };
        assert_eq!(bytes(r#" a  "b c" "" "#), Ok(vec![b"a".to_vec(), b"b c".to_vec(), vec![]]));
        assert_eq!(bytes(r#""\x00\xfF\"\\""#), Ok(vec![b"\0\xff\"\\".to_vec()]));
        for bad in [r#""open"#, r#""a"b"#, r#"a"b"#, r#""\q""#, r#""\"#, r#""\xg0""#] {
            assert!(words(bad).is_err(), "{bad}");
        }
        assert_eq!(quote(b"a b\0\"\\\xff"), r#""a b\x00\"\\\xff""#);
    }

    #[test]
    fn times() {
        assert_eq!(relative("t+5000"), Some(START.0 + 5_000));
        assert_eq!(relative("t-1"), Some(START.0 - 1));
        assert_eq!(relative("t"), None);
        assert_eq!(relative("5000"), None);
        assert_eq!(integer(i128::from(START.0)), "t+0");
        assert_eq!(integer(i128::from(START.0) - 5), "t-5");
        assert_eq!(integer(42), "42");
    }
}
