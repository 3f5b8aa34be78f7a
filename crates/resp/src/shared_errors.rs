//! Error texts that every host shares.

/// Error of a command on a key of another kind.
pub const WRONG_TYPE: &str = "WRONGTYPE Operation against a key holding the wrong kind of value";
/// Error of a write when no memory is left.
pub const OUT_OF_MEMORY: &str = "OOM command not allowed when used memory > 'maxmemory'.";

/// Error of a request with keys of several hash slots, as nodes of a cluster write it.
pub const CROSS_SLOT: &str = "CROSSSLOT Keys in request don't hash to the same slot";
/// The same for a chain, whose accounts must be in one slot everywhere.
pub const CHAIN_CROSS_SLOT: &str = "CROSSSLOT Keys in request don't hash to the same slot: all accounts of a \
     chain have to, so give them one hash tag, such as {org-7}:team-1 and {org-7}:key-9";

/// Error of a server that was started without a log.
pub const NO_LOG: &str = "ERR events are read from the log, and this server keeps none: start it with \
                          --durability write or fsync";
/// Error of the module, whose host keeps the log.
pub const NO_LOG_OF_MODULE: &str =
    "ERR a Valkey node keeps no log of Scurry: use scurry serve for it";
/// Error of the module, whose host only finds keys.
pub const NO_INDEX_OF_MODULE: &str =
    "ERR accounts are not found by identity on a Valkey node: keep such a list yourself";

/// Reports whether an error means that the store lacks something that the command needs, and will lack it as long as it
/// runs in this configuration.
pub fn is_unsupported_error(error: &str) -> bool {
    [NO_LOG, NO_LOG_OF_MODULE, NO_INDEX_OF_MODULE].contains(&error)
}
