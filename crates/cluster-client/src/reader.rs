//! Reads values of RESP2 or RESP3. Each function returns None if the value has another type or shape.

use redis::Value;
use scurry_ledger::{
    Cause, Code, Cycle, Id, ItemKey, Name, NamedZone, Period, Status, Time, Window, Zone,
};

/// The elements of an array, read one after another.
pub(crate) struct Reader<'a>(std::slice::Iter<'a, Value>);

impl<'a> Reader<'a> {
    pub(crate) fn from_value(value: &'a Value) -> Option<Reader<'a>> {
        Some(Reader(list(value)?.iter()))
    }

    pub(crate) fn value(&mut self) -> Option<&'a Value> {
        self.0.next()
    }

    pub(crate) fn integer(&mut self) -> Option<i64> {
        integer(self.value()?)
    }

    pub(crate) fn unsigned(&mut self) -> Option<u64> {
        unsigned(self.value()?)
    }

    pub(crate) fn wide(&mut self) -> Option<i128> {
        wide(self.value()?)
    }

    pub(crate) fn bytes(&mut self) -> Option<Vec<u8>> {
        bytes(self.value()?).map(<[u8]>::to_vec)
    }

    pub(crate) fn flag(&mut self) -> Option<bool> {
        Some(self.integer()? != 0)
    }

    pub(crate) fn code(&mut self) -> Option<Code> {
        code(self.value()?)
    }

    pub(crate) fn name(&mut self) -> Option<Name> {
        Name::new(bytes(self.value()?)?)
    }

    pub(crate) fn id(&mut self) -> Option<Id> {
        Id::new(bytes(self.value()?)?)
    }

    pub(crate) fn key(&mut self) -> Option<ItemKey> {
        key(self.value()?)
    }

    pub(crate) fn time(&mut self) -> Option<Time> {
        Some(Time(self.integer()?))
    }

    pub(crate) fn time_or_nil(&mut self) -> Option<Option<Time>> {
        or_nil(self.value()?, |value| integer(value).map(Time))
    }

    pub(crate) fn period(&mut self) -> Option<Period> {
        Period::new(bytes(self.value()?)?)
    }

    /// Reads a period and its zone: minutes ahead of UTC, or a name.
    pub(crate) fn cycle(&mut self) -> Option<Cycle> {
        let period = self.period()?;
        let zone = zone(self.value()?)?;
        Some(Cycle { zone, ..Cycle::fixed(period, 0) })
    }

    /// Reads the window of a limit, and the zone of its periods.
    pub(crate) fn window(&mut self) -> Option<Window> {
        let window = Window::new(bytes(self.value()?)?)?;
        let zone = zone(self.value()?)?;
        Some(match window {
            Window::Period(cycle) => Window::Period(Cycle { zone, ..cycle }),
            window => window,
        })
    }

    /// Reads the begin of a limit's periods, or nil and the burst of its rate, which end its entry where it has one.
    pub(crate) fn rest_of_window(&mut self, window: Window) -> Option<Window> {
        match window {
            Window::Period(cycle) => self.begin(cycle).map(Window::Period),
            Window::Rolling(_) => Some(window),
            Window::Rate { span, .. } => match self.value() {
                None => Some(window),
                Some(_) => Some(Window::Rate { span, burst: Some(self.integer()?) }),
            },
        }
    }

    /// Reads the zone of a counter, which ends its entry where it is not UTC.
    pub(crate) fn counter_zone(&mut self, cycle: Cycle) -> Option<Cycle> {
        match self.value() {
            None => Some(cycle),
            Some(value) => Some(Cycle { zone: zone(value)?, ..cycle }),
        }
    }

    /// Reads the begin of a cycle, which ends its entry where it is not the usual one.
    pub(crate) fn begin(&mut self, cycle: Cycle) -> Option<Cycle> {
        match self.value() {
            None => Some(cycle),
            Some(value) => {
                let begin = match integer(value) {
                    Some(begin) => u8::try_from(begin).ok()?,
                    None if bytes(value)? == Cycle::FIRST_USE_WORD.as_bytes() => Cycle::FIRST_USE,
                    None => return None,
                };
                Some(Cycle { begin, ..cycle })
            }
        }
    }

    /// Reads the cause of a denial, with which a reply ends where it has one to tell.
    pub(crate) fn cause(&mut self, code: Code) -> Option<Cause> {
        let Some(value) = self.value() else { return Some(Cause::of(code)) };
        let told = cause(value)?;
        match (told, self.value()) {
            (told, None) => Some(told),
            (Cause::Limit { id, .. }, Some(time)) => {
                Some(Cause::Limit { id, allowed_at: Some(Time(integer(time)?)) })
            }
            (_, Some(_)) => None,
        }
    }
}

