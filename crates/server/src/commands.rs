//! The handlers of commands, by what they are about.

pub(crate) mod about;
pub(crate) mod acl;
pub(crate) mod auth;
pub(crate) mod cluster;
pub(crate) mod config;
pub(crate) mod connection;
pub(crate) mod info;
pub(crate) mod keys;
pub(crate) mod scur;

/// Redis's words for options that a command does not know.
const SYNTAX_ERROR: &str = "ERR syntax error";
/// Redis's words for a number that is none.
const NOT_AN_INTEGER: &str = "ERR value is not an integer or out of range";
/// Redis's words for a command on a key of another kind.
const WRONG_TYPE: &str = "WRONGTYPE Operation against a key holding the wrong kind of value";
/// Redis's words for a write when memory is short.
const OUT_OF_MEMORY: &str = "OOM command not allowed when used memory > 'maxmemory'.";
