//! Connections that are open and silent: what a server pays for those who do not speak.

use std::net::{SocketAddr, TcpStream};

use anyhow::{Context, Result};

/// Opens connections that stay silent.
///
/// # Errors
/// When there are too many for this machine's limits.
pub(super) fn connect(address: SocketAddr, count: usize) -> Result<Vec<TcpStream>> {
    let connect = |_| TcpStream::connect(address);
    (0..count).map(connect).collect::<Result<_, _>>().context("opening idle connections")
}