pub(crate) fn code(value: &Value) -> Option<Code> {
    let name = bytes(value)?;
    Code::ALL.iter().copied().find(|code| code.name().as_bytes() == name)
}

pub(crate) fn cause(value: &Value) -> Option<Cause> {
    let told = bytes(value)?;
    if let Some(limit) = told.strip_prefix(b"limit ") {
        return Some(Cause::Limit { id: Name::new(limit)?, allowed_at: None });
    }
    if let Some(bucket) = told.strip_prefix(b"bucket ") {
        return Some(Cause::Bucket(Name::new(bucket)?));
    }
    let plain = [Cause::Balance, Cause::NoBucket, Cause::Chain, Cause::Status];
    plain.into_iter().find(|cause| cause.word().is_some_and(|word| word.as_bytes() == told))
}

fn zone(value: &Value) -> Option<Zone> {
    match value {
        Value::Int(minutes) => Some(Zone::Fixed(i16::try_from(*minutes).ok()?)),
        name => NamedZone::new(bytes(name)?).map(Zone::Named),
    }
}

pub(crate) fn each<T>(
    value: &Value,
    read: impl Fn(&mut Reader<'_>) -> Option<T>,
) -> Option<Vec<T>> {
    list(value)?.iter().map(|element| read(&mut Reader::from_value(element)?)).collect()
}

pub(crate) fn key(value: &Value) -> Option<ItemKey> {
    match value {
        Value::Int(number) => Some(ItemKey::Number(u32::try_from(*number).ok()?)),
        value => ItemKey::new(bytes(value)?),
    }
}

pub(crate) fn status(value: &Value) -> Option<Status> {
    let name = bytes(value)?;
    [Status::Active, Status::Suspended, Status::Closed]
        .into_iter()
        .find(|status| status.name().as_bytes() == name)
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

/// Returns the bytes without a copy.
pub(crate) fn into_bytes(value: Value) -> Option<Vec<u8>> {
    match value {
        Value::BulkString(bytes) => Some(bytes),
        other => bytes(&other).map(<[u8]>::to_vec),
    }
}

/// Returns the text without a copy.
pub(crate) fn into_text(value: Value) -> Option<String> {
    String::from_utf8(into_bytes(value)?).ok()
}

pub(crate) fn integer(value: &Value) -> Option<i64> {
    match value {
        Value::Int(number) => Some(*number),
        _ => None,
    }
}

pub(crate) fn unsigned(value: &Value) -> Option<u64> {
    u64::try_from(integer(value)?).ok()
}

/// Returns the value under a name in a map, which RESP2 has as names and values in turn.
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

/// Returns the value under a name as [`field`] does, to be taken.
pub(crate) fn field_mut<'a>(map: &'a mut Value, name: &str) -> Option<&'a mut Value> {
    let named = |key: &Value| bytes(key) == Some(name.as_bytes());
    match map {
        Value::Map(entries) => {
            entries.iter_mut().find(|(key, _)| named(key)).map(|(_, value)| value)
        }
        Value::Array(flat) => {
            flat.chunks_exact_mut(2).find(|pair| named(&pair[0])).map(|pair| &mut pair[1])
        }
        _ => None,
    }
}

/// Returns the pairs of a map, which RESP2 has as names and values in turn.
pub(crate) fn pairs(map: &Value) -> Option<Vec<(&Value, &Value)>> {
    match map {
        Value::Map(entries) => Some(entries.iter().map(|(name, value)| (name, value)).collect()),
        Value::Array(flat) => Some(flat.chunks_exact(2).map(|pair| (&pair[0], &pair[1])).collect()),
        _ => None,
    }
}

pub(crate) fn text(value: &Value) -> Option<&str> {
    std::str::from_utf8(bytes(value)?).ok()
}

/// Reads a number that may be too wide for the protocol's integer; then it is sent as text.
pub(crate) fn wide(value: &Value) -> Option<i128> {
    match value {
        Value::Int(number) => Some(i128::from(*number)),
        other => text(other)?.parse().ok(),
    }
}

/// Reads a value that may be nil: `Some(None)` for nil.
pub(crate) fn or_nil<'a, T>(
    value: &'a Value,
    read: impl Fn(&'a Value) -> Option<T>,
) -> Option<Option<T>> {
    match value {
        Value::Nil => Some(None),
        value => read(value).map(Some),
    }
}
