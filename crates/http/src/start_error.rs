//! Why a door does not open: the errors of all its parts.

use scurry_engine::NODE_MAX;
use scurry_server::TlsError;
use std::io;
use std::net::SocketAddr;
use thiserror::Error;

/// Maximum number of nodes.
pub(crate) const NODES_MAX: usize = 64;

/// Why a door does not open.
#[derive(Debug, Error)]
pub enum StartError {
    /// The settings name neither entities nor charging.
    #[error(
        "there is nothing to serve: say --store HOST:PORT, --nodes HOST:PORT,HOST:PORT, or both"
    )]
    Nothing,
    /// The settings name too many nodes.
    #[error("there are {0} nodes, and may be {NODES_MAX} at most")]
    Nodes(usize),
    /// A node is not `HOST:PORT`.
    #[error("the node `{0}` is not HOST:PORT")]
    Node(String),
    /// A node is named twice.
    #[error("the node `{0}` is named twice")]
    Twice(String),
    /// The number of the door is out of range.
    #[error("the number of this door is {0}, and must be 0 to {NODE_MAX}")]
    Number(u16),
    /// Another process listens on the address.
    #[error(
        "cannot listen on {0}: the address is in use. Stop what listens there, or choose another \
         port with {1} (port 0 takes a free one)"
    )]
    AddressInUse(SocketAddr, &'static str),
    /// The system refuses to listen on the address.
    #[error("cannot listen on {address}: {source}. Choose another address with {option}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The option that sets it.
        option: &'static str,
        /// The system's error.
        source: io::Error,
    },
    /// The door would be open to every client that reaches the address.
    #[error(
        "refusing to open the HTTP door on {0} to everybody: anyone who reaches this address could \
         see and change what is kept. Give users (docs/access.md), or demand certificates of clients \
         (--tls-client-ca), or say so in as many words with {1}"
    )]
    OpenAccess(SocketAddr, &'static str),
    /// The host names are not valid, or there are too many.
    #[error("{0} names at most {1} hosts, each without a scheme and a port: scurry.example")]
    Hosts(&'static str, usize),
    /// A TLS file cannot be used.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The system refuses to start threads.
    #[error("cannot start threads: {0}")]
    Threads(#[source] io::Error),
}
