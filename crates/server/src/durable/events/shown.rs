//! Makes [`service::Event`] of what the log has. docs/events.md lists the fields of each.

use scurry_engine::{Ending, Event, EventAt, Found, Origin, OriginItem};
use scurry_ledger::{BucketNo, BucketTerms, Cause, ItemKey, Name};
use scurry_resp::Position;
use scurry_service::{self as service, EventCommit, EventField, EventId};
use std::borrow::Cow;

/// The log that positions belong to.
#[derive(Clone, Copy, Debug)]
pub struct EventLog {
    /// The random number that identifies the store and its copies.
    pub store: u64,
    /// First part of the positions.
    pub generation: u32,
    /// Second part of the positions.
    pub thread: u16,
}

impl EventLog {
    /// Returns the position of an event of the log.
    pub fn position(self, at: EventAt) -> Position {
        let EventAt { sequence, index } = at;
        Position { generation: self.generation, thread: self.thread, sequence, index }
    }

    /// Returns an event of the log as its readers get it.
    pub fn event<'f>(self, found: &Found<'f>) -> service::Event<'f> {
        event(self, found)
    }
}

/// Returns the event that tells a reader which range of events it has missed. The id belongs to this gap alone: the
/// events at both of its ends have their positions as ids, and effects that are keyed by the id must not mix them up.
pub fn missed_events(from: Position, to: Position) -> service::Event<'static> {
    let mut fields = Fields(Vec::new());
    fields.text("from", from.to_string());
    fields.text("to", to.to_string());
    let id = EventId::Missed { from, to };
    service::Event { id, commit: None, name: "missed".into(), fields: fields.0 }
}

/// Returns an event of the log as its readers get it.
fn event<'f>(log: EventLog, found: &Found<'f>) -> service::Event<'f> {
    let at = log.position(found.at);
    let id = match found.crossing.map(u32::try_from) {
        Some(Ok(threshold)) => EventId::Crossing { at, threshold },
        Some(Err(_)) | None => EventId::At(at),
    };
    let mut fields = Fields(Vec::new());
    if let Some(version) = found.version {
        fields.number("version", i64::try_from(version).unwrap_or(i64::MAX));
    }
    about(&mut fields, found);
    origin(&mut fields, found);
    let commit = EventCommit { time: found.time, account: found.account.into() };
    service::Event { id, commit: Some(commit), name: found.event.word().into(), fields: fields.0 }
}

/// Adds the origin of the event, unless the event itself contains it.
fn origin<'f>(fields: &mut Fields<'f>, found: &Found<'f>) {
    let Origin { transaction, session, request, item, data, identities } = found.origin;
    if let Some(transaction) = transaction {
        fields.bytes("transaction", transaction.as_bytes());
    }
    if let Some(session) = session {
        fields.bytes("session", session.as_bytes());
    }
    if let Some(request) = request {
        fields.number("request", i64::from(*request));
    }
    if let Some(OriginItem { place, key, unit }) = item {
        if let Some(place) = place {
            fields.number("item_no", i64::from(*place));
        }
        if !matches!(found.event, Event::ItemAdded { .. } | Event::Denied(_)) {
            fields.item(key);
        }
        if let Some(unit) = unit.as_ref().filter(|_| matches!(found.event, Event::Uncollected(_))) {
            fields.bytes("unit", unit.as_bytes());
        }
    }
    if let Some(data) = data {
        fields.bytes("data", data);
    }
    for identity in identities.iter().flat_map(|all| all.iter()) {
        let name = format!("identity.{}", identity.kind.as_str());
        fields.0.push((name.into(), EventField::Bytes(identity.value.as_bytes().into())));
    }
}

