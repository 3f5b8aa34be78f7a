//! What a server tells of a stream (`XINFO STREAM`).

use crate::EntryId;
use crate::event_text::EventText;
use redis::Value;
use scurry_ship::StoreId;

/// What a server tells of a stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct StreamState {
    /// The highest id that an entry of the stream ever had.
    pub(crate) top: EntryId,
    /// The highest id that was deleted by its name (`XDEL`).
    pub(crate) deleted: EntryId,
    /// Whether entries that were added are no longer there.
    pub(crate) has_removed: bool,
    /// The oldest entry that is there.
    pub(crate) first: Option<EntryId>,
    /// The newest entry that is there.
    pub(crate) last: Option<Entry>,
}

/// An entry of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) id: EntryId,
    /// What its fields say. None if it was not written by a shipper.
    pub(crate) said: Option<(StoreId, EventText)>,
}

impl StreamState {
    /// Reads the reply. None if it has another shape.
    pub(crate) fn parse(reply: &Value) -> Option<StreamState> {
        let Value::Array(words) = reply else { return None };
        let field = |name: &str| {
            let mut pairs = words.chunks_exact(2);
            pairs.find(|pair| bytes(&pair[0]) == Some(name.as_bytes())).map(|pair| &pair[1])
        };
        let id = |name| field(name).and_then(bytes).and_then(EntryId::parse);
        let count = |name| match field(name) {
            Some(Value::Int(count)) => Some(*count),
            _ => None,
        };
        let entry = |name| match field(name)? {
            Value::Nil => Some(None),
            entry => Entry::parse(entry).map(Some),
        };
        Some(StreamState {
            top: id("last-generated-id")?,
            // Servers before Redis 7 do not count what was removed.
            deleted: id("max-deleted-entry-id").unwrap_or_default(),
            has_removed: count("entries-added").is_some_and(|added| Some(added) > count("length")),
            first: entry("first-entry")?.map(|entry| entry.id),
            last: entry("last-entry")?,
        })
    }

    /// Reports whether an entry that is not there can have been there, and was removed.
    pub(crate) fn may_have_removed(&self, id: EntryId) -> bool {
        id <= self.deleted || (self.has_removed && self.first.is_none_or(|first| first > id))
    }
}

impl Entry {
    /// Reads an entry. None if it has another shape.
    pub(crate) fn parse(value: &Value) -> Option<Entry> {
        let Value::Array(parts) = value else { return None };
        let [id, Value::Array(fields)] = parts.as_slice() else { return None };
        let field = |name: &str| {
            let mut pairs = fields.chunks_exact(2);
            let pair = pairs.find(|pair| bytes(&pair[0]) == Some(name.as_bytes()))?;
            std::str::from_utf8(bytes(&pair[1])?).ok()
        };
        let id = EntryId::parse(bytes(id)?)?;
        let store = field("store").and_then(|store| store.parse().ok());
        let event = field("id").and_then(EventText::parse);
        let said = store.zip(event).filter(|(_, event)| event.entry_id() == Some(id));
        Some(Entry { id, said })
    }
}

pub(crate) fn bytes(value: &Value) -> Option<&[u8]> {
    match value {
        Value::BulkString(bytes) => Some(bytes),
        Value::SimpleString(text) => Some(text.as_bytes()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Value {
        Value::BulkString(text.as_bytes().to_vec())
    }

    fn entry(id: &str, fields: &[&str]) -> Value {
        Value::Array(vec![text(id), Value::Array(fields.iter().copied().map(text).collect())])
    }

    fn reply(last: Value) -> Value {
        Value::Array(vec![
            text("length"),
            Value::Int(1),
            text("last-generated-id"),
            text("4294967296-4294967297"),
            text("max-deleted-entry-id"),
            text("0-0"),
            text("entries-added"),
            Value::Int(2),
            text("groups"),
            Value::Int(0),
            text("first-entry"),
            last.clone(),
            text("last-entry"),
            last,
        ])
    }

    #[test]
    fn an_entry_of_a_shipper_is_told_from_others() {
        let id = "4294967296-4294967297";
        let said = |fields: &[&str]| {
            StreamState::parse(&reply(entry(id, fields)))
                .expect("a state")
                .last
                .expect("an entry")
                .said
        };
        assert!(said(&["id", "1.0:1", "store", "00c0ffee00c0ffee"]).is_some());
        for fields in [
            &["id", "1.0:1"][..],
            &["id", "1.0:2", "store", "00c0ffee00c0ffee"],
            &["id", "1.0:1", "store", "c0ffee"],
            &["id"],
            &["payload", "{}"],
        ] {
            assert_eq!(said(fields), None, "{fields:?}");
        }
    }

    #[test]
    fn what_was_removed_is_told_from_what_was_never_there() {
        let id = |sequence| EntryId::parse(format!("1-{sequence}").as_bytes()).expect("an id");
        let whole = StreamState { top: id(9), first: Some(id(5)), ..StreamState::default() };
        assert!(!whole.may_have_removed(id(4)));
        let trimmed = StreamState { has_removed: true, ..whole.clone() };
        assert!(trimmed.may_have_removed(id(4)) && !trimmed.may_have_removed(id(6)));
        let deleted = StreamState { deleted: id(6), ..whole };
        assert!(deleted.may_have_removed(id(6)) && !deleted.may_have_removed(id(7)));
    }

    #[test]
    fn other_replies_are_no_state() {
        let nil = reply(Value::Nil);
        assert!(StreamState::parse(&nil).is_some_and(|state| state.last.is_none()));
        for other in [
            Value::Nil,
            Value::Int(1),
            Value::Array(vec![]),
            reply(Value::Int(1)),
            reply(text("x")),
        ] {
            assert_eq!(StreamState::parse(&other), None, "{other:?}");
        }
    }
}
