//! A socket between two nodes: greeted within a time, then used in one direction.

use super::credentials::Credentials;
use super::encryption::{Distrust, Encryption, first_byte};
use crate::clock::Clock;
use scurry_ledger::Time;
use socket2::{Domain, SockRef, TcpKeepalive, Type};
use std::io::{self, BufReader, IoSlice, Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

/// A connection and its greeting take so long at most, ms.
const GREETING_MS: i64 = 5_000;
/// A write that the other side does not take for so long ends the connection.
const WRITE_MAX: Duration = Duration::from_secs(10);
/// Bytes that the other side has not acknowledged for so long end the connection: after a network that was cut a
/// new one carries sooner than the next try of an old one.
pub(super) const UNHEARD_MAX: Duration = Duration::from_secs(2);
/// A connection that is not there after this is tried anew.
const CONNECT_MAX: Duration = Duration::from_secs(1);
/// A connection on which nothing came for so long is asked whether it is there.
const KEEPALIVE: Duration = Duration::from_secs(10);
/// Between two such questions.
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(5);
/// Answers that may be missing.
const KEEPALIVE_RETRIES: u32 = 3;

/// Bytes that are taken from a socket at once; longer reads go past the buffer.
const READ_LEN: usize = 64 << 10;
/// Bytes that are thrown away at most while a connection ends.
const REST_LEN_MAX: usize = 1 << 20;
/// The first byte of a TLS handshake, and of no greeting: RFC 8446 section 5.1.
const HANDSHAKE: u8 = 22;

/// The maker of sockets that are ready for use, plain ones or with TLS: one way for those that were dialled and one for
/// those that were accepted.
#[derive(Clone, Debug)]
pub(crate) struct Sockets {
    pub(super) clock: Clock,
    /// A connection and its greeting take so long at most, ms.
    pub(super) greeting_ms: i64,
    /// The certificate that this node shows; none for plain connections.
    pub(super) credentials: Option<Arc<Credentials>>,
}

impl Sockets {
    pub(crate) fn new(credentials: Option<Credentials>) -> Sockets {
        let credentials = credentials.map(Arc::new);
        Sockets { clock: Clock::start(Time(0)), greeting_ms: GREETING_MS, credentials }
    }

    /// The clock by which connections end.
    pub(crate) fn clock(&self) -> Clock {
        self.clock
    }

    /// A socket whose use may take so long until it is settled.
    pub(super) fn dialled(&self, stream: TcpStream, ms: i64) -> io::Result<Socket> {
        let ip = stream.peer_addr()?.ip();
        let wire = self.wire(stream, ms)?;
        let layer = match &self.credentials {
            None => Layer::Plain,
            Some(credentials) => {
                Layer::Tls(Box::new(Encryption::dialler(credentials.sides(), ip)?))
            }
        };
        Ok(Socket { wire, layer })
    }

    /// The same for one that was accepted, when its first byte is there: it tells whether the other side speaks TLS.
    pub(super) fn accepted(&self, stream: TcpStream, ms: i64) -> io::Result<Socket> {
        let mut wire = self.wire(stream, ms)?;
        let first = first_byte(&mut wire)?.ok_or(io::ErrorKind::UnexpectedEof)?;
        let speaks_tls = first == HANDSHAKE;
        let layer = match &self.credentials {
            None if speaks_tls => Layer::Stranger(TOO_MUCH),
            None => Layer::Plain,
            Some(credentials) if speaks_tls => {
                Layer::Tls(Box::new(Encryption::door(credentials.sides())?))
            }
            Some(_) => Layer::Stranger(TOO_LITTLE),
        };
        Ok(Socket { wire, layer })
    }

    fn wire(&self, stream: TcpStream, ms: i64) -> io::Result<BufReader<Timed>> {
        Ok(BufReader::with_capacity(READ_LEN, self.timed(stream, ms)?))
    }

    fn timed(&self, stream: TcpStream, ms: i64) -> io::Result<Timed> {
        stream.set_nodelay(true)?;
        let keepalive = TcpKeepalive::new()
            .with_time(KEEPALIVE)
            .with_interval(KEEPALIVE_INTERVAL)
            .with_retries(KEEPALIVE_RETRIES);
        SockRef::from(&stream).set_tcp_keepalive(&keepalive)?;
        SockRef::from(&stream).set_tcp_user_timeout(Some(UNHEARD_MAX))?;
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
        let within = Duration::from_millis(u64::try_from(ms).unwrap_or(0).max(1)).min(CONNECT_MAX);
        self.socket.connect_timeout(&address.into(), within)?;
        let stream: TcpStream = self.socket.into();
        // A port that nobody has may connect to itself where it is one of those that systems give away.
        if stream.local_addr()? == stream.peer_addr()? {
            return Err(io::ErrorKind::ConnectionRefused.into());
        }
        Ok(stream)
    }
}

/// Why a plain node is refused where TLS is spoken, and the other way round.
const TOO_LITTLE: &str = "nodes of this group speak TLS with each other and show certificates: start every one with \
                          --replicate-tls-cert, --replicate-tls-key and --replicate-tls-ca";
const TOO_MUCH: &str = "it speaks TLS, and this node speaks none with other nodes: start every node of a group with \
                        --replicate-tls-cert, --replicate-tls-key and --replicate-tls-ca, or none";

/// A connected socket.
pub(super) struct Socket {
    wire: BufReader<Timed>,
    layer: Layer,
}

/// The step between a socket's bytes and the wire's.
enum Layer {
    Plain,
    Tls(Box<Encryption>),
    /// The other side begins in another way than this node does: it can be told so, in plain words, and is not read.
    Stranger(&'static str),
}

impl Socket {
    /// From now on reads wait for ever and writes for some seconds.
    pub(super) fn settle(&mut self) -> io::Result<()> {
        let timed = self.timed();
        timed.until_ms = None;
        timed.stream.set_read_timeout(None)?;
        timed.stream.set_write_timeout(Some(WRITE_MAX))
    }

    /// From now on nothing waits: [`Socket::take`] and [`Socket::put`] say that they would.
    pub(super) fn set_nonblocking(&mut self) -> io::Result<()> {
        let timed = self.timed();
        timed.until_ms = None;
        // TCP takes a client at either end that reads nothing for a network that is cut.
        SockRef::from(&timed.stream).set_tcp_user_timeout(Some(WRITE_MAX))?;
        timed.stream.set_nonblocking(true)
    }

    /// Bytes that have come, where nothing waits. They come also while the other side takes none.
    pub(super) fn take(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        match &mut self.layer {
            Layer::Tls(encryption) => encryption.take(&mut self.wire, bytes),
            Layer::Plain | Layer::Stranger(_) => self.read(bytes),
        }
    }

    /// Sends as much as can be sent, where nothing waits. With TLS a part of it may stay until [`Socket::push`].
    pub(super) fn put(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.layer {
            Layer::Tls(encryption) => encryption.put(&mut self.wire, bytes),
            Layer::Plain | Layer::Stranger(_) => self.wire.get_mut().write(bytes),
        }
    }

    /// Sends what stayed.
    pub(super) fn push(&mut self) -> io::Result<()> {
        match &mut self.layer {
            Layer::Tls(encryption) => encryption.push(&mut self.wire),
            Layer::Plain | Layer::Stranger(_) => Ok(()),
        }
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

    /// Whether the other side may say that it is reached at this address. Without TLS nobody asks.
    pub(super) fn vouches_for(&self, ip: IpAddr) -> Result<(), String> {
        match &self.layer {
            Layer::Tls(encryption) => encryption.vouches_for(ip),
            Layer::Plain | Layer::Stranger(_) => Ok(()),
        }
    }

    /// The next write is the first with other keys.
    #[cfg(test)]
    pub(super) fn change_keys(&mut self) {
        let Layer::Tls(encryption) = &mut self.layer else { panic!("no TLS") };
        encryption.change_keys();
    }

    pub(super) fn close(&mut self) {
        // It may be closed already.
        let _ = self.timed().stream.shutdown(Shutdown::Both);
    }

    /// Closes a connection that has not been settled when the other side does, or when its time is over: to close it with
    /// bytes that nobody has read could take back the words that were sent last.
    pub(super) fn part(&mut self) {
        // It may be closed already.
        let _ = self.timed().stream.shutdown(Shutdown::Write);
        let (mut rest, mut left) = ([0; 4096], REST_LEN_MAX);
        while left > 0
            && let Ok(len @ 1..) = self.timed().read(&mut rest)
        {
            left = left.saturating_sub(len);
        }
    }

    fn timed(&mut self) -> &mut Timed {
        self.wire.get_mut()
    }
}

impl Read for Socket {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        match &mut self.layer {
            Layer::Plain => self.wire.read(bytes),
            Layer::Tls(encryption) => encryption.read(&mut self.wire, bytes),
            Layer::Stranger(words) => {
                Err(io::Error::new(io::ErrorKind::InvalidData, Distrust((*words).to_owned())))
            }
        }
    }
}

impl Write for Socket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_vectored(&[IoSlice::new(bytes)])
    }

    fn write_vectored(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        match &mut self.layer {
            Layer::Plain | Layer::Stranger(_) => self.wire.get_mut().write_vectored(slices),
            Layer::Tls(encryption) => encryption.write(&mut self.wire, slices),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
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