fn about<'f>(fields: &mut Fields<'f>, found: &Found<'f>) {
    match found.event {
        Event::Created(status) | Event::StatusSet(status) => {
            fields.bytes("status", status.name().as_bytes())
        }
        Event::Deleted | Event::Cleared | Event::Loaded => {}
        Event::IdentitySet { kind, value } => {
            fields.bytes("kind", kind.as_bytes());
            fields.bytes("value", value.as_bytes());
        }
        Event::BucketAdded { id, unit, terms: added } => {
            let number = found.balance.map(|balance| balance.bucket);
            bucket(fields, Some((id, unit)), number);
            terms(fields, added);
        }
        Event::BucketChanged { bucket: number, terms: changed } => {
            bucket(fields, named(found), Some(*number));
            terms(fields, changed);
        }
        Event::BucketItemsSet { bucket: number, keys } => {
            bucket(fields, named(found), Some(*number));
            let keys: Vec<String> = keys.iter().map(ToString::to_string).collect();
            fields.text("items", keys.join(" "));
        }
        Event::BucketRemoved { bucket: number, named } => {
            let named = named.as_ref().map(|(name, unit)| (name, unit));
            bucket(fields, named, Some(*number));
        }
        Event::Moved(_, posting) => {
            bucket(fields, named(found), Some(posting.bucket));
            let (available, held) = found.event.effect();
            fields.number("amount", posting.amount);
            fields.number("change", available);
            fields.number("held_change", held);
            fields.number("available", found.balance.map_or(0, |balance| balance.available));
            fields.number("held", found.balance.map_or(0, |balance| balance.held));
        }
        Event::BelowMark { bucket: number, mark } | Event::AboveMark { bucket: number, mark } => {
            bucket(fields, named(found), Some(*number));
            fields.number("available", found.balance.map_or(0, |balance| balance.available));
            fields.number("mark", *mark);
        }
        Event::CounterSet { id, unit, value } => {
            fields.bytes("counter", id.as_bytes());
            fields.bytes("unit", unit.as_bytes());
            fields.number("value", *value);
        }
        Event::LimitSet { id, amount } => {
            fields.bytes("limit", id.as_bytes());
            fields.number("amount", *amount);
        }
        Event::LimitRemoved(id) => fields.bytes("limit", id.as_bytes()),
        Event::LimitReached { id, percent, used, amount } => {
            fields.bytes("limit", id.as_bytes());
            fields.number("percent", i64::from(*percent));
            fields.number("used", *used);
            fields.number("amount", *amount);
        }
        // The session is the origin.
        Event::SessionOpened => {}
        Event::SessionEnded(ending) => {
            if let Ending::Closed(code) = ending {
                fields.bytes("code", code.name().as_bytes());
            }
        }
        Event::ItemAdded { key, unit } => {
            fields.item(key);
            fields.bytes("unit", unit.as_bytes());
        }
        Event::Uncollected(amount) => fields.number("amount", *amount),
        Event::LateUse { unit, used, uncollected, .. } => {
            fields.bytes("unit", unit.as_bytes());
            fields.number("used", *used);
            fields.number("uncollected", *uncollected);
        }
        Event::Answered { code, version, amount, cause } => {
            fields.bytes("code", code.name().as_bytes());
            fields.number("version", i64::try_from(*version).unwrap_or(i64::MAX));
            fields.number("amount", *amount);
            fields.cause(*cause);
        }
        Event::Denied(denial) => {
            if let Some(key) = &denial.item {
                fields.item(key);
            }
            if denial.unit != Name::EMPTY {
                fields.bytes("unit", denial.unit.as_bytes());
            }
            fields.number("requested", denial.requested);
            fields.bytes("code", denial.code.name().as_bytes());
            fields.cause(denial.cause);
            if denial.left_out > 0 {
                fields.number("left_out", i64::from(denial.left_out));
            }
        }
        Event::Low { bucket: number, threshold }
        | Event::Restored { bucket: number, threshold } => {
            bucket(fields, named(found), Some(*number));
            fields.number("available", found.balance.map_or(0, |balance| balance.available));
            fields.number("threshold", *threshold);
        }
    }
}

type SessionAndRequest<'f> = Option<(&'f Name, &'f Name)>;

/// Returns name and unit of the bucket. None for a bucket that the commit has removed.
fn named<'f>(found: &Found<'f>) -> SessionAndRequest<'f> {
    found.balance.map(|balance| (&balance.name, &balance.unit))
}

fn bucket<'f>(fields: &mut Fields<'f>, named: SessionAndRequest<'f>, number: Option<BucketNo>) {
    fields.bytes("bucket", named.map_or(&[], |(name, _)| name.as_bytes()));
    fields.bytes("unit", named.map_or(&[], |(_, unit)| unit.as_bytes()));
    fields.number("bucket_no", number.map_or(-1, |number| i64::from(number.0)));
}

fn terms(fields: &mut Fields<'_>, terms: &BucketTerms) {
    fields.number("priority", i64::from(terms.priority));
    fields.number("valid_from", terms.valid_from.0);
    match terms.valid_to {
        Some(end) => fields.number("valid_to", end.0),
        None => fields.nothing("valid_to"),
    }
    fields.number("floor", terms.floor);
    if let Some(mark) = terms.mark {
        fields.number("mark", mark);
    }
}

/// Fields of an event that is being put together.
struct Fields<'f>(Vec<(Cow<'static, str>, EventField<'f>)>);

impl<'f> Fields<'f> {
    fn bytes(&mut self, name: &'static str, bytes: &'f [u8]) {
        self.0.push((name.into(), EventField::Bytes(bytes.into())));
    }

    fn text(&mut self, name: &'static str, text: String) {
        self.0.push((name.into(), EventField::Bytes(text.into_bytes().into())));
    }

    fn number(&mut self, name: &'static str, number: i64) {
        self.0.push((name.into(), EventField::Number(number)));
    }

    /// Adds the key of an item as replies show it: as a number where it is one.
    fn item(&mut self, key: &'f ItemKey) {
        match key {
            ItemKey::Number(key) => self.number("item", i64::from(*key)),
            ItemKey::Id(id) => self.bytes("item", id.as_bytes()),
        }
    }

    fn cause(&mut self, cause: Cause) {
        if let Some(text) = scurry_resp::cause_text(cause) {
            self.text("cause", text.into_owned());
        }
        if let Some(time) = cause.allowed_at() {
            self.number("allowed_at", time.0);
        }
    }

    fn nothing(&mut self, name: &'static str) {
        self.0.push((name.into(), EventField::Nothing));
    }
}
