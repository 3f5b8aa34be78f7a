//! Replies of one server to reads of a whole store, as the types of [`StoreReply`]. docs/commands.md has the shapes,
//! docs/events.md those of events.

use crate::decode::refusal;
use crate::reader::{
    Reader, bytes, each, field, field_mut, integer, into_bytes, into_text, list, or_nil, pairs,
    status, text, unsigned,
};
use redis::Value;
use scurry_ledger::{HolderStanding, SessionHolder, Time, Totals, UnitTotals};
use scurry_service::{
    AccountList, CallError, Event, EventCommit, EventField, EventId, Events, FoundAccounts,
    ListCursor, ListedAccount, Position, Statement, StoreRead, StoreReply,
};
use std::borrow::Cow;

/// Reads the reply of one server to a read. A list ends where this server ends.
///
/// # Errors
/// When the server refused the read, or the reply has another shape than the read's.
pub fn decode_store(read: &StoreRead, value: &Value) -> Result<StoreReply, CallError> {
    if let Value::ServerError(error) = value {
        return Err(refusal(error).into());
    }
    let reply = match read {
        StoreRead::Totals => totals(value).map(StoreReply::Totals),
        StoreRead::List(list) => listed(list.cursor.server, value).map(StoreReply::List),
        StoreRead::Find { .. } => found(value).map(StoreReply::Found),
        StoreRead::Statement(_) => statement(value).map(StoreReply::Statement),
        StoreRead::Bounds => pairs(value).map(|pairs| {
            let known = |(name, value)| Some((text(name)?.to_owned(), text(value)?.to_owned()));
            StoreReply::Settings(pairs.into_iter().filter_map(known).collect())
        }),
        StoreRead::Ready => Some(StoreReply::Ready),
    };
    reply.ok_or(CallError::WrongShape)
}

/// Reads the reply to a follower. It takes the value: the bytes of thousands of events are moved and not copied.
///
/// # Errors
/// When the server refused the read, or the reply has another shape.
pub fn decode_events(value: Value) -> Result<Events, CallError> {
    if let Value::ServerError(error) = &value {
        return Err(refusal(error).into());
    }
    events(value).ok_or(CallError::WrongShape)
}

fn events(mut map: Value) -> Option<Events> {
    let rows = match field_mut(&mut map, "events")? {
        Value::Array(rows) => std::mem::take(rows),
        _ => return None,
    };
    let position = |name| Position::parse(bytes(field(&map, name)?)?);
    let store = str::from_utf8(bytes(field(&map, "store")?)?).ok()?;
    Some(Events {
        store: u64::from_str_radix(store, 16).ok()?,
        events: rows.into_iter().map(event).collect::<Option<_>>()?,
        next: position("next")?,
        oldest: position("oldest")?,
        end: position("end")?,
    })
}

pub(crate) fn totals(map: &Value) -> Option<Totals> {
    Some(Totals {
        accounts: unsigned(field(map, "accounts")?)?,
        sessions: unsigned(field(map, "sessions")?)?,
        units: each(field(map, "units")?, |row| {
            Some(UnitTotals {
                unit: row.name()?,
                available: row.wide()?,
                held: row.wide()?,
                credited: row.wide()?,
                refunded: row.wide()?,
                consumed: row.wide()?,
                expired: row.wide()?,
                voided: row.wide()?,
                overdrawn: row.wide()?,
                uncollected: row.wide()?,
                in_transit: row.wide()?,
            })
        })?,
    })
}

fn listed(server: usize, value: &Value) -> Option<AccountList> {
    let mut reader = Reader::from_value(value)?;
    let within = text(reader.value()?)?.parse().ok()?;
    let accounts = each(reader.value()?, |row| {
        let (account, status) = (row.bytes()?, status(row.value()?)?);
        Some(ListedAccount { account, status, version: row.unsigned()? })
    })?;
    Some(AccountList { accounts, next: ListCursor::after(server, within, true) })
}

fn found(value: &Value) -> Option<FoundAccounts> {
    let mut reader = Reader::from_value(value)?;
    let more = reader.flag()?;
    let ids = list(reader.value()?)?.iter();
    let accounts = ids.map(|id| bytes(id).map(<[u8]>::to_vec)).collect::<Option<_>>()?;
    let holder = match reader.value() {
        None => None,
        Some(standing) => {
            let standing = bytes(standing)?;
            let mut all = HolderStanding::ALL.into_iter();
            let standing = all.find(|known| known.name().as_bytes() == standing)?;
            Some(SessionHolder::new(standing, reader.time_or_nil()?))
        }
    };
    Some(FoundAccounts { accounts, more, holder })
}

fn statement(map: &Value) -> Option<Statement> {
    let time = |name| or_nil(field(map, name)?, |value| integer(value).map(Time));
    Some(Statement {
        account: bytes(field(map, "account")?)?.to_vec(),
        next: or_nil(field(map, "next")?, |value| Position::parse(bytes(value)?))?,
        complete: integer(field(map, "complete")?)? == 1,
        kept_from: time("kept_from")?,
        looked: unsigned(field(map, "looked")?)?,
        reached: time("reached")?,
        entries: list(field(map, "entries")?)?.iter().cloned().map(event).collect::<Option<_>>()?,
    })
}

/// Reads an event: its id, and its fields as names and values in turn.
fn event(row: Value) -> Option<Event<'static>> {
    let Value::Array(row) = row else { return None };
    let mut row = row.into_iter();
    let id = EventId::parse(bytes(&row.next()?)?)?;
    let (mut time, mut account, mut event) = (None, None, None);
    let mut fields = Vec::new();
    let mut take = |name: Value, value: Value| {
        match text(&name)? {
            "time" => time = Some(Time(integer(&value)?)),
            "account" => account = Some(Cow::Owned(into_bytes(value)?)),
            "event" => event = Some(Cow::Owned(into_text(value)?)),
            _ => fields.push((Cow::Owned(into_text(name)?), event_field(value)?)),
        }
        Some(())
    };
    match row.next()? {
        Value::Map(pairs) => pairs.into_iter().try_for_each(|(name, value)| take(name, value))?,
        Value::Array(flat) => {
            let mut flat = flat.into_iter();
            while let (Some(name), Some(value)) = (flat.next(), flat.next()) {
                take(name, value)?;
            }
        }
        _ => return None,
    }
    let commit = match (time, account) {
        (Some(time), Some(account)) => Some(EventCommit { time, account }),
        (None, None) => None,
        _ => return None,
    };
    Some(Event { id, commit, name: event?, fields })
}

fn event_field(value: Value) -> Option<EventField<'static>> {
    Some(match value {
        Value::Nil => EventField::Nothing,
        Value::Int(number) => EventField::Number(number),
        value => EventField::Bytes(Cow::Owned(into_bytes(value)?)),
    })
}
