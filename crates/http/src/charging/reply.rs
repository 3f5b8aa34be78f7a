//! Replies of the store, read: the shapes that docs/commands.md gives, in RESP2 or RESP3.

use super::quantity::Quantity;
use super::text::Key;
use redis::Value;
use scurry_ledger::{Cause, Code, ItemKey, Name};

/// The elements of a reply, one after another. None where a reply has another shape than its
/// command's.
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

    pub(crate) fn quantity(&mut self) -> Option<Quantity> {
        quantity(self.value()?)
    }

    pub(crate) fn bytes(&mut self) -> Option<&'a [u8]> {
        bytes(self.value()?)
    }

    pub(crate) fn text(&mut self) -> Option<String> {
        text(self.value()?)
    }

    pub(crate) fn flag(&mut self) -> Option<bool> {
        Some(self.integer()? != 0)
    }

    pub(crate) fn code(&mut self) -> Option<Code> {
        let name = self.bytes()?;
        Code::ALL.iter().copied().find(|code| code.name().as_bytes() == name)
    }

    /// The key of an item.
    pub(crate) fn key(&mut self) -> Option<Key> {
        key(self.value()?)
    }

    pub(crate) fn key_or_nil(&mut self) -> Option<Option<Key>> {
        match self.value()? {
            Value::Nil => Some(None),
            value => Some(Some(key(value)?)),
        }
    }

    /// The cause of a denial, with which a reply ends; an older server tells none.
    pub(crate) fn cause(&mut self) -> Option<Cause> {
        let Some(value) = self.value() else { return Some(Cause::None) };
        let told = bytes(value)?;
        if let Some(limit) = told.strip_prefix(b"limit ") {
            return Some(Cause::Limit(Name::new(limit)?));
        }
        let plain = [Cause::Balance, Cause::NoBucket, Cause::Chain, Cause::Status];
        plain.into_iter().find(|cause| cause.word().is_some_and(|word| word.as_bytes() == told))
    }

    /// An integer, or nothing where the reply has nil.
    pub(crate) fn text_or_nil(&mut self) -> Option<Option<String>> {
        match self.value()? {
            Value::Nil => Some(None),
            value => Some(Some(text(value)?)),
        }
    }

    pub(crate) fn integer_or_nil(&mut self) -> Option<Option<i64>> {
        match self.value()? {
            Value::Nil => Some(None),
            value => Some(Some(integer(value)?)),
        }
    }
}

fn key(value: &Value) -> Option<Key> {
    let key = match value {
        Value::Int(number) => ItemKey::Number(u32::try_from(*number).ok()?),
        value => ItemKey::new(bytes(value)?)?,
    };
    Some(Key(key))
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

pub(crate) fn quantity(value: &Value) -> Option<Quantity> {
    match value {
        Value::Int(number) => Some(Quantity::Number(*number)),
        // A total that has left 64 bits.
        value => Some(Quantity::Digits(text(value)?)),
    }
}

/// The value under a name in a map, which RESP2 has as names and values in turn.
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

/// Every element of a list.
pub(crate) fn each<T>(
    value: &Value,
    read: impl Fn(&mut Reader<'_>) -> Option<T>,
) -> Option<Vec<T>> {
    list(value)?.iter().map(|element| read(&mut Reader::of(element)?)).collect()
}

/// The reply to RESERVE, UPDATE, TERMINATE and RELEASE.
#[derive(Debug)]
pub(crate) struct SessionReply {
    pub(crate) code: Code,
    pub(crate) replayed: bool,
    pub(crate) version: i64,
    pub(crate) items: Vec<ItemReply>,
    /// Cause of the denial of a request without items.
    pub(crate) cause: Cause,
}

/// Outcome of one item.
#[derive(Debug)]
pub(crate) struct ItemReply {
    pub(crate) key: Key,
    pub(crate) code: Code,
    pub(crate) granted: i64,
    /// Less was granted than was asked for.
    pub(crate) last: bool,
    pub(crate) uncollected: i64,
    /// Cause of a denial.
    pub(crate) cause: Cause,
}

impl SessionReply {
    pub(crate) fn read(value: &Value) -> Option<SessionReply> {
        let mut reader = Reader::of(value)?;
        Some(SessionReply {
            code: reader.code()?,
            replayed: reader.flag()?,
            version: reader.integer()?,
            items: each(reader.value()?, |item| {
                Some(ItemReply {
                    key: item.key()?,
                    code: item.code()?,
                    granted: item.integer()?,
                    last: item.flag()?,
                    uncollected: item.integer()?,
                    cause: item.cause()?,
                })
            })?,
            cause: reader.cause()?,
        })
    }
}
