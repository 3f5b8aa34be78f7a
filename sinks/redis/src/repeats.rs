//! Entries that a server has refused because its stream is further already.

use crate::RedisTarget;
use crate::commands::Commands;
use crate::event_text::EventText;
use crate::server::Server;
use crate::stream_state::{Entry, StreamState};
use redis::Value;
use scurry_ship::{SinkError, StoreId};

/// Checks that these events are in their streams, or were in them and have been removed. So it is after a write that
/// arrived late, or beside a second shipper. Anything else is refused: an event would be left out.
pub(crate) fn check(
    server: &mut Server,
    target: &RedisTarget,
    store: StoreId,
    events: &[EventText],
) -> Result<(), SinkError> {
    let mut commands = Commands::default();
    for event in events {
        let id = event.entry_id().map(|id| id.to_string()).unwrap_or_default();
        commands.push(&[
            b"XRANGE",
            target.key(event.thread()).as_bytes(),
            id.as_bytes(),
            id.as_bytes(),
        ]);
    }
    let replies = server.ask_all(&commands)?;
    for (event, reply) in events.iter().zip(&replies) {
        let Value::Array(entries) = reply else { return Err(server.nonsense("XRANGE", reply)) };
        let is_there = match entries.as_slice() {
            [] => was_removed(server, target, *event)?,
            [entry] => {
                let entry = Entry::parse(entry).ok_or_else(|| server.nonsense("XRANGE", reply))?;
                entry.said == Some((store, *event))
            }
            _ => return Err(server.nonsense("XRANGE", reply)),
        };
        if !is_there {
            return Err(SinkError::Refused(format!(
                "the stream {} on {} is further than its shipper, and lacks {event:?} of store {store}: another program, or a \
                 shipper with other options, writes to it. Stop that, or choose another --stream",
                target.key(event.thread()),
                server.address()
            )));
        }
    }
    Ok(())
}

fn was_removed(
    server: &mut Server,
    target: &RedisTarget,
    event: EventText,
) -> Result<bool, SinkError> {
    let mut commands = Commands::default();
    commands.push(&[b"XINFO", b"STREAM", target.key(event.thread()).as_bytes()]);
    let replies = server.ask_all(&commands)?;
    let state = replies.first().and_then(StreamState::parse);
    let state = state
        .ok_or_else(|| server.nonsense("XINFO STREAM", replies.first().unwrap_or(&Value::Nil)))?;
    Ok(event.entry_id().is_some_and(|id| state.may_have_removed(id)))
}
