//! Names of connections that outlive them: whoever answers one later may find another in its place.

/// Which connection of a core is meant. The number of the client tells it from a later one in the same
/// place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ticket {
    /// Place among the core's connections.
    pub(crate) key: usize,
    /// Number of the client.
    pub(crate) client: u64,
}

/// Where an answer goes: a connection of a core, and the client that it was, because the
/// connection's number may have passed to another client since.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sender {
    pub(crate) core: u16,
    pub(crate) connection: usize,
    pub(crate) client: u64,
}
