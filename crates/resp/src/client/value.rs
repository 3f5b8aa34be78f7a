//! A reply as a tree, for probes and audits, where clarity counts more than speed.

use std::fmt;

use super::reply::{Cursor, Stop};

const DEPTH_MAX: u32 = 32;
const ELEMENTS_MAX: i64 = 1 << 24;

/// One reply. Maps are flat arrays of keys and values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// A simple string.
    Simple(String),
    /// An error.
    Error(String),
    /// An integer.
    Integer(i64),
    /// A bulk string.
    Bulk(Vec<u8>),
    /// Nil.
    Nil,
    /// An array, a set, or a flattened map.
    Array(Vec<Value>),
}

impl Value {
    /// Reads the reply at the start of `bytes`, and returns it with its length.
    ///
    /// # Errors
    /// [`Stop`].
    pub fn read(bytes: &[u8]) -> Result<(usize, Value), Stop> {
        let mut cursor = Cursor::new(bytes);
        let value = read(&mut cursor, 0)?;
        Ok((cursor.at, value))
    }

    /// Returns the text of a simple or bulk string, or of an error.
    pub fn text(&self) -> Option<&str> {
        match self {
            Value::Simple(text) | Value::Error(text) => Some(text),
            Value::Bulk(bytes) => std::str::from_utf8(bytes).ok(),
            _ => None,
        }
    }

    /// Returns the number of an integer.
    pub fn integer(&self) -> Option<i64> {
        match self {
            Value::Integer(number) => Some(*number),
            _ => None,
        }
    }

    /// Returns a number of any size: beyond 64 bits a reply has it as its digits.
    pub fn big(&self) -> Option<i128> {
        match self {
            Value::Integer(number) => Some(i128::from(*number)),
            Value::Bulk(_) => self.text()?.parse().ok(),
            _ => None,
        }
    }

    /// Returns the elements of an array; an empty slice for any other kind.
    pub fn elements(&self) -> &[Value] {
        match self {
            Value::Array(elements) => elements,
            _ => &[],
        }
    }

    /// Returns the value of a key in a flat map; nil if the key is missing.
    pub fn entry(&self, key: &str) -> &Value {
        self.elements()
            .chunks_exact(2)
            .find(|pair| pair[0].text() == Some(key))
            .map_or(&Value::Nil, |pair| &pair[1])
    }
}

fn read(cursor: &mut Cursor<'_>, depth: u32) -> Result<Value, Stop> {
    // Bounds the recursion, since replies come from outside.
    if depth > DEPTH_MAX {
        return Err(Stop::Malformed);
    }
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ok(match cursor.kind()? {
        b'+' | b',' | b'(' | b'#' => Value::Simple(text(cursor.line()?)),
        b'-' => Value::Error(text(cursor.line()?)),
        b':' => Value::Integer(cursor.number()?),
        b'_' => {
            cursor.line()?;
            Value::Nil
        }
        b'$' | b'=' => cursor.bulk()?.map_or(Value::Nil, |bytes| Value::Bulk(bytes.to_vec())),
        kind @ (b'*' | b'~' | b'>' | b'%') => {
            let count = cursor.number()?;
            if count < 0 {
                return Ok(Value::Nil);
            }
            let count = if kind == b'%' { 2 * count } else { count };
            if count > ELEMENTS_MAX {
                return Err(Stop::Malformed);
            }
            let mut elements = Vec::new();
            for _ in 0..count {
                elements.push(read(cursor, depth + 1)?);
            }
            Value::Array(elements)
        }
        _ => return Err(Stop::Malformed),
    })
}

impl fmt::Display for Value {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Simple(text) => write!(out, "{text}"),
            Value::Error(text) => write!(out, "error {text}"),
            Value::Integer(number) => write!(out, "{number}"),
            Value::Bulk(bytes) => write!(out, "{}", bytes.escape_ascii()),
            Value::Nil => write!(out, "nil"),
            Value::Array(elements) => {
                write!(out, "[")?;
                for (index, element) in elements.iter().enumerate() {
                    write!(out, "{}{element}", if index == 0 { "" } else { ", " })?;
                }
                write!(out, "]")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_map_is_flat_and_can_be_asked() {
        let (length, value) =
            Value::read(b"%2\r\n$1\r\na\r\n:1\r\n$1\r\nb\r\n*1\r\n$-1\r\n").unwrap();
        assert_eq!(length, 31);
        assert_eq!(value.entry("a"), &Value::Integer(1));
        assert_eq!(value.entry("b").elements(), [Value::Nil]);
        assert_eq!(value.entry("c"), &Value::Nil);
        assert_eq!(value.to_string(), "[a, 1, b, [nil]]");
    }
}
