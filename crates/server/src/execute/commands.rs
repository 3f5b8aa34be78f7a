//! The handlers of commands, one module per topic.

pub(crate) mod about;
pub(crate) mod accounts;
pub(crate) mod auth;
pub(crate) mod chain;
pub(crate) mod cluster;
pub(crate) mod config;
pub(crate) mod connection;
pub(crate) mod entity;
pub(crate) mod events;
#[cfg(test)]
pub(crate) mod example_view;
pub(crate) mod expiry;
pub(crate) mod info;
pub(crate) mod keys;
pub(crate) mod latency;
pub(crate) mod numbers;
pub(crate) mod object;
pub(crate) mod replication;
pub(crate) mod scan;
pub(crate) mod scur;
pub(crate) mod sentinel;
pub(crate) mod shutdown;
pub(crate) mod slowlog;
pub(crate) mod subscribe;
pub(crate) mod tracking;
pub(crate) mod values;

use scurry_engine::WriteError;
use scurry_resp::{OUT_OF_MEMORY, Reply, WRONG_TYPE};
use std::fmt::Write;

/// Redis's error for options that a command does not know.
const SYNTAX_ERROR: &str = "ERR syntax error";
/// Redis's error for an argument that is not a number.
const NOT_AN_INTEGER: &str = "ERR value is not an integer or out of range";

/// Error of commands that only a node of a group can answer.
pub(crate) const NO_GROUP: &str =
    "ERR this server is no node of a group: serve with --replicate makes it one";

/// Writes the error of a write that the engine refuses, in Redis's words where it has them.
fn write_error(error: WriteError, reply: &mut Reply<'_>) {
    match error {
        WriteError::WrongType => reply.error(WRONG_TYPE),
        WriteError::OutOfMemory => reply.error(OUT_OF_MEMORY),
        WriteError::KeyTooLong | WriteError::ValueTooLong | WriteError::VersionAhead => {
            reply.error(format_args!("ERR {error}"));
        }
    }
}

/// Text of INFO, built line by line.
struct Lines(String);

impl Lines {
    pub(crate) fn line(&mut self, name: &str, value: impl std::fmt::Display) {
        // Writing to a string cannot fail.
        let _ = write!(self.0, "{name}:{value}\r\n");
    }
}
