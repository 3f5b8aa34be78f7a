//! The reasons why a door does not open, whoever finds them.

use scurry_engine::NODE_MAX;
use scurry_server::TlsError;
use std::io;
use std::net::SocketAddr;
use thiserror::Error;

/// Nodes at most.
pub(crate) const NODES_MAX: usize = 64;

/// Reason why a door does not open.
#[derive(Debug, Error)]
pub enum StartError {
    /// Neither entities nor charging.
    #[error(
        "there is nothing to serve: say --store HOST:PORT, --nodes HOST:PORT,HOST:PORT, or both"
    )]
    Nothing,
    /// Too many nodes.
    #[error("there are {0} nodes, and may be {NODES_MAX} at most")]
    Nodes(usize),
    /// A node is not named well.
    #[error("the node `{0}` is not HOST:PORT")]
    Node(String),
    /// A node is named twice.
    #[error("the node `{0}` is named twice")]
    Twice(String),
    /// Not a number of a door.
    #[error("the number of this door is {0}, and must be 0 to {NODE_MAX}")]
    Number(u16),
    /// Somebody else listens there.
    #[error(
        "cannot listen on {0}: the address is in use. Stop what listens there, or choose another \
         port with {1} (port 0 takes a free one)"
    )]
    AddressInUse(SocketAddr, &'static str),
    /// The address cannot be listened on.
    #[error("cannot listen on {address}: {source}. Choose another address with {option}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The option that names it.
        option: &'static str,
        /// The system's error.
        source: io::Error,
    },
    /// Everybody could come in.
    #[error(
        "refusing to open the HTTP door on {0} to everybody: anyone who reaches this address could \
         see and change what is kept. Give users (docs/access.md), or demand certificates of clients \
         (--tls-client-ca), or say so in as many words with {1}"
    )]
    OpenAccess(SocketAddr, &'static str),
    /// Not names of hosts.
    #[error("{0} names at most {1} hosts, each without a scheme and a port: scurry.example")]
    Hosts(&'static str, usize),
    /// The files of TLS.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// No threads.
    #[error("cannot start threads: {0}")]
    Threads(#[source] io::Error),
}
