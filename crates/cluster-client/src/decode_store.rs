//! Replies of one server to reads of a whole store, as the types of [`StoreReply`]. docs/commands.md has the shapes,
//! docs/events.md those of events.

use crate::decode::refusal;
use crate::reader::{
    Reader, bytes, each, field, integer, list, or_nil, pairs, status, text, unsigned,
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

/// Reads the reply to a follower.
///
/// # Errors
/// When the server refused the read, or the reply has another shape.
pub fn decode_events(value: &Value) -> Result<Events, CallError> {
    if let Value::ServerError(error) = value {
        return Err(refusal(error).into());
    }
    events(value).ok_or(CallError::WrongShape)
}

fn events(map: &Value) -> Option<Events> {
    let position = |name| Position::parse(bytes(field(map, name)?)?);
    let store = str::from_utf8(bytes(field(map, "store")?)?).ok()?;
    Some(Events {
        store: u64::from_str_radix(store, 16).ok()?,
        events: each(field(map, "events")?, event)?,
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
        entries: each(field(map, "entries")?, event)?,
    })
}

/// Reads an event: its id, and its fields as names and values in turn.
fn event(row: &mut Reader<'_>) -> Option<Event<'static>> {
    let id = EventId::parse(bytes(row.value()?)?)?;
    let (mut time, mut account, mut event, mut fields) = (None, None, None, Vec::new());
    for (name, value) in pairs(row.value()?)? {
        match text(name)? {
            "time" => time = Some(Time(integer(value)?)),
            "account" => account = Some(Cow::Owned(bytes(value)?.to_vec())),
            "event" => event = Some(Cow::Owned(text(value)?.to_owned())),
            name => fields.push((Cow::Owned(name.to_owned()), event_field(value)?)),
        }
    }
    let commit = match (time, account) {
        (Some(time), Some(account)) => Some(EventCommit { time, account }),
        (None, None) => None,
        _ => return None,
    };
    Some(Event { id, commit, name: event?, fields })
}

fn event_field(value: &Value) -> Option<EventField<'static>> {
    Some(match value {
        Value::Nil => EventField::Nothing,
        Value::Int(number) => EventField::Number(*number),
        value => EventField::Bytes(Cow::Owned(bytes(value)?.to_vec())),
    })
}
