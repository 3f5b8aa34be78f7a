//! Why a door does not open.

use scurry_tls::TlsError;
use std::io;
use std::net::SocketAddr;
use thiserror::Error;

/// Why a door does not open.
#[derive(Debug, Error)]
pub enum StartError {
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
