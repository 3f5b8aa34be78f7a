//! Makes [`service::Event`] of what the log has, and renders it as a reply. docs/events.md lists the fields of each.

use super::Log;
use crate::mail::message::EventRequest;
use scurry_engine::{Event, EventAt, Found, Origin, OriginItem, Read, ReadEventsError};
use scurry_ledger::{BucketNo, BucketTerms, Code, Id, ItemKey, Name, Time};
use scurry_resp::{Position, Protocol, Reply};
use scurry_service::{self as service, EventCommit, EventField, EventId};
use std::borrow::Cow;

/// Writes the map of a reply, up to the array of events.
pub(super) fn head(reply: &mut Reply<'_>, log: Log, read: &Read, durable: u64) {
    let text = |at: EventAt| log.position(at).to_string();
    reply.map(5);
    reply.text("store");
    reply.text(&format!("{:016x}", log.store));
    reply.text("next");
    reply.text(&text(read.next));
    reply.text("oldest");
    reply.text(&text(EventAt::record(read.oldest)));
    reply.text("end");
    reply.text(&text(EventAt::record(durable + 1)));
    reply.text("events");
}

/// Returns the event that tells a reader which range of events it has missed. The id belongs to this gap alone: the
/// events at both of its ends have their positions as ids, and effects that are keyed by the id must not mix them up.
pub(super) fn missed(from: Position, to: Position) -> service::Event<'static> {
    let mut fields = Fields(Vec::new());
    fields.text("from", from.to_string());
    fields.text("to", to.to_string());
    let id = EventId::Missed { from, to };
    service::Event { id, commit: None, name: "missed".into(), fields: fields.0 }
}

/// Returns an event of the log as its readers get it.
pub(super) fn event<'f>(log: Log, found: &Found<'f>) -> service::Event<'f> {
    let at = log.position(found.at);
    let id = match found.crossing.map(u32::try_from) {
        Some(Ok(threshold)) => EventId::Crossing { at, threshold },
        Some(Err(_)) | None => EventId::At(at),
    };
    let mut fields = Fields(Vec::new());
    about(&mut fields, found);
    origin(&mut fields, found);
    let commit = EventCommit { time: found.time, account: found.account.into() };
    service::Event { id, commit: Some(commit), name: found.event.word().into(), fields: fields.0 }
}

/// Writes an event: its id, and its fields as names and values in turn.
pub(super) fn write(reply: &mut Reply<'_>, event: &service::Event<'_>) {
    let service::Event { id, commit, name, fields } = event;
    reply.array(2);
    reply.text(&id.to_string());
    let of_commit = if commit.is_some() { 2 } else { 0 };
    reply.array(2 * (of_commit + 1 + fields.len()));
    if let Some(EventCommit { time, account }) = commit {
        reply.text("time");
        reply.integer(time.0);
        reply.text("account");
        reply.bulk(account);
    }
    reply.text("event");
    reply.text(name);
    for (name, field) in fields {
        reply.text(name);
        match field {
            EventField::Bytes(bytes) => reply.bulk(bytes),
            EventField::Number(number) => reply.integer(*number),
            EventField::Nothing => reply.null(),
        }
    }
}

