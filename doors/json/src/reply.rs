//! Readers for replies about the store as a whole: shapes of docs/commands.md, in RESP2 or RESP3.

use redis::Value;

/// Reads the elements of a reply one after another. All functions return None if the reply does not have the command's
/// shape.
pub(crate) struct Reader<'a>(std::slice::Iter<'a, Value>);

impl<'a> Reader<'a> {
    pub(crate) fn of(value: &'a Value) -> Option<Reader<'a>> {
        Some(Reader(list(value)?.iter()))
    }

    pub(crate) fn value(&mut self) -> Option<&'a Value> {
        self.0.next()
    }

    pub(crate) fn integer(&mut self) -> Option<i64> {
        integer(self.value()?)
    }

    pub(crate) fn text(&mut self) -> Option<String> {
        text(self.value()?)
    }

    pub(crate) fn flag(&mut self) -> Option<bool> {
        Some(self.integer()? != 0)
    }
}

pub(crate) fn list(value: &Value) -> Option<&[Value]> {
    match value {
        Value::Array(list) => Some(list),
        _ => None,
    }
}

pub(crate) fn bytes(value: &Value) -> Option<&[u8]> {
    match value {
        Value::BulkString(bytes) => Some(bytes),
        Value::SimpleString(text) => Some(text.as_bytes()),
        // `+OK` has a variant of its own in the redis crate.
        Value::Okay => Some(b"OK"),
        _ => None,
    }
}

pub(crate) fn text(value: &Value) -> Option<String> {
    Some(String::from_utf8_lossy(bytes(value)?).into_owned())
}

pub(crate) fn integer(value: &Value) -> Option<i64> {
    match value {
        Value::Int(number) => Some(*number),
        _ => None,
    }
}

/// Returns the value of a map's field. RESP2 has maps as arrays of alternating names and values.
pub(crate) fn field<'a>(map: &'a Value, name: &str) -> Option<&'a Value> {
    let named = |key: &Value| bytes(key) == Some(name.as_bytes());
    match map {
        Value::Map(entries) => entries.iter().find(|(key, _)| named(key)).map(|(_, value)| value),
        Value::Array(flat) => {
            flat.chunks_exact(2).find(|pair| named(&pair[0])).map(|pair| &pair[1])
        }
        _ => None,
    }
}

/// Reads every element of a list, each of which is a list itself.
pub(crate) fn each<T>(
    value: &Value,
    read: impl Fn(&mut Reader<'_>) -> Option<T>,
) -> Option<Vec<T>> {
    list(value)?.iter().map(|element| read(&mut Reader::of(element)?)).collect()
}
