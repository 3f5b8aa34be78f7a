//! What the server counts about itself, for INFO.

/// Since the start, or since CONFIG RESETSTAT.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counters {
    pub(crate) connections_accepted: u64,
    pub(crate) connections_refused: u64,
    pub(crate) commands: u64,
    pub(crate) errors: u64,
    pub(crate) protocol_errors: u64,
    pub(crate) bytes_in: u64,
    pub(crate) bytes_out: u64,
    pub(crate) hits: u64,
    pub(crate) misses: u64,
}
