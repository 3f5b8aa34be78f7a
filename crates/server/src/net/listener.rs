//! Accepts connections: bounded per turn, refused above the limit with Redis's text.

use crate::settings::{Settings, StartError};
use mio::net::{TcpListener, TcpStream};
use socket2::{Domain, Socket, Type};
use std::io::{self, Write};
use std::net::SocketAddr;
use std::time::Duration;

/// Silence after which TCP probes a peer.
pub(crate) const KEEPALIVE: Duration = Duration::from_secs(300);
/// Unanswered probes after which a peer counts as gone.
const KEEPALIVE_RETRIES: u32 = 3;

/// Longest backlog that the system allows. When the backlog is full, a connection attempt is lost and its client
/// retries a second later; a core that does not run for four milliseconds has 128 waiting.
const BACKLOG: i32 = i32::MAX;

/// Listens, even where connections of a former server linger in the system.
pub(crate) fn listen(address: SocketAddr) -> Result<TcpListener, StartError> {
    open(address).map_err(|source| match source.kind() {
        io::ErrorKind::AddrInUse => StartError::AddressInUse(address),
        _ => StartError::Listen { address, source },
    })
}

fn open(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
    socket.set_reuse_address(true)?;
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    Ok(TcpListener::from_std(socket.into()))
}

/// Returns the address of each core's own port. With one core the list is empty: its port is the main one.
pub(crate) fn core_addresses(
    settings: &Settings,
    main: SocketAddr,
) -> Result<Vec<SocketAddr>, StartError> {
    // In a group the core's port tells a client whether this node leads, while the main one serves all clients.
    if settings.threads == 1 && settings.group.is_none() {
        return Ok(Vec::new());
    }
    // If the system chooses the main port, it chooses the core ports too.
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

/// Accepts the next connection; None when none waits.
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

/// Sends small replies without delay, and enables keepalive to detect peers that vanish.
pub(crate) fn tune(stream: &TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let keepalive = socket2::TcpKeepalive::new()
        .with_time(KEEPALIVE)
        .with_interval(KEEPALIVE / KEEPALIVE_RETRIES)
        .with_retries(KEEPALIVE_RETRIES);
    socket2::SockRef::from(stream).set_tcp_keepalive(&keepalive)
}

/// Tells a client that too many are connected.
pub(crate) fn refuse(mut stream: TcpStream) {
    // The socket's buffer is empty, so this does not block. If the peer is gone, the failure does not matter.
    let _ = stream.write(b"-ERR max number of clients reached\r\n");
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    const PATIENCE: Duration = Duration::from_secs(60);

    #[test]
    fn as_many_may_wait_as_the_system_allows() {
        let most = std::fs::read_to_string("/proc/sys/net/core/somaxconn").expect("it is told");
        let most: usize = most.trim().parse().expect("a number");
        let listener = listen((Ipv4Addr::LOCALHOST, 0).into()).expect("a port is free");
        let address = listener.local_addr().expect("it has one");
        // The server accepts none of them.
        let connect = |_| std::net::TcpStream::connect_timeout(&address, PATIENCE);
        let waiting: io::Result<Vec<_>> = (0..most.min(300)).map(connect).collect();
        assert!(waiting.is_ok(), "{waiting:?}");
    }
}
