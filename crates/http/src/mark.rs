//! The mark that a node carries: since when it is known to have everything that it should. A node
//! that was emptied has none, and one that was away has an old one.

use crate::line::Line;
use redis::{RedisError, Value, cmd};
use scurry_ledger::Time;

/// A plain value under this key, on each node.
const KEY: &str = "scurry:entities:whole";
/// Mark that stands there until all nodes have been seen once.
const FORMING: &[u8] = b"forming";

/// Meaning of a node's mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mark {
    /// There is none: the node is new, or has lost what it had.
    None,
    /// A node that was new when all others were, or joined them.
    Forming,
    /// At this time it had everything.
    Whole(Time),
}

impl Mark {
    pub(crate) async fn read(connection: &Line) -> Result<Mark, RedisError> {
        let command = redis::Cmd::get(KEY);
        let text = match connection.ask(&command).await?.extract_error()? {
            Value::Nil => return Ok(Mark::None),
            Value::BulkString(text) => text,
            _ => return Err(crate::copy::not_a_node()),
        };
        if text == FORMING {
            return Ok(Mark::Forming);
        }
        let ms = std::str::from_utf8(&text).ok().and_then(|digits| digits.parse().ok());
        // What somebody else has written there says nothing.
        Ok(ms.map_or(Mark::None, |ms| Mark::Whole(Time(ms))))
    }

    /// Puts the mark of a forming node where there is none.
    pub(crate) async fn form(connection: &Line) -> Result<(), RedisError> {
        let mut command = cmd("SET");
        command.arg(KEY).arg(FORMING).arg("NX");
        connection.ask(&command).await?.extract_error().map(|_| ())
    }

    /// Says that the node had everything at this time.
    pub(crate) async fn set_whole(connection: &Line, at: Time) -> Result<(), RedisError> {
        let mut command = cmd("SET");
        command.arg(KEY).arg(at.0);
        connection.ask(&command).await?.extract_error().map(|_| ())
    }
}
