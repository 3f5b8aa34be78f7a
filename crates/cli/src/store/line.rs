//! Formats records of a log and entries of a snapshot, one per line.

use super::fact::{Fact, facts};
use super::text::time_text;
use scurry_codec::{Balance, Record, SnapshotEntry, StateDigest, decode_account, decode_change};
use scurry_ledger::{Account, Change, Status, Time};
use serde_json::{Value, json};

/// Bytes of a value shown in a text line.
const VALUE_SHOWN: usize = 64;

/// Parts of a line about a record or an entry.
struct ProgressLine {
    kind: &'static str,
    key: Option<String>,
    /// Text after the key, in the text form.
    text: String,
    /// Fields next to the key, in the JSON form.
    fields: Vec<(&'static str, Value)>,
}

impl ProgressLine {
    fn text(&self) -> String {
        let key = self.key.as_ref().map(|key| format!(" {key}")).unwrap_or_default();
        let gap = if self.text.is_empty() { "" } else { "  " };
        format!("{}{key}{gap}{}", self.kind, self.text)
    }

    fn json(self, place: Vec<(&'static str, Value)>) -> String {
        let mut object = serde_json::Map::new();
        let kind = ("kind", json!(self.kind));
        let key = self.key.map(|key| ("key", json!(key)));
        for (name, value) in place.into_iter().chain([kind]).chain(key).chain(self.fields) {
            object.insert(name.to_owned(), value);
        }
        Value::Object(object).to_string()
    }
}

/// Formats a record of the log as text or JSON. `at` is the time of its frame.
pub(crate) fn record_line(sequence: u64, at: Time, record: &Record<'_>, is_json: bool) -> String {
    let line = of_record(record);
    if is_json {
        return line.json(vec![("sequence", json!(sequence)), ("at_ms", json!(at.0))]);
    }
    format!("{sequence}  {}  {}", time_text(at), line.text())
}

/// Formats an entry of a snapshot as text or JSON.
pub(crate) fn entry_line(entry: &SnapshotEntry<'_>, is_json: bool) -> String {
    let line = of_entry(entry);
    if is_json { line.json(vec![]) } else { line.text() }
}

/// Formats an account as text or JSON.
pub(crate) fn account_line(id: &[u8], account: &Account, is_json: bool) -> String {
    let (text, fields) = (account_text(account), account_fields(account));
    let line = ProgressLine { kind: "account", key: Some(shown(id)), text, fields };
    if is_json { line.json(vec![]) } else { line.text() }
}

/// Returns the name of a record's kind, as tallies use it.
pub(crate) fn kind_of(record: &Record<'_>) -> &'static str {
    match record {
        Record::Account { .. } => "account",
        Record::Value { .. } => "value",
        Record::Append { .. } => "append",
        Record::Expiry { .. } => "expiry",
        Record::Remove { .. } => "remove",
        Record::Entity { .. } => "entity",
        Record::Tombstone { .. } => "tombstone",
        Record::Clear => "clear",
        Record::Image { .. } => "image",
        Record::Group { .. } => "group",
        Record::Digest { .. } => "digest",
    }
}

/// Returns the name of an entry's kind, as tallies use it.
pub(crate) fn kind_of_entry(entry: &SnapshotEntry<'_>) -> &'static str {
    match entry {
        SnapshotEntry::Value { .. } => "value",
        SnapshotEntry::Account { .. } => "account",
        SnapshotEntry::Entity { .. } => "entity",
        SnapshotEntry::Tombstone { .. } => "tombstone",
    }
}

fn of_record(record: &Record<'_>) -> ProgressLine {
    let kind = kind_of(record);
    let line =
        |key: &[u8], text, fields| ProgressLine { kind, key: Some(shown(key)), text, fields };
    match *record {
        Record::Account { id, change, balances, .. } => of_account(kind, id, change, balances),
        Record::Value { key, expires, value } => {
            let text = format!("{}{}", short(value), expiry_text(expires));
            line(key, text, vec![expiry(expires), ("value", json!(shown(value)))])
        }
        Record::Append { key, tail } => line(key, short(tail), vec![("tail", json!(shown(tail)))]),
        Record::Expiry { key, expires } => {
            let text = expires.map_or("never".to_owned(), time_text);
            line(key, text, vec![expiry(expires)])
        }
        Record::Remove { key } => line(key, String::new(), vec![]),
        Record::Entity { key, version, expires, value } => {
            of_entity(line, key, version, expires, value)
        }
        Record::Tombstone { key, version, forget_at } => {
            of_tombstone(line, key, version, forget_at)
        }
        Record::Clear => ProgressLine { kind, key: None, text: String::new(), fields: vec![] },
        Record::Image { id, image } => of_image(line, id, image),
        Record::Digest { digest } => {
            let Ok(Some(StateDigest { from, to, sum, .. })) = StateDigest::decode(digest) else {
                return ProgressLine { kind, key: None, text: short(digest), fields: vec![] };
            };
            let text = format!("positions {from:016x} to {to:016x} have {sum:016x}");
            let fields = vec![("from", json!(from)), ("to", json!(to)), ("sum", json!(sum))];
            ProgressLine { kind, key: None, text, fields }
        }
        Record::Group { members } => {
            let fields = vec![("members", json!(shown(members)))];
            ProgressLine { kind, key: None, text: short(members), fields }
        }
    }
}

fn of_entry(entry: &SnapshotEntry<'_>) -> ProgressLine {
    let kind = kind_of_entry(entry);
    let line =
        |key: &[u8], text, fields| ProgressLine { kind, key: Some(shown(key)), text, fields };
    match *entry {
        SnapshotEntry::Value { key, expires, value } => {
            let text = format!("{}{}", short(value), expiry_text(expires));
            line(key, text, vec![expiry(expires), ("value", json!(shown(value)))])
        }
        SnapshotEntry::Account { id, image } => of_image(line, id, image),
        SnapshotEntry::Entity { key, version, expires, value } => {
            of_entity(line, key, version, expires, value)
        }
        SnapshotEntry::Tombstone { key, version, forget_at } => {
            of_tombstone(line, key, version, forget_at)
        }
    }
}

type Fields = Vec<(&'static str, Value)>;

fn of_image(
    line: impl Fn(&[u8], String, Fields) -> ProgressLine,
    id: &[u8],
    image: &[u8],
) -> ProgressLine {
    let mut account = Account::empty(Status::Active);
    match decode_account(image, &mut account) {
        Ok(()) => line(id, account_text(&account), account_fields(&account)),
        Err(error) => line(id, error.to_string(), vec![]),
    }
}

fn of_entity(
    line: impl Fn(&[u8], String, Fields) -> ProgressLine,
    key: &[u8],
    version: u64,
    expires: Option<Time>,
    value: &[u8],
) -> ProgressLine {
    let text = format!("version {version}  {}{}", short(value), expiry_text(expires));
    let fields = vec![("version", json!(version)), expiry(expires), ("value", json!(shown(value)))];
    line(key, text, fields)
}

fn of_tombstone(
    line: impl Fn(&[u8], String, Fields) -> ProgressLine,
    key: &[u8],
    version: u64,
    forget_at: Time,
) -> ProgressLine {
    let text = format!("version {version}, forgotten {}", time_text(forget_at));
    line(key, text, vec![("version", json!(version)), ("forget_at_ms", json!(forget_at.0))])
}

fn of_account(kind: &'static str, id: &[u8], change: &[u8], balances: &[Balance]) -> ProgressLine {
    let mut decoded = Change { at: Time(0), ops: Vec::new() };
    let key = Some(shown(id));
    if let Err(error) = decode_change(change, &mut decoded) {
        return ProgressLine { kind, key, text: error.to_string(), fields: vec![] };
    }
    let facts = facts(&decoded);
    let texts: Vec<String> = facts.iter().map(Fact::text).collect();
    let mut text = texts.join("; ");
    let mut objects = Vec::new();
    for (at, balance) in balances.iter().enumerate() {
        let Balance { bucket, name, unit, available, held } = balance;
        text.push_str(if at == 0 { "  ->  " } else { ", " });
        let (name, unit) = (name.as_str(), unit.as_str());
        text.push_str(&format!("{name} {available} {unit}"));
        if *held != 0 {
            text.push_str(&format!(" (held {held})"));
        }
        objects.push(json!({
            "bucket": bucket.0, "name": name, "unit": unit, "available": available, "held": held,
        }));
    }
    let facts: Value = facts.iter().map(Fact::json).collect();
    let at = ("change_at_ms", json!(decoded.at.0));
    ProgressLine {
        kind,
        key,
        text,
        fields: vec![at, ("facts", facts), ("balances", json!(objects))],
    }
}

fn account_text(account: &Account) -> String {
    let mut text = format!("{} version {}", account.status.name(), account.version);
    for bucket in &account.buckets {
        let (name, unit) = (bucket.id.as_str(), bucket.unit.as_str());
        text.push_str(&format!(", {name} {} {unit} (held {})", bucket.available, bucket.held));
    }
    if !account.sessions.is_empty() {
        text.push_str(&format!(", open sessions {}", account.sessions.len()));
    }
    text
}

fn account_fields(account: &Account) -> Fields {
    let buckets = account.buckets.iter().map(|bucket| {
        json!({
            "bucket": bucket.no.0, "name": bucket.id.as_str(), "unit": bucket.unit.as_str(),
            "available": bucket.available, "held": bucket.held,
        })
    });
    vec![
        ("status", json!(account.status.name())),
        ("version", json!(account.version)),
        ("changed_at_ms", json!(account.changed_at.0)),
        ("buckets", buckets.collect()),
        ("open_sessions", json!(account.sessions.len())),
    ]
}

fn expiry(expires: Option<Time>) -> (&'static str, Value) {
    ("expires_ms", json!(expires.map(|time| time.0)))
}

fn expiry_text(expires: Option<Time>) -> String {
    expires.map(|time| format!(", expires {}", time_text(time))).unwrap_or_default()
}

fn shown(bytes: &[u8]) -> String {
    bytes.escape_ascii().to_string()
}

fn short(value: &[u8]) -> String {
    match value.get(..VALUE_SHOWN) {
        Some(begin) if value.len() > VALUE_SHOWN => {
            format!("\"{}\"... ({} bytes)", begin.escape_ascii(), value.len())
        }
        _ => format!("\"{}\"", value.escape_ascii()),
    }
}
