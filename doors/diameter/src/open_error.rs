//! Why the door does not open.

use crate::settings_error::SettingsError;
use scurry_tls::TlsError;
use std::io;
use std::net::SocketAddr;

/// Why the door does not open.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// A setting is wrong.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// Another process listens on the address.
    #[error(
        "cannot listen on {0}: the address is in use. Stop what listens there, or choose another port in \
         [diameter] (port 0 takes a free one)"
    )]
    AddressInUse(SocketAddr),
    /// The system refuses to listen on the address.
    #[error("cannot listen on {address}: {source}. Choose another address in [diameter]")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The system's error.
        source: io::Error,
    },
    /// The build has no SCTP.
    #[error(
        "sctp_listen: this build has no SCTP. Build it with `--features sctp`, or leave sctp_listen out"
    )]
    WithoutSctp,
    /// A file of TLS cannot be used.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The system refuses to start a thread.
    #[error("cannot start threads: {0}")]
    Threads(#[source] io::Error),
    /// The system has no random numbers.
    #[error("cannot read random numbers of the system: {0}")]
    Random(#[source] getrandom::Error),
}
