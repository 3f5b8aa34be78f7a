//! Counters of the server about itself, for INFO.

/// Counts since the start, or since CONFIG RESETSTAT.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counters {
    pub(crate) connections_accepted: u64,
    pub(crate) connections_refused: u64,
    /// Closed while unauthenticated: too late, or evicted.
    pub(crate) connections_shown_out: u64,
    pub(crate) commands: u64,
    pub(crate) errors: u64,
    pub(crate) protocol_errors: u64,
    pub(crate) bytes_in: u64,
    pub(crate) bytes_out: u64,
    pub(crate) hits: u64,
    pub(crate) misses: u64,
    /// Counted by one core for all.
    pub(crate) clock_set_back: u64,
}

impl Counters {
    /// Adds the counts of another core.
    pub(crate) fn add(&mut self, other: &Counters) {
        let Counters {
            connections_accepted,
            connections_refused,
            connections_shown_out,
            commands,
            errors,
            protocol_errors,
            bytes_in,
            bytes_out,
            hits,
            misses,
            clock_set_back,
        } = other;
        self.connections_accepted += connections_accepted;
        self.connections_refused += connections_refused;
        self.connections_shown_out += connections_shown_out;
        self.commands += commands;
        self.errors += errors;
        self.protocol_errors += protocol_errors;
        self.bytes_in += bytes_in;
        self.bytes_out += bytes_out;
        self.hits += hits;
        self.misses += misses;
        self.clock_set_back += clock_set_back;
    }
}
