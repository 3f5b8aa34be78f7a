//! The connection of a client: a socket with one deadline for all reads and writes of a step, over TCP or TLS.

use crate::tls_options::TlsOptions;
use anyhow::{Context, Result, bail};
use rustls::{ClientConnection, StreamOwned};
use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

/// Returns the time.
#[expect(clippy::disallowed_methods, reason = "a tool: timeouts, and how long answers took")]
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// A socket whose reads and writes end at the deadline, however slowly bytes come.
#[derive(Debug)]
struct Timed {
    socket: TcpStream,
    deadline: Instant,
}

impl Timed {
    fn left(&self) -> io::Result<Option<Duration>> {
        let left = self.deadline.saturating_duration_since(now());
        if left.is_zero() { Err(io::ErrorKind::TimedOut.into()) } else { Ok(Some(left)) }
    }
}

impl Read for Timed {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.socket.set_read_timeout(self.left()?)?;
        self.socket.read(buffer)
    }
}

impl Write for Timed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.socket.set_write_timeout(self.left()?)?;
        self.socket.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.socket.flush()
    }
}

/// A connection over TCP or TLS.
#[derive(Debug)]
pub(crate) enum Wire {
    Plain(PlainWire),
    Tls(Box<TlsWire>),
}

/// A connection over TCP.
#[derive(Debug)]
pub(crate) struct PlainWire(Timed);

/// A connection over TLS.
#[derive(Debug)]
pub(crate) struct TlsWire(StreamOwned<ClientConnection, Timed>);

impl Wire {
    /// Connects to `HOST:PORT` within `patience`, and agrees on TLS if the options say so.
    pub(crate) fn connect(address: &str, tls: &TlsOptions, patience: Duration) -> Result<Wire> {
        let deadline = now() + patience;
        let wrong = || format!("the host in {address:?} is not known here");
        let mut refusal = None;
        for one in address.to_socket_addrs().with_context(wrong)? {
            let left = deadline.saturating_duration_since(now()).max(Duration::from_millis(1));
            let connected = TcpStream::connect_timeout(&one, left);
            match connected.and_then(|socket| socket.set_nodelay(true).map(|()| socket)) {
                Ok(socket) => {
                    let timed = Timed { socket, deadline };
                    return Ok(if tls.is_on() {
                        Wire::Tls(Box::new(TlsWire(tls.secure(timed, address, patience)?)))
                    } else {
                        Wire::Plain(PlainWire(timed))
                    });
                }
                Err(error) => refusal = Some(error),
            }
        }
        match refusal {
            Some(error) if is_late(&error) => {
                bail!("{address} does not answer within {}", seconds(patience))
            }
            Some(error) => Err(error).with_context(|| {
                format!(
                    "no server listens at {address}: is it running there, and is this its port?"
                )
            }),
            None => bail!(wrong()),
        }
    }

    /// Reports whether it speaks TLS.
    pub(crate) fn is_tls(&self) -> bool {
        matches!(self, Wire::Tls(_))
    }

    /// Sets the end of all later reads and writes.
    pub(crate) fn set_deadline(&mut self, deadline: Instant) {
        match self {
            Wire::Plain(PlainWire(timed)) => timed.deadline = deadline,
            Wire::Tls(tls) => tls.0.sock.deadline = deadline,
        }
    }

    pub(crate) fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Wire::Plain(PlainWire(timed)) => timed.write_all(bytes),
            Wire::Tls(tls) => tls.0.write_all(bytes).and_then(|()| tls.0.flush()),
        }
    }

    pub(crate) fn receive(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Wire::Plain(PlainWire(timed)) => timed.read(buffer),
            Wire::Tls(tls) => tls.0.read(buffer),
        }
    }
}

/// Reports whether a timeout has ended it.
pub(crate) fn is_late(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock)
}

/// Formats a timeout.
pub(crate) fn seconds(patience: Duration) -> String {
    format!("{} s", patience.as_secs_f64())
}
