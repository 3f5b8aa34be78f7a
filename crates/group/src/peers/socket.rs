//! A socket between two nodes. The greeting has a time limit; after it the socket is used in one direction.

use super::credentials::Credentials;
use super::encryption::{CertificateFault, Encryption, first_byte};
use crate::clock::Clock;
use scurry_ledger::Time;
use socket2::{Domain, SockRef, TcpKeepalive, Type};
use std::io::{self, BufReader, IoSlice, Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

/// Time limit for the greeting of a connection, ms. It also bounds connecting, see [`CONNECT_MAX`].
const GREETING_MS: i64 = 5_000;
/// Longest write. If the other side accepts nothing for so long, the connection ends.
const WRITE_MAX: Duration = Duration::from_secs(10);
/// How long sent bytes may stay unacknowledged before the connection ends. After a network cut, a new connection works
/// sooner than the next retransmission on an old one.
pub(super) const UNHEARD_MAX: Duration = Duration::from_secs(2);
/// Time limit for connecting, after which the caller tries again.
const CONNECT_MAX: Duration = Duration::from_secs(1);
/// Time without received bytes after which the kernel probes the connection.
const KEEPALIVE: Duration = Duration::from_secs(10);
/// Interval between two probes.
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(5);
/// Probes without an answer after which the connection ends.
const KEEPALIVE_RETRIES: u32 = 3;

/// Bytes that one read takes from a socket. Longer reads bypass the buffer.
const READ_LEN: usize = 64 << 10;
/// Most bytes that are discarded while a connection is being closed.
const REST_LEN_MAX: usize = 1 << 20;
/// The first byte of a TLS handshake, which no greeting begins with: RFC 8446 section 5.1.
const HANDSHAKE: u8 = 22;

/// Prepares sockets for use, plain or with TLS: one function for dialled ones, and one for accepted ones.
#[derive(Clone, Debug)]
pub struct Sockets {
    pub(super) clock: Clock,
    /// Time limit for the greeting of a connection, ms.
    pub(super) greeting_ms: i64,
    /// The certificate of this node. None for plain connections.
    pub(super) credentials: Option<Arc<Credentials>>,
}

impl Sockets {
    /// Creates it with the certificate of this node; None for plain connections.
    pub fn new(credentials: Option<Credentials>) -> Sockets {
        let credentials = credentials.map(Arc::new);
        Sockets { clock: Clock::start(Time(0)), greeting_ms: GREETING_MS, credentials }
    }

    /// Returns the clock that the time limits use.
    pub fn clock(&self) -> Clock {
        self.clock
    }

    /// Prepares a dialled socket. The time limit holds until [`Socket::settle`].
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

    /// Prepares an accepted socket. It waits for the first byte, which shows whether the other side speaks TLS.
    pub(super) fn accepted(&self, stream: TcpStream, ms: i64) -> io::Result<Socket> {
        let mut wire = self.wire(stream, ms)?;
        let first = first_byte(&mut wire)?.ok_or(io::ErrorKind::UnexpectedEof)?;
        let speaks_tls = first == HANDSHAKE;
        let layer = match &self.credentials {
            None if speaks_tls => Layer::TlsMismatch(TOO_MUCH),
            None => Layer::Plain,
            Some(credentials) if speaks_tls => {
                Layer::Tls(Box::new(Encryption::door(credentials.sides())?))
            }
            Some(_) => Layer::TlsMismatch(TOO_LITTLE),
        };
        Ok(Socket { wire, layer })
    }

    fn wire(&self, stream: TcpStream, ms: i64) -> io::Result<BufReader<TimedSocket>> {
        Ok(BufReader::with_capacity(READ_LEN, self.timed(stream, ms)?))
    }

    fn timed(&self, stream: TcpStream, ms: i64) -> io::Result<TimedSocket> {
        stream.set_nodelay(true)?;
        let keepalive = TcpKeepalive::new()
            .with_time(KEEPALIVE)
            .with_interval(KEEPALIVE_INTERVAL)
            .with_retries(KEEPALIVE_RETRIES);
        SockRef::from(&stream).set_tcp_keepalive(&keepalive)?;
        SockRef::from(&stream).set_tcp_user_timeout(Some(UNHEARD_MAX))?;
        let until_ms = Some(self.clock.read().uptime_ms + ms);
        Ok(TimedSocket { stream, clock: self.clock, until_ms })
    }
}

/// A socket that is not connected yet. Another thread can shut down a copy of it meanwhile.
pub(super) struct DialledSocket {
    socket: socket2::Socket,
}

impl DialledSocket {
    pub(super) fn new(address: SocketAddr) -> io::Result<DialledSocket> {
        Ok(DialledSocket {
            socket: socket2::Socket::new(Domain::for_address(address), Type::STREAM, None)?,
        })
    }

    /// Returns a second handle of the same socket.
    pub(super) fn copy(&self) -> io::Result<TcpStream> {
        Ok(self.socket.try_clone()?.into())
    }

    pub(super) fn connect(self, address: SocketAddr, ms: i64) -> io::Result<TcpStream> {
        let within = Duration::from_millis(u64::try_from(ms).unwrap_or(0).max(1)).min(CONNECT_MAX);
        self.socket.connect_timeout(&address.into(), within)?;
        let stream: TcpStream = self.socket.into();
        // Connecting to a local port in the ephemeral range on which no process listens can connect the socket to
        // itself.
        if stream.local_addr()? == stream.peer_addr()? {
            return Err(io::ErrorKind::ConnectionRefused.into());
        }
        Ok(stream)
    }
}

/// Why a plain connection is refused where nodes use TLS, and the other way round.
const TOO_LITTLE: &str = "nodes of this group speak TLS with each other and show certificates: start every one with \
                          --replicate-tls-cert, --replicate-tls-key and --replicate-tls-ca";
const TOO_MUCH: &str = "it speaks TLS, and this node speaks none with other nodes: start every node of a group with \
                        --replicate-tls-cert, --replicate-tls-key and --replicate-tls-ca, or none";

/// A connected socket.
pub(super) struct Socket {
    wire: BufReader<TimedSocket>,
    layer: Layer,
}

/// The layer between the caller's bytes and those on the wire.
enum Layer {
    Plain,
    Tls(Box<Encryption>),
    /// The other side uses TLS and this node does not, or the other way round. The reason can be written to it in plain
    /// bytes, and reads fail with it.
    TlsMismatch(&'static str),
}

impl Socket {
    /// Ends the time limit: from now on reads wait without limit, and writes for [`WRITE_MAX`].
    pub(super) fn settle(&mut self) -> io::Result<()> {
        let timed = self.timed();
        timed.until_ms = None;
        timed.stream.set_read_timeout(None)?;
        timed.stream.set_write_timeout(Some(WRITE_MAX))
    }

    /// Makes the socket non-blocking and ends the time limit. [`Socket::read_available`] and [`Socket::put`] then return
    /// `WouldBlock` instead of waiting.
    pub(super) fn set_nonblocking(&mut self) -> io::Result<()> {
        let timed = self.timed();
        timed.until_ms = None;
        // A client at either end that reads nothing looks to TCP like a cut network, so it gets more time here.
        SockRef::from(&timed.stream).set_tcp_user_timeout(Some(WRITE_MAX))?;
        timed.stream.set_nonblocking(true)
    }

    /// Reads bytes that have arrived, on a non-blocking socket. It works even while the other side reads nothing.
    pub(super) fn read_available(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        match &mut self.layer {
            Layer::Tls(encryption) => encryption.read_available(&mut self.wire, bytes),
            Layer::Plain | Layer::TlsMismatch(_) => self.read(bytes),
        }
    }

    /// Sends as many bytes as possible, on a non-blocking socket. With TLS some may stay queued until [`Socket::push`].
    pub(super) fn put(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.layer {
            Layer::Tls(encryption) => encryption.put(&mut self.wire, bytes),
            Layer::Plain | Layer::TlsMismatch(_) => self.wire.get_mut().write(bytes),
        }
    }

    /// Sends the bytes that [`Socket::put`] has queued.
    pub(super) fn push(&mut self) -> io::Result<()> {
        match &mut self.layer {
            Layer::Tls(encryption) => encryption.push(&mut self.wire),
            Layer::Plain | Layer::TlsMismatch(_) => Ok(()),
        }
    }

    /// Sets how many bytes the system keeps unsent at most. A write then waits until it has fewer.
    pub(super) fn keep_unsent(&mut self, bytes: u32) -> io::Result<()> {
        SockRef::from(&self.timed().stream).set_tcp_notsent_lowat(bytes)
    }

    /// Sets a new time limit that begins now.
    pub(super) fn allow(&mut self, ms: i64) {
        let timed = self.timed();
        timed.until_ms = Some(timed.clock.read().uptime_ms + ms);
    }

    /// Returns a second handle of the same socket.
    pub(super) fn copy(&mut self) -> io::Result<TcpStream> {
        self.timed().stream.try_clone()
    }

    /// Checks that the certificate of the other side is for this address. Without TLS nothing is checked.
    pub(super) fn check_certificate_ip(&self, ip: IpAddr) -> Result<(), String> {
        match &self.layer {
            Layer::Tls(encryption) => encryption.vouches_for(ip),
            Layer::Plain | Layer::TlsMismatch(_) => Ok(()),
        }
    }

    /// Changes the keys of TLS with the next write.
    #[cfg(test)]
    pub(super) fn change_keys(&mut self) {
        let Layer::Tls(encryption) = &mut self.layer else { panic!("no TLS") };
        encryption.change_keys();
    }

    pub(super) fn close(&mut self) {
        // An error means that it is closed already.
        let _ = self.timed().stream.shutdown(Shutdown::Both);
    }

    /// Closes a connection before it is settled. It waits until the other side closes or the time limit ends, and
    /// discards what arrives: closing a socket with unread bytes resets the connection, and the last message could be
    /// lost.
    pub(super) fn close_gracefully(&mut self) {
        // An error means that it is closed already.
        let _ = self.timed().stream.shutdown(Shutdown::Write);
        let (mut rest, mut left) = ([0; 4096], REST_LEN_MAX);
        while left > 0
            && let Ok(len @ 1..) = self.timed().read(&mut rest)
        {
            left = left.saturating_sub(len);
        }
    }

    fn timed(&mut self) -> &mut TimedSocket {
        self.wire.get_mut()
    }
}

impl Read for Socket {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        match &mut self.layer {
            Layer::Plain => self.wire.read(bytes),
            Layer::Tls(encryption) => encryption.read(&mut self.wire, bytes),
            Layer::TlsMismatch(words) => Err(io::Error::new(
                io::ErrorKind::InvalidData,
                CertificateFault((*words).to_owned()),
            )),
        }
    }
}

impl Write for Socket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_vectored(&[IoSlice::new(bytes)])
    }

    fn write_vectored(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        match &mut self.layer {
            Layer::Plain | Layer::TlsMismatch(_) => self.wire.get_mut().write_vectored(slices),
            Layer::Tls(encryption) => encryption.write(&mut self.wire, slices),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A stream with one time limit for all its reads and writes.
struct TimedSocket {
    stream: TcpStream,
    clock: Clock,
    until_ms: Option<i64>,
}

impl TimedSocket {
    /// Returns the time that is left. None without a limit. An error if it is over.
    fn left(&self) -> io::Result<Option<Duration>> {
        let Some(until_ms) = self.until_ms else { return Ok(None) };
        match u64::try_from(until_ms - self.clock.read().uptime_ms) {
            Ok(ms @ 1..) => Ok(Some(Duration::from_millis(ms))),
            _ => Err(io::ErrorKind::TimedOut.into()),
        }
    }
}

impl Read for TimedSocket {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        if let Some(left) = self.left()? {
            self.stream.set_read_timeout(Some(left))?;
        }
        self.stream.read(bytes)
    }
}

impl Write for TimedSocket {
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
