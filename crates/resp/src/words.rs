//! Words of Redis that every host says alike.

/// A command on a key of another kind.
pub const WRONG_TYPE: &str = "WRONGTYPE Operation against a key holding the wrong kind of value";
/// A write when memory is short.
pub const OUT_OF_MEMORY: &str = "OOM command not allowed when used memory > 'maxmemory'.";

/// The error of keys of several hash slots, as nodes of a cluster have it.
pub const CROSS_SLOT: &str = "CROSSSLOT Keys in request don't hash to the same slot";
/// The same of a chain: its accounts are of one slot everywhere.
pub const CHAIN_CROSS_SLOT: &str = "CROSSSLOT Keys in request don't hash to the same slot: all accounts of a \
     chain have to, so give them one hash tag, such as {org-7}:team-1 and {org-7}:key-9";
