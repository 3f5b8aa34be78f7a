//! The mark stored on each node: the time at which the node had everything that it should have. A node that was emptied
//! has no mark, and a node that was away has an old one.

use redis::{RedisError, Value, cmd};
use scurry_ledger::Time;
use scurry_stores::PipelinedConnection;

/// Key of the mark, a plain value on each node.
const KEY: &str = "scurry:entities:whole";
/// Value of the mark until all nodes have been seen once.
const FORMING: &[u8] = b"forming";

/// Meaning of a node's mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SyncMark {
    /// No mark: the node is new, or has lost its data.
    None,
    /// The node was new when all others were, or joined them.
    Forming,
    /// The node had everything at this time.
    Whole(Time),
}

impl SyncMark {
    pub(crate) async fn read(connection: &PipelinedConnection) -> Result<SyncMark, RedisError> {
        let command = redis::Cmd::get(KEY);
        let text = match connection.ask(&command).await?.extract_error()? {
            Value::Nil => return Ok(SyncMark::None),
            Value::BulkString(text) => text,
            _ => return Err(crate::copy::not_a_node()),
        };
        if text == FORMING {
            return Ok(SyncMark::Forming);
        }
        let ms = std::str::from_utf8(&text).ok().and_then(|digits| digits.parse().ok());
        // A value that this door did not write counts as no mark.
        Ok(ms.map_or(SyncMark::None, |ms| SyncMark::Whole(Time(ms))))
    }

    /// Sets the mark of a forming node, unless the node has a mark.
    pub(crate) async fn form(connection: &PipelinedConnection) -> Result<(), RedisError> {
        let mut command = cmd("SET");
        command.arg(KEY).arg(FORMING).arg("NX");
        connection.ask(&command).await?.extract_error().map(|_| ())
    }

    /// Sets the mark: the node had everything at this time.
    pub(crate) async fn set_whole(
        connection: &PipelinedConnection,
        at: Time,
    ) -> Result<(), RedisError> {
        let mut command = cmd("SET");
        command.arg(KEY).arg(at.0);
        connection.ask(&command).await?.extract_error().map(|_| ())
    }
}
