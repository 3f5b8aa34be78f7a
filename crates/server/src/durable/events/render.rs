//! Renders events as replies.

use super::shown::EventLog;
use crate::mail::message::EventRequest;
use scurry_engine::{EventAt, Read, ReadEventsError};
use scurry_ledger::{Code, Time};
use scurry_resp::{Position, Protocol, Reply};
use scurry_service::{self as service, EventCommit, EventField};

/// Writes the map of a reply, up to the array of events.
pub(super) fn head(reply: &mut Reply<'_>, log: EventLog, read: &Read, durable: u64) {
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
