//! Events: committed changes, as followers and statements show them. docs/events.md has their names and fields.

use crate::Position;
use scurry_ledger::Time;
use std::borrow::Cow;
use std::fmt;

/// One event. It borrows in the server that shows it, and owns its bytes in a program that received it. Later versions
/// may add events and fields: a program skips those that it does not know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event<'a> {
    /// The same each time when the event is read.
    pub id: EventId,
    /// The commit that the event is of. None for `missed`, which is of no commit.
    pub commit: Option<EventCommit<'a>>,
    /// Name of the event, for example `debited`.
    pub name: Cow<'a, str>,
    /// Its other fields, in the order in which they are shown.
    pub fields: Vec<(Cow<'a, str>, EventField<'a>)>,
}

/// When and where an event happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventCommit<'a> {
    /// Time of the commit.
    pub time: Time,
    /// Account id. Empty for an event of the whole store.
    pub account: Cow<'a, [u8]>,
}

/// The value of an event's field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EventField<'a> {
    /// A name, an id or a word.
    Bytes(Cow<'a, [u8]>),
    /// An amount in minor units, a time in ms, or another number.
    Number(i64),
    /// No value, for example no end of a validity.
    Nothing,
}

/// The id of an event, by which a reader recognizes an event that it reads twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventId {
    /// An event of the log: its position.
    At(Position),
    /// A crossing of a threshold, after the event at this position that causes it.
    Crossing {
        /// Position of the event that causes it.
        at: Position,
        /// Number of the threshold in the request, from 1.
        threshold: u32,
    },
    /// The events from one position to another are no longer kept.
    Missed {
        /// The position that was asked for.
        from: Position,
        /// The position at which reading continues.
        to: Position,
    },
}

impl Event<'_> {
    /// Returns the event with bytes of its own.
    pub fn into_owned(self) -> Event<'static> {
        let text = |text: Cow<'_, str>| Cow::Owned(text.into_owned());
        let value = |value: EventField<'_>| match value {
            EventField::Bytes(bytes) => EventField::Bytes(Cow::Owned(bytes.into_owned())),
            EventField::Number(number) => EventField::Number(number),
            EventField::Nothing => EventField::Nothing,
        };
        let commit = self.commit.map(|EventCommit { time, account }| EventCommit {
            time,
            account: Cow::Owned(account.into_owned()),
        });
        let fields = self.fields.into_iter().map(|(name, field)| (text(name), value(field)));
        Event { id: self.id, commit, name: text(self.name), fields: fields.collect() }
    }

    /// Returns the value of a field. None if the event does not have it.
    pub fn field(&self, name: &str) -> Option<&EventField<'_>> {
        self.fields.iter().find(|(own, _)| own == name).map(|(_, value)| value)
    }

    /// Returns a number among the fields. None if the event does not have it.
    pub fn number(&self, name: &str) -> Option<i64> {
        match self.field(name)? {
            EventField::Number(number) => Some(*number),
            EventField::Bytes(_) | EventField::Nothing => None,
        }
    }
}

impl EventId {
    /// Parses the text that `Display` writes, and no other.
    pub fn parse(bytes: &[u8]) -> Option<EventId> {
        if let Some(at) = bytes.windows(2).position(|pair| pair == b"..") {
            let (from, to) = (Position::parse(&bytes[..at])?, Position::parse(&bytes[at + 2..])?);
            return Some(EventId::Missed { from, to });
        }
        if let Some(at) = Position::parse(bytes) {
            return Some(EventId::At(at));
        }
        let dot = bytes.iter().rposition(|&byte| byte == b'.')?;
        let threshold = std::str::from_utf8(&bytes[dot + 1..]).ok()?.parse().ok()?;
        let id = EventId::Crossing { at: Position::parse(&bytes[..dot])?, threshold };
        (id.to_string().as_bytes() == bytes).then_some(id)
    }
}

impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EventId::At(at) => at.fmt(f),
            EventId::Crossing { at, threshold } => write!(f, "{at}.{threshold}"),
            EventId::Missed { from, to } => write!(f, "{from}..{to}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_has_one_spelling() {
        for text in ["1.0:3", "2.1:7-4", "1.0:3.2", "2.1:7-4.16", "1.0:3..2.0:1", "1.0:3-1..1.0:9"]
        {
            let id = EventId::parse(text.as_bytes()).expect(text);
            assert_eq!(id.to_string(), text);
        }
        for other in ["", "0", "1.0", "1.0:3.", "1.0:3.+1", "1.0:3.01", "1.0:3..", "..1.0:3", "x.1"]
        {
            assert_eq!(EventId::parse(other.as_bytes()), None, "{other}");
        }
    }
}