/// Adds the origin of the event, unless the event itself contains it.
fn origin<'f>(fields: &mut Fields<'f>, found: &Found<'f>) {
    let Origin { transaction, session, request, item } = found.origin;
    if let Some(transaction) = transaction {
        fields.bytes("transaction", transaction.as_bytes());
    }
    if let Event::LateUse { .. } = found.event {
        return;
    }
    let is_named = matches!(found.event, Event::SessionOpened { .. } | Event::SessionEnded(..));
    if let Some(session) = session.as_ref().filter(|_| !is_named) {
        fields.bytes("session", session.as_bytes());
    }
    if let Some(request) = request {
        fields.number("request", i64::from(*request));
    }
    match item {
        Some(OriginItem::Place(place)) => fields.number("item_no", i64::from(*place)),
        Some(OriginItem::Key(key)) => fields.item(key),
        None => {}
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
        Event::SessionOpened { session, data } => {
            fields.bytes("session", session.as_bytes());
            if !data.is_empty() {
                fields.bytes("data", data);
            }
        }
        Event::SessionEnded(_, id) => {
            fields.bytes("session", id.as_ref().map_or(&[], Id::as_bytes));
        }
        Event::ItemAdded { key, unit } => {
            fields.item(key);
            fields.bytes("unit", unit.as_bytes());
        }
        Event::Uncollected(amount) => fields.number("amount", *amount),
        Event::LateUse { session, request, key, unit, used, uncollected } => {
            fields.bytes("session", session.as_bytes());
            fields.number("request", i64::from(*request));
            fields.item(key);
            fields.bytes("unit", unit.as_bytes());
            fields.number("used", *used);
            fields.number("uncollected", *uncollected);
        }
        Event::Answered { code, version, amount, cause } => {
            fields.bytes("code", code.name().as_bytes());
            fields.number("version", i64::try_from(*version).unwrap_or(i64::MAX));
            fields.number("amount", *amount);
            if let Some(text) = scurry_resp::cause_text(*cause) {
                fields.text("cause", text.into_owned());
            }
            if let Some(time) = cause.allowed_at() {
                fields.number("allowed_at", time.0);
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
}

/// Renders the error for a position that no reply of this store has contained.
pub(super) fn ahead(protocol: Protocol, position: Position, end: Position) -> Vec<u8> {
    let mut out = Vec::new();
    Reply::new(&mut out, protocol).error(format_args!(
        "ERR the position {position} is ahead of the events, which end at {end}: the store was \
         restored, or lost its end; begin at 0 and compare the balances"
    ));
    out
}

/// Renders the error for a cursor that no statement from this log has returned.
pub(super) fn foreign(protocol: Protocol, cursor: Position, end: Position) -> Vec<u8> {
    let mut out = Vec::new();
    let code = Code::Invalid;
    Reply::new(&mut out, protocol).error(format_args!(
        "{} {} cursor {cursor} is none of the account's log, which ends at {end}: the store was \
         restored, divided anew, or lost its end; begin without a cursor",
        code.name(),
        code as u8
    ));
    out
}

/// Fields of a statement besides its entries.
pub(super) struct StatementHead {
    pub(super) next: Option<Position>,
    pub(super) complete: bool,
    pub(super) kept_from: Option<Time>,
    /// Number of commits that were examined for the reply.
    pub(super) looked: u64,
    /// When the last of them was written.
    pub(super) reached: Option<Time>,
}

/// Renders a statement from `count` entries that are already rendered.
pub(super) fn statement(
    request: &EventRequest,
    head: &StatementHead,
    (count, entries): (usize, &[u8]),
) -> Vec<u8> {
    let mut out = Vec::with_capacity(entries.len() + 256);
    let reply = &mut Reply::new(&mut out, request.protocol);
    reply.map(7);
    reply.text("account");
    reply.bulk(request.account.as_deref().unwrap_or_default());
    reply.text("next");
    match head.next {
        Some(next) => reply.text(&next.to_string()),
        None => reply.null(),
    }
    reply.text("complete");
    reply.integer(i64::from(head.complete));
    reply.text("kept_from");
    time_or_null(reply, head.kept_from);
    reply.text("looked");
    reply.integer(i64::try_from(head.looked).unwrap_or(i64::MAX));
    reply.text("reached");
    time_or_null(reply, head.reached);
    reply.text("entries");
    reply.array(count);
    reply.formed(entries);
    out
}

fn time_or_null(reply: &mut Reply<'_>, time: Option<Time>) {
    match time {
        Some(time) => reply.integer(time.0),
        None => reply.null(),
    }
}

/// Renders the error for a log that cannot be read.
pub(super) fn unreadable(protocol: Protocol, error: &ReadEventsError) -> Vec<u8> {
    let mut out = Vec::new();
    Reply::new(&mut out, protocol)
        .error(format_args!("ERR events cannot be read: {error}; see the server's log"));
    out
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

    fn nothing(&mut self, name: &'static str) {
        self.0.push((name.into(), EventField::Nothing));
    }
}
