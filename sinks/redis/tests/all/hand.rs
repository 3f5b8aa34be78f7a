//! A shipper by hand: it gives a sink events of which only the position matters.

use crate::peer::Peer;
use redis::Value;
use scurry_service::Position;
use scurry_ship::{Delivery, Positions, Record, Sink, SinkError, StoreId};
use scurry_sink_redis::{RedisSink, RedisTarget};

pub(crate) const STORE: StoreId = StoreId(0x00c0_ffee_00c0_ffee);

/// A sink, and what it has reached.
pub(crate) struct Hand {
    pub(crate) sink: RedisSink,
    reached: Positions,
}

impl Hand {
    pub(crate) fn new(address: &str) -> Hand {
        Hand::to(RedisTarget::parse(address, "events").expect("a target"))
    }

    pub(crate) fn to(target: RedisTarget) -> Hand {
        Hand { sink: RedisSink::new(target), reached: Positions::none(STORE) }
    }

    /// Resumes, and returns the positions as text.
    pub(crate) fn resume(&mut self) -> Result<String, SinkError> {
        self.reached = self.sink.resume(STORE)?;
        Ok(self.reached.to_string()[16..].trim_start().to_owned())
    }

    /// Gives the sink events of these ids, and flushes.
    pub(crate) fn ship(&mut self, ids: &[&str]) -> Result<(), SinkError> {
        for id in ids {
            self.append(id, b"{}")?;
        }
        self.sink.flush(&self.reached.clone())
    }

    /// Gives the sink an event.
    pub(crate) fn append(&mut self, id: &str, payload: &[u8]) -> Result<(), SinkError> {
        let is_missed = id.contains("..");
        let at = id.split("..").last().and_then(|at| Position::parse(at.as_bytes())).expect(id);
        let record = Record {
            id: id.to_owned(),
            store: STORE.to_string(),
            event: if is_missed { "missed" } else { "debited" }.to_owned(),
            account: "alice".to_owned(),
            ..Record::default()
        };
        self.sink.append(&Delivery { record: &record, payload, at })?;
        let index = if is_missed { at.index } else { at.index + 1 };
        self.reached.set(Position { index, ..at });
        Ok(())
    }

    /// Tells the sink that everything before this position was read, and flushes.
    pub(crate) fn reach(&mut self, position: &str) -> Result<(), SinkError> {
        self.reached.set(Position::parse(position.as_bytes()).expect(position));
        self.sink.flush(&self.reached.clone())
    }
}

/// Returns the text of an error that does not pass by itself.
#[track_caller]
pub(crate) fn refused<T: std::fmt::Debug>(outcome: Result<T, SinkError>) -> String {
    match outcome {
        Err(SinkError::Refused(text)) => text,
        other => panic!("it must be refused: {other:?}"),
    }
}

/// Returns the text of an error that may pass by itself.
#[track_caller]
pub(crate) fn unavailable<T: std::fmt::Debug>(outcome: Result<T, SinkError>) -> String {
    match outcome {
        Err(SinkError::Unavailable(text)) => text,
        other => panic!("it must be unavailable: {other:?}"),
    }
}

/// Sends a command whose words have spaces between.
#[track_caller]
pub(crate) fn ask(peer: &Peer, line: &str) -> Value {
    let mut words = line.split(' ');
    let mut command = redis::cmd(words.next().expect("a command"));
    words.for_each(|word| _ = command.arg(word));
    command.query(&mut peer.connect()).expect(line)
}
