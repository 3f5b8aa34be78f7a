//! The sink.

use crate::commands::Commands;
use crate::event_text::EventText;
use crate::progress::{Next, Progress};
use crate::reached::reached;
use crate::server::Server;
use crate::{EntryId, RedisTarget, repeats};
use redis::Value;
use scurry_service::Position;
use scurry_ship::{Delivery, Positions, Sink, SinkError, StoreId};
use std::collections::BTreeMap;

/// Bytes of payload after which a flush is due. The server executes a flush in one step, and nothing else meanwhile.
const FLUSH_LEN: usize = 256 << 10;

/// Ships events to streams of a server.
pub struct RedisSink {
    target: RedisTarget,
    /// Index of the node that was connected to last.
    node: usize,
    open: Option<Open>,
}

/// What there is from `resume` to the next error.
struct Open {
    server: Server,
    store: StoreId,
    /// What the hash has, and what it is to have.
    hash: Progress,
    progress: Progress,
    /// Threads that have ended, and the position that they had reached.
    ended: BTreeMap<u16, Position>,
    /// Entries that are not sent yet, and what is in them.
    batch: Commands,
    pending: Vec<EventText>,
}

impl RedisSink {
    /// Returns a sink for these streams.
    pub fn new(target: RedisTarget) -> RedisSink {
        RedisSink { target, node: 0, open: None }
    }

    fn open(&mut self) -> Result<(&RedisTarget, &mut Open), SinkError> {
        let lost = || SinkError::Unavailable("the connection was lost".to_owned());
        self.open.as_mut().map(|open| (&self.target, open)).ok_or_else(lost)
    }
}

impl Sink for RedisSink {
    fn resume(&mut self, store: StoreId) -> Result<Positions, SinkError> {
        self.open = None;
        let mut fault = None;
        for step in 0..self.target.nodes.len() {
            let node = (self.node + step) % self.target.nodes.len();
            let attempt = Server::connect(&self.target, &self.target.nodes[node])
                .and_then(|mut server| Ok((reached(&mut server, &self.target, store)?, server)));
            match attempt {
                Ok(((positions, progress), server)) => {
                    self.node = node;
                    self.open = Some(Open {
                        server,
                        store,
                        hash: progress.clone(),
                        progress,
                        ended: BTreeMap::new(),
                        batch: Commands::default(),
                        pending: Vec::new(),
                    });
                    return Ok(positions);
                }
                Err(error @ SinkError::Refused(_)) => return Err(error),
                Err(error) => fault = fault.or(Some(error)),
            }
        }
        Err(fault.unwrap_or_else(|| SinkError::Refused("no address is given".to_owned())))
    }

    fn append(&mut self, delivery: &Delivery<'_>) -> Result<(), SinkError> {
        let record = delivery.record;
        let place = EventText::parse(&record.id).and_then(|event| Some((event, event.entry_id()?)));
        let Some((event, id)) = place else {
            return Err(SinkError::Refused(format!("{} is no position of an event", record.id)));
        };
        let (target, open) = self.open()?;
        if let EventText::Missed { from, .. } = event
            && event.ends_thread()
        {
            open.ended.insert(from.thread, from);
        }
        let (key, id) = (target.key(event.thread()), id.to_string());
        let max_len = target.max_len.map(|entries| entries.to_string());
        let mut words: Vec<&[u8]> = vec![b"XADD", key.as_bytes()];
        if let Some(max_len) = &max_len {
            words.extend([&b"MAXLEN"[..], b"~", max_len.as_bytes()]);
        }
        // The same fields in the same order: the server then keeps their names once for many entries.
        words.extend([
            id.as_bytes(),
            b"id",
            record.id.as_bytes(),
            b"store",
            record.store.as_bytes(),
            b"event",
            record.event.as_bytes(),
            b"account",
            record.account.as_bytes(),
            b"payload",
            delivery.payload,
        ]);
        open.batch.push(&words);
        open.pending.push(event);
        Ok(())
    }

    fn flush(&mut self, reached: &Positions) -> Result<(), SinkError> {
        let (target, open) = self.open()?;
        if !open.pending.is_empty() {
            open.add_entries(target)?;
        }
        open.write_progress(target, reached)
    }

    fn flush_len(&self) -> usize {
        FLUSH_LEN
    }
}

impl Open {
    /// Adds the entries, all in one step: if the server had no memory for one of them and then for the next, it would
    /// refuse the first for ever.
    fn add_entries(&mut self, target: &RedisTarget) -> Result<(), SinkError> {
        let mut commands = Commands::default();
        commands.push(&[b"MULTI"]);
        // A thread that is new is in the hash before its first entry is, at the position of that entry.
        for event in &self.pending {
            let (EventText::At(first) | EventText::Missed { from: first, .. }) = *event;
            let thread = self.progress.threads.entry(event.thread()).or_default();
            thread.next.get_or_insert(Next::At(first));
        }
        let is_new = self.progress.write(&self.hash, &target.stream, &mut commands);
        commands.append(&self.batch);
        commands.push(&[b"EXEC"]);
        let replies = self.server.ask(&commands)?;
        if let Some(fault) = replies.iter().find_map(|reply| self.server.fault(reply)) {
            return Err(fault);
        }
        let executed = replies.last().unwrap_or(&Value::Nil);
        let repeated = match executed {
            Value::Array(replies) if replies.len() == commands.count() - 2 => {
                self.repeated(&replies[usize::from(is_new)..])?
            }
            other => return Err(self.server.nonsense("EXEC", other)),
        };
        if !repeated.is_empty() {
            repeats::check(&mut self.server, target, self.store, &repeated)?;
        }
        self.hash = self.progress.clone();
        for event in self.pending.drain(..) {
            let thread = self.progress.threads.entry(event.thread()).or_default();
            thread.last = thread.last.max(event.entry_id().unwrap_or_default());
        }
        self.batch.clear();
        Ok(())
    }

    /// Returns the events that the server has refused because their stream is further.
    fn repeated(&self, replies: &[Value]) -> Result<Vec<EventText>, SinkError> {
        let mut repeated = Vec::new();
        for (event, reply) in self.pending.iter().zip(replies) {
            match reply {
                Value::BulkString(id) if EntryId::parse(id) == event.entry_id() => {}
                Value::ServerError(error)
                    if error.details().is_some_and(|text| text.contains("equal or smaller")) =>
                {
                    repeated.push(*event);
                }
                other => return Err(self.server.nonsense("XADD", other)),
            }
        }
        Ok(repeated)
    }

    fn write_progress(
        &mut self,
        target: &RedisTarget,
        reached: &Positions,
    ) -> Result<(), SinkError> {
        for next in reached.iter() {
            let has_ended = self.ended.get(&next.thread) == Some(&next);
            let thread = self.progress.threads.entry(next.thread).or_default();
            thread.next = Some(if has_ended { Next::End } else { Next::At(next) });
        }
        let mut commands = Commands::default();
        if self.progress.write(&self.hash, &target.stream, &mut commands) {
            for reply in self.server.ask_all(&commands)? {
                if !matches!(reply, Value::Int(_)) {
                    return Err(self.server.nonsense("HSET", &reply));
                }
            }
            self.hash = self.progress.clone();
        }
        Ok(())
    }
}
