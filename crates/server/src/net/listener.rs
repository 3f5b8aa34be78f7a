//! Accepts connections: bounded per turn, refused above the limit in Redis's words.

use crate::settings::{Settings, StartError};
use mio::net::{TcpListener, TcpStream};
use std::io::{self, Write};
use std::net::SocketAddr;
use std::time::Duration;

/// A peer that has been silent this long is asked whether it is there.
pub(crate) const KEEPALIVE: Duration = Duration::from_secs(300);
/// Answers that may be missing before it is taken for gone.
const KEEPALIVE_RETRIES: u32 = 3;

/// Listens. `SO_REUSEADDR` is set, and the backlog is the longest that the system allows.
pub(crate) fn listen(address: SocketAddr) -> Result<TcpListener, StartError> {
    TcpListener::bind(address).map_err(|source| match source.kind() {
        io::ErrorKind::AddrInUse => StartError::AddressInUse(address),
        _ => StartError::Listen { address, source },
    })
}

/// The address of each core's own port. With one core there is none: its port is the main one.
pub(crate) fn core_addresses(
    settings: &Settings,
    main: SocketAddr,
) -> Result<Vec<SocketAddr>, StartError> {
    // In a group its port tells a client whether this node leads; the main one serves everybody.
    if settings.threads == 1 && settings.group.is_none() {
        return Ok(Vec::new());
    }
    // A main port that was free gets core ports that are free.
    let first = settings.core_port.unwrap_or(match settings.listen.port() {
        0 => 0,
        port => port.checked_add(1).ok_or(StartError::CorePorts)?,
    });
    (0..settings.threads)
        .map(|core| {
            let port = match first {
                0 => 0,
                first => first.checked_add(core).ok_or(StartError::CorePorts)?,
            };
            Ok(SocketAddr::new(main.ip(), port))
        })
        .collect()
}

/// The next connection, none when there is none for now.
pub(crate) fn accept(listener: &TcpListener) -> io::Result<Option<(TcpStream, SocketAddr)>> {
    loop {
        match listener.accept() {
            Ok(accepted) => return Ok(Some(accepted)),
            Err(error) => match error.kind() {
                io::ErrorKind::WouldBlock => return Ok(None),
                // The peer gave up while it waited.
                io::ErrorKind::ConnectionAborted | io::ErrorKind::Interrupted => {}
                _ => return Err(error),
            },
        }
    }
}

/// No delay of small replies, and news of peers that vanish.
pub(crate) fn tune(stream: &TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let keepalive = socket2::TcpKeepalive::new()
        .with_time(KEEPALIVE)
        .with_interval(KEEPALIVE / KEEPALIVE_RETRIES)
        .with_retries(KEEPALIVE_RETRIES);
    socket2::SockRef::from(stream).set_tcp_keepalive(&keepalive)
}

/// Tells a client that there are too many.
pub(crate) fn refuse(mut stream: TcpStream) {
    // The socket's buffer is empty, so this does not block; a peer that is gone loses nothing.
    let _ = stream.write(b"-ERR max number of clients reached\r\n");
}
