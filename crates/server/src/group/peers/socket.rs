//! A socket between two nodes: greeted within a time, then used in one direction.

use crate::clock::Clock;
use scurry_ledger::Time;
use socket2::{Domain, SockRef, TcpKeepalive, Type};
use std::io::{self, IoSlice, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::Duration;

/// A connection and its greeting take so long at most, ms.
const GREETING_MS: i64 = 5_000;
/// A write that the other side does not take for so long ends the connection.
const WRITE_MAX: Duration = Duration::from_secs(10);
/// A connection on which nothing came for so long is asked whether it is there.
const KEEPALIVE: Duration = Duration::from_secs(10);
/// Between two such questions.
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(5);
/// Answers that may be missing.
const KEEPALIVE_RETRIES: u32 = 3;

/// The maker of sockets that are ready for use: one way for those that were dialled and one for those that were accepted.
#[derive(Clone, Debug)]
pub(super) struct Sockets {
    pub(super) clock: Clock,
    /// A connection and its greeting take so long at most, ms.
    pub(super) greeting_ms: i64,
}

impl Sockets {
    pub(super) fn new() -> Sockets {
        Sockets { clock: Clock::start(Time(0)), greeting_ms: GREETING_MS }
    }

    /// A socket whose use may take so long until it is settled.
    pub(super) fn dialled(&self, stream: TcpStream, ms: i64) -> io::Result<Socket> {
        Ok(Socket { plain: self.timed(stream, ms)? })
    }

    /// The same for one that was accepted.
    pub(super) fn accepted(&self, stream: TcpStream, ms: i64) -> io::Result<Socket> {
        Ok(Socket { plain: self.timed(stream, ms)? })
    }

    fn timed(&self, stream: TcpStream, ms: i64) -> io::Result<Timed> {
        stream.set_nodelay(true)?;
        let keepalive = TcpKeepalive::new()
            .with_time(KEEPALIVE)
            .with_interval(KEEPALIVE_INTERVAL)
            .with_retries(KEEPALIVE_RETRIES);
        SockRef::from(&stream).set_tcp_keepalive(&keepalive)?;
        let until_ms = Some(self.clock.read().uptime_ms + ms);
        Ok(Timed { stream, clock: self.clock, until_ms })
    }
}

/// A socket that is not connected yet; a copy of it can be shut down by another thread meanwhile.
pub(super) struct Dialling {
    socket: socket2::Socket,
}

impl Dialling {
    pub(super) fn new(address: SocketAddr) -> io::Result<Dialling> {
        Ok(Dialling {
            socket: socket2::Socket::new(Domain::for_address(address), Type::STREAM, None)?,
        })
    }

    /// Another name of the socket.
    pub(super) fn copy(&self) -> io::Result<TcpStream> {
        Ok(self.socket.try_clone()?.into())
    }

    pub(super) fn connect(self, address: SocketAddr, ms: i64) -> io::Result<TcpStream> {
        let within = Duration::from_millis(u64::try_from(ms).unwrap_or(0).max(1));
        self.socket.connect_timeout(&address.into(), within)?;
        let stream: TcpStream = self.socket.into();
        // A port that nobody has may connect to itself where it is one of those that systems give away.
        if stream.local_addr()? == stream.peer_addr()? {
            return Err(io::ErrorKind::ConnectionRefused.into());
        }
        Ok(stream)
    }
}

/// A connected socket.
pub(super) struct Socket {
    plain: Timed,
}

impl Socket {
    /// From now on reads wait for ever and writes for some seconds.
    pub(super) fn settle(&mut self) -> io::Result<()> {
        let timed = self.timed();
        timed.until_ms = None;
        timed.stream.set_read_timeout(None)?;
        timed.stream.set_write_timeout(Some(WRITE_MAX))
    }

    /// More time, from now on.
    pub(super) fn allow(&mut self, ms: i64) {
        let timed = self.timed();
        timed.until_ms = Some(timed.clock.read().uptime_ms + ms);
    }

    /// Another name of the socket.
    pub(super) fn copy(&mut self) -> io::Result<TcpStream> {
        self.timed().stream.try_clone()
    }

    pub(super) fn close(&mut self) {
        // It may be closed already.
        let _ = self.timed().stream.shutdown(Shutdown::Both);
    }

    fn timed(&mut self) -> &mut Timed {
        &mut self.plain
    }
}

impl Read for Socket {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.plain.read(bytes)
    }
}

impl Write for Socket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.plain.write(bytes)
    }

    fn write_vectored(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        self.plain.write_vectored(slices)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.plain.flush()
    }
}

/// A stream whose reads and writes end at a time, all together.
struct Timed {
    stream: TcpStream,
    clock: Clock,
    until_ms: Option<i64>,
}

impl Timed {
    /// The time that is left; none for no end.
    fn left(&self) -> io::Result<Option<Duration>> {
        let Some(until_ms) = self.until_ms else { return Ok(None) };
        match u64::try_from(until_ms - self.clock.read().uptime_ms) {
            Ok(ms @ 1..) => Ok(Some(Duration::from_millis(ms))),
            _ => Err(io::ErrorKind::TimedOut.into()),
        }
    }
}

impl Read for Timed {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        if let Some(left) = self.left()? {
            self.stream.set_read_timeout(Some(left))?;
        }
        self.stream.read(bytes)
    }
}

impl Write for Timed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_vectored(&[IoSlice::new(bytes)])
    }

    fn write_vectored(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        if let Some(left) = self.left()? {
            self.stream.set_write_timeout(Some(left))?;
        }
        self.stream.write_vectored(slices)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
