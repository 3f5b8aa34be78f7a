//! How a tool reaches a server: address, user and TLS. The options are those of redis-cli; the `redis` crate parses the
//! replies.

use crate::terminal_escape::escaped;
use crate::tls_options::TlsOptions;
use anyhow::{Context, Result, bail};
use clap::{ArgAction, Args};
use rustls::{ClientConnection, StreamOwned};
use scurry_cluster_client::RetryInterrupted;
use scurry_cluster_client::redis::{Cmd, ErrorKind, Parser, RedisError, ServerError, Value};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::time::Duration;

pub(crate) const CONNECT_PATIENCE: Duration = Duration::from_secs(5);
const HOST: &str = "127.0.0.1";
const PORT: u16 = 6389;

/// Server, user and TLS options.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct ServerAddress {
    /// The server; the same as -h HOST -p PORT
    #[arg(long, value_name = "HOST:PORT", conflicts_with_all = ["host", "port"])]
    address: Option<String>,

    /// Host of the server
    #[arg(short = 'h', long, value_name = "HOST", default_value = HOST)]
    host: String,

    /// Port of the server
    #[arg(short = 'p', long, value_name = "PORT", default_value_t = PORT)]
    port: u16,

    /// User, with a password; without a user the password is that of the default one
    #[arg(long, value_name = "NAME", requires = "password")]
    user: Option<String>,

    /// Password. Prefer the environment: a command line can be read by every user of the machine
    #[arg(
        short = 'a',
        long,
        visible_alias = "pass",
        value_name = "PASSWORD",
        env = "SCURRY_PASSWORD",
        hide_env_values = true
    )]
    password: Option<String>,

    #[command(flatten)]
    tls: TlsOptions,

    /// Print help
    #[arg(long, action = ArgAction::Help)]
    help: Option<bool>,
}

/// Stream for commands and replies.
pub(crate) trait Stream: Read + Write {
    /// Reports, without blocking, whether the server is known to have closed the connection.
    fn has_ended(&self) -> bool {
        false
    }

    /// Returns the timeout of a reply, if known.
    fn patience(&self) -> Option<Duration> {
        None
    }
}

impl Stream for TcpStream {
    fn has_ended(&self) -> bool {
        if self.set_nonblocking(true).is_err() {
            return true;
        }
        let seen = self.peek(&mut [0]);
        let is_quiet = |error: &io::Error| error.kind() == io::ErrorKind::WouldBlock;
        let has_ended = match &seen {
            Ok(bytes) => *bytes == 0,
            Err(error) => !is_quiet(error),
        };
        has_ended || self.set_nonblocking(false).is_err()
    }

    fn patience(&self) -> Option<Duration> {
        self.read_timeout().ok().flatten()
    }
}

impl Stream for StreamOwned<ClientConnection, TcpStream> {
    fn has_ended(&self) -> bool {
        self.sock.has_ended()
    }

    fn patience(&self) -> Option<Duration> {
        self.sock.patience()
    }
}

impl ServerAddress {
    /// Returns a server at `HOST:PORT` without password or TLS.
    pub(crate) fn plain(address: &str) -> ServerAddress {
        ServerAddress::default().at(address)
    }

    /// Returns another server with the same user and TLS.
    pub(crate) fn at(&self, address: &str) -> ServerAddress {
        ServerAddress { address: Some(address.to_owned()), ..self.clone() }
    }

    /// Returns `HOST:PORT`, for messages and for name resolution.
    pub(crate) fn address(&self) -> String {
        let host = self.host.trim_start_matches('[').trim_end_matches(']');
        match &self.address {
            Some(address) => address.clone(),
            None if host.contains(':') => format!("[{host}]:{}", self.port),
            None => format!("{host}:{}", self.port),
        }
    }

    /// Returns the words of AUTH, if a password is set.
    pub(crate) fn auth(&self) -> Option<Vec<&str>> {
        let password = self.password.as_deref()?;
        Some(["AUTH"].into_iter().chain(self.user.as_deref()).chain([password]).collect())
    }

    pub(crate) fn has_tls(&self) -> bool {
        self.tls.is_on()
    }

