//! Addresses of connections for answers that may arrive after the connection has closed and another has taken its
//! place.

/// A connection of a core. The client number distinguishes it from a later connection with the same key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ticket {
    /// Key among the core's connections.
    pub(crate) key: usize,
    /// Number of the client.
    pub(crate) client: u64,
}

/// The address of an answer: core, connection, and the client that it had, because the connection's key may have passed
/// to another client since.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sender {
    pub(crate) core: u16,
    pub(crate) connection: usize,
    pub(crate) client: u64,
}
