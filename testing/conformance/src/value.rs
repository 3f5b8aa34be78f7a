//! A reply of RESP2 or RESP3 as a value, parsed from its bytes and formatted as compact text.

use crate::text::{integer, quote};
use anyhow::{Context, Result, bail};
use std::fmt;

/// A reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// Integer or big number.
    Int(i128),
    /// Simple, bulk or verbatim string.
    Word(Vec<u8>),
    /// Null.
    Nil,
    /// Array or set.
    Array(Vec<Value>),
    /// Map. RESP2 has none.
    Map(Vec<(Value, Value)>),
    /// Error, with its whole text.
    Error(String),
}

impl Value {
    /// Parses one reply from the start of the input. Returns it with its length, or None while it is incomplete.
    pub fn read(input: &[u8]) -> Result<Option<(Value, usize)>> {
        let mut reader = ValueReader { input, at: 0 };
        Ok(reader.value()?.map(|value| (value, reader.at)))
    }

    /// Parses input that is exactly one reply.
    pub fn read_whole(input: &[u8]) -> Result<Value> {
        match Value::read(input)? {
            Some((value, len)) if len == input.len() => Ok(value),
            _ => bail!("not exactly one reply: {:?}", input.escape_ascii().to_string()),
        }
    }
}

struct ValueReader<'a> {
    input: &'a [u8],
    at: usize,
}

impl ValueReader<'_> {
    fn line(&mut self) -> Option<String> {
        let rest = &self.input[self.at..];
        let end = rest.windows(2).position(|pair| pair == b"\r\n")?;
        self.at += end + 2;
        Some(String::from_utf8_lossy(&rest[..end]).into_owned())
    }

    fn value(&mut self) -> Result<Option<Value>> {
        let Some(line) = self.line() else { return Ok(None) };
        let Some(kind) = line.chars().next().filter(char::is_ascii) else {
            bail!("a reply begins with {line:?}");
        };
        let text = &line[1..];
        let number = || text.parse::<i128>().with_context(|| format!("not a number: {line:?}"));
        let count = || usize::try_from(number()?).with_context(|| format!("bad count: {line:?}"));
        Ok(Some(match kind {
            '+' => Value::Word(text.as_bytes().to_vec()),
            '-' => Value::Error(text.to_owned()),
            ':' | '(' => Value::Int(number()?),
            '_' => Value::Nil,
            '#' => Value::Int(i128::from(text == "t")),
            '$' | '*' if number()? == -1 => Value::Nil,
            '$' | '=' => {
                let len = count()?;
                let Some(bytes) = self.input.get(self.at..self.at + len + 2) else {
                    return Ok(None);
                };
                self.at += len + 2;
                let start = if kind == '=' { 4 } else { 0 };
                Value::Word(bytes.get(start..len).context("a short verbatim string")?.to_vec())
            }
            '*' | '~' => {
                let Some(items) = self.values(count()?)? else { return Ok(None) };
                Value::Array(items)
            }
            '%' => {
                let Some(flat) = self.values(2 * count()?)? else { return Ok(None) };
                Value::Map(pairs(flat))
            }
            _ => bail!("a reply of unknown kind: {line:?}"),
        }))
    }

    fn values(&mut self, count: usize) -> Result<Option<Vec<Value>>> {
        let mut values = Vec::new();
        for _ in 0..count {
            match self.value()? {
                Some(value) => values.push(value),
                None => return Ok(None),
            }
        }
        Ok(Some(values))
    }
}

/// Pairs up the keys and values of a map sent as a flat array.
pub(crate) fn pairs(flat: Vec<Value>) -> Vec<(Value, Value)> {
    let mut pairs = Vec::new();
    let mut flat = flat.into_iter();
    while let (Some(key), Some(value)) = (flat.next(), flat.next()) {
        pairs.push((key, value));
    }
    pairs
}

/// Reports whether a word needs no quotes, because it cannot be read as anything else.
fn is_plain(bytes: &[u8]) -> bool {
    let letter = bytes.first().is_some_and(u8::is_ascii_alphabetic);
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    letter && bytes.iter().all(plain) && bytes != b"nil" && !bytes.starts_with(b"t-")
}

/// Formats a word as compact text.
pub(crate) fn show_word(bytes: &[u8]) -> String {
    if is_plain(bytes) { String::from_utf8_lossy(bytes).into_owned() } else { quote(bytes) }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Int(value) => f.write_str(&integer(*value)),
            Value::Word(bytes) => f.write_str(&show_word(bytes)),
            Value::Nil => f.write_str("nil"),
            Value::Array(items) => {
                f.write_str("[")?;
                for (index, item) in items.iter().enumerate() {
                    write!(f, "{}{item}", if index > 0 { ", " } else { "" })?;
                }
                f.write_str("]")
            }
            Value::Map(entries) => {
                f.write_str("{")?;
                for (index, (key, value)) in entries.iter().enumerate() {
                    write!(f, "{}{key}: {value}", if index > 0 { ", " } else { "" })?;
                }
                f.write_str("}")
            }
            Value::Error(text) => {
                let (code, rest) = text.split_once(' ').unwrap_or((text, ""));
                write!(f, "!{code}")?;
                if rest.is_empty() { Ok(()) } else { write!(f, " {}", quote(rest.as_bytes())) }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_protocols_are_read_and_shown() {
        for (bytes, text) in [
            (&b"*3\r\n+OK\r\n:-1\r\n$-1\r\n"[..], "[OK, -1, nil]"),
            (b"%1\r\n$1\r\na\r\n*0\r\n", "{a: []}"),
            (b"*2\r\n$2\r\n15\r\n:15\r\n", "[\"15\", 15]"),
            (b"-INVALID 10 why\r\n", "!INVALID \"10 why\""),
            (b"_\r\n", "nil"),
            (
                b"(170141183460469231731687303715884105727\r\n",
                "170141183460469231731687303715884105727",
            ),
            (b"=7\r\ntxt:a b\r\n", "\"a b\""),
            (b":1700000005000\r\n", "t+5000"),
        ] {
            let value = Value::read_whole(bytes).expect(text);
            assert_eq!(value.to_string(), text);
            for end in 0..bytes.len() {
                assert!(Value::read(&bytes[..end]).expect(text).is_none(), "{text} cut at {end}");
            }
        }
        assert!(Value::read(b"?\r\n").is_err());
        assert!(Value::read(b":x\r\n").is_err());
        assert!(Value::read_whole(b":1\r\n:2\r\n").is_err());
    }
}