    /// Connects. `patience` is the timeout of a reply.
    pub(crate) fn connect(&self, patience: Duration) -> Result<Box<dyn Stream + Send>> {
        self.tls.check()?;
        let stream = self.first(|address| {
            let stream = TcpStream::connect_timeout(&address, CONNECT_PATIENCE)?;
            stream.set_read_timeout(Some(patience))?;
            stream.set_nodelay(true)?;
            Ok(stream)
        })?;
        if !self.tls.is_on() {
            return Ok(Box::new(stream));
        }
        Ok(Box::new(self.tls.secure(stream, &self.address(), patience)?))
    }

    /// Returns the result of `open` for the first address of the host at which it succeeds.
    pub(crate) fn first<T>(&self, open: impl Fn(SocketAddr) -> io::Result<T>) -> Result<T> {
        let address = self.address();
        let has_port =
            address.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
        let wrong = || {
            if has_port {
                format!("the host in {address:?} is not known here")
            } else {
                format!("{address:?} is no address: write HOST:PORT")
            }
        };
        let mut refusal = None;
        for address in address.to_socket_addrs().with_context(wrong)? {
            match open(address) {
                Ok(stream) => return Ok(stream),
                Err(error) => refusal = Some(error),
            }
        }
        let cure = || {
            format!(
                "no server answers at {address}: is it running there? `scurry serve` starts one, \
                 and -h HOST -p PORT name another"
            )
        };
        match refusal {
            Some(error) => Err(error).with_context(cure),
            None => bail!(wrong()),
        }
    }
}

/// Sends a command and returns its reply, which may be an error of the server. A peer that does not speak RESP gives an
/// error of kind `InvalidData`.
pub(crate) fn ask<'a>(
    server: &mut dyn Stream,
    words: impl IntoIterator<Item = &'a [u8]>,
) -> io::Result<Value> {
    send(server, words)?;
    // Only one command is under way, in RESP2, so no bytes follow its reply.
    read(&mut Parser::new(), server, || false)
}

/// Sends a command without waiting for the reply.
pub(crate) fn send<'a>(
    server: &mut dyn Stream,
    words: impl IntoIterator<Item = &'a [u8]>,
) -> io::Result<()> {
    let mut command = Cmd::new();
    for word in words {
        command.arg(word);
    }
    server.write_all(&command.get_packed_command())?;
    server.flush()
}

/// Reads a value. The parser keeps the bytes that follow it. A signal interrupts the wait if `is_over` is true then.
pub(crate) fn read(
    parser: &mut Parser,
    server: &mut dyn Stream,
    is_over: impl Fn() -> bool,
) -> io::Result<Value> {
    let patience = server.patience();
    parser.parse_value(RetryInterrupted::until(server, is_over)).map_err(|error: RedisError| {
        match error.kind() {
            ErrorKind::Parse => io::Error::new(
                io::ErrorKind::InvalidData,
                "what answers does not speak RESP: is it a port for TLS (--tls) or for HTTP?",
            ),
            _ if error.is_timeout() => late(patience),
            _ if error.is_connection_dropped() => {
                io::Error::new(io::ErrorKind::UnexpectedEof, "the connection was closed")
            }
            _ => io::Error::other(error),
        }
    })
}

fn late(patience: Option<Duration>) -> io::Error {
    let within =
        patience.map_or(String::new(), |patience| format!(" within {} s", patience.as_secs()));
    io::Error::new(io::ErrorKind::TimedOut, format!("no reply{within}"))
}

/// Formats the error of a refused AUTH on one line, with advice if the server has no password at all.
pub(crate) fn refused_password(error: &ServerError) -> String {
    let text = error_text(error);
    if text.starts_with("ERR AUTH <password> called without any password") {
        return format!(
            "{text} Leave -a (SCURRY_PASSWORD) away, or start the server with --requirepass."
        );
    }
    text
}

pub(crate) fn error_text(error: &ServerError) -> String {
    let text = format!("{} {}", error.code(), error.details().unwrap_or_default());
    escaped(text.trim_end())
}
