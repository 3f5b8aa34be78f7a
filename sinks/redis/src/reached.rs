//! How far the streams of a server are.

use crate::commands::Commands;
use crate::progress::{Next, Progress, ThreadProgress};
use crate::server::Server;
use crate::stream_state::StreamState;
use crate::{EntryId, RedisTarget};
use redis::Value;
use scurry_service::Position;
use scurry_ship::{Positions, SinkError, StoreId};

/// Returns the positions up to which the streams have the events of a store, and what the hash has. Fails if they are of
/// another store or another program, or if this server takes no writes.
pub(crate) fn reached(
    server: &mut Server,
    target: &RedisTarget,
    store: StoreId,
) -> Result<(Positions, Progress), SinkError> {
    let mut progress = read_hash(server, target)?;
    if let Some(other) = progress.store.filter(|other| *other != store) {
        return Err(other_store(server, target, other, store));
    }
    let mut positions = Positions::none(store);
    for thread in 0..=u16::MAX {
        let known = progress.threads.get(&thread).copied();
        let state = read_stream(server, target, thread)?;
        if let Some(state) = &state {
            check(server, target, thread, state, progress.store.is_some(), store)?;
        } else if progress.threads.range(thread..).next().is_none() {
            // There is no thread with this number, nor a higher one.
            break;
        }
        let known = known.unwrap_or_default();
        let state = state.unwrap_or_default();
        if state.top < known.last {
            tracing::warn!(
                "{} has lost entries of {}: it is at {}, and was at {}; what the store still has of them is shipped again",
                server.address(),
                target.key(thread),
                state.top,
                known.last
            );
        }
        if let Some(Next::At(next)) = next(thread, known, &state) {
            positions.set(next);
        }
        if state.top != known.last {
            progress.threads.entry(thread).or_default().last = state.top;
        }
    }
    claim(server, target, store)?;
    progress.store = Some(store);
    Ok((positions, progress))
}

/// Returns where the events of a thread continue. None at the begin.
fn next(thread: u16, known: ThreadProgress, state: &StreamState) -> Option<Next> {
    if state.top == EntryId::default() {
        // The stream is not there. If it was, it was deleted with all its entries.
        return known.next.filter(|_| known.last == EntryId::default());
    }
    let last = state.last.as_ref().filter(|last| last.id == state.top).and_then(|last| last.said);
    if last.is_some_and(|(_, event)| event.ends_thread()) {
        return Some(Next::End);
    }
    let above = state.top.next(thread);
    match known.next {
        // Its last entry was removed after it was delivered.
        Some(Next::End) if state.top == known.last => Some(Next::End),
        // A filter has left out the events up to there.
        Some(Next::At(next)) if state.top >= known.last && order(next) > order(above) => {
            Some(Next::At(next))
        }
        _ => Some(Next::At(above)),
    }
}

fn order(position: Position) -> (u32, u64, u32) {
    (position.generation, position.sequence, position.index)
}

/// Checks that a stream is one of this store.
fn check(
    server: &Server,
    target: &RedisTarget,
    thread: u16,
    state: &StreamState,
    is_claimed: bool,
    store: StoreId,
) -> Result<(), SinkError> {
    let (address, key) = (server.address(), target.key(thread));
    match state.last.as_ref().map(|last| last.said) {
        Some(Some((other, _))) if other != store => Err(other_store(server, target, other, store)),
        Some(Some((_, event))) if event.thread() == thread => Ok(()),
        Some(_) => Err(SinkError::Refused(format!(
            "the last entry of the stream {key} on {address} is not of a shipper: another program writes to it. Choose \
             another --stream, or delete the stream and the hash {}",
            target.stream
        ))),
        None if is_claimed || state.top == EntryId::default() => Ok(()),
        None => Err(SinkError::Refused(format!(
            "the stream {key} on {address} is empty, and the hash {} that says how far it was is not there: delete the \
             stream, or choose another --stream",
            target.stream
        ))),
    }
}

fn other_store(server: &Server, target: &RedisTarget, other: StoreId, store: StoreId) -> SinkError {
    SinkError::Refused(format!(
        "the streams {} on {} have events of store {other}, and these are of store {store}: choose another --stream",
        target.stream,
        server.address()
    ))
}

fn read_hash(server: &mut Server, target: &RedisTarget) -> Result<Progress, SinkError> {
    let mut commands = Commands::default();
    commands.push(&[b"HGETALL", target.stream.as_bytes()]);
    let replies = server.ask_all(&commands)?;
    let reply = replies.first().unwrap_or(&Value::Nil);
    match (Progress::parse(reply), reply) {
        (Some(progress), _) => Ok(progress),
        (None, Value::Array(_)) => Err(SinkError::Refused(format!(
            "the hash {} on {} was not written by a shipper: choose another --stream",
            target.stream,
            server.address()
        ))),
        (None, reply) => Err(server.nonsense("HGETALL", reply)),
    }
}

/// Asks for a stream. None if there is none.
fn read_stream(
    server: &mut Server,
    target: &RedisTarget,
    thread: u16,
) -> Result<Option<StreamState>, SinkError> {
    let mut commands = Commands::default();
    commands.push(&[b"XINFO", b"STREAM", target.key(thread).as_bytes()]);
    let replies = server.ask(&commands)?;
    match replies.first().unwrap_or(&Value::Nil) {
        Value::ServerError(error)
            if error.details().is_some_and(|text| text.contains("no such key")) =>
        {
            Ok(None)
        }
        reply => match StreamState::parse(reply) {
            Some(state) => Ok(Some(state)),
            None => Err(server.nonsense("XINFO STREAM", reply)),
        },
    }
}

/// Writes the store into the hash, unless it is there. A replica refuses it, so it shows too that the server takes
/// writes.
fn claim(server: &mut Server, target: &RedisTarget, store: StoreId) -> Result<(), SinkError> {
    let mut commands = Commands::default();
    let (key, id) = (target.stream.as_bytes(), store.to_string());
    commands.push(&[b"HSETNX", key, b"store", id.as_bytes()]);
    commands.push(&[b"HGET", key, b"store"]);
    let replies = server.ask_all(&commands)?;
    match replies.as_slice() {
        [Value::Int(_), Value::BulkString(bytes)] => {
            match std::str::from_utf8(bytes).map(str::parse) {
                Ok(Ok(now)) if now == store => Ok(()),
                Ok(Ok(other)) => Err(other_store(server, target, other, store)),
                _ => Err(server.nonsense("HGET", &replies[1])),
            }
        }
        _ => Err(server.nonsense("HSETNX", &Value::Array(replies))),
    }
}
