//! Words of Redis that every host says alike.

/// A command on a key of another kind.
pub const WRONG_TYPE: &str = "WRONGTYPE Operation against a key holding the wrong kind of value";
/// A write when memory is short.
pub const OUT_OF_MEMORY: &str = "OOM command not allowed when used memory > 'maxmemory'.";

/// The error of keys of several hash slots, as nodes of a cluster have it.
pub const CROSS_SLOT: &str = "CROSSSLOT Keys in request don't hash to the same slot";
