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

/// A server that was started without a log.
pub const NO_LOG: &str = "ERR events are read from the log, and this server keeps none: start it with \
                          --durability write or fsync";
/// A module, whose host has a log of its own.
pub const NO_LOG_OF_MODULE: &str =
    "ERR a Valkey node keeps no log of Scurry: use scurry serve for it";
/// A module, whose host knows keys alone.
pub const NO_INDEX_OF_MODULE: &str =
    "ERR accounts are not found by identity on a Valkey node: keep such a list yourself";

/// True for an error of a store that has not what a command needs, and never will as it was started.
pub fn is_lack(error: &str) -> bool {
    [NO_LOG, NO_LOG_OF_MODULE, NO_INDEX_OF_MODULE].contains(&error)
}
