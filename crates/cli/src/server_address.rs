//! How a tool reaches a server: address, user and TLS. The options are those of redis-cli; the `redis` crate parses the
//! replies.

use crate::terminal_escape::escaped;
use anyhow::{Context, Result, bail, ensure};
use clap::{ArgAction, Args};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{CertificateError, ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use scurry_cluster_client::RetryInterrupted;
use scurry_cluster_client::redis::{Cmd, ErrorKind, Parser, RedisError, ServerError, Value};
use scurry_tls::tls_words;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::sync::Arc;
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

    /// Speak TLS; wants --cacert
    #[arg(long)]
    tls: bool,

    /// Certificates that the server's must come from (PEM)
    #[arg(long, value_name = "FILE", requires = "tls")]
    cacert: Option<PathBuf>,

    /// Certificate of this client, for servers that demand one (PEM)
    #[arg(long, value_name = "FILE", requires_all = ["tls", "key"])]
    cert: Option<PathBuf>,

    /// Private key of that certificate (PEM)
    #[arg(long, value_name = "FILE", requires_all = ["tls", "cert"])]
    key: Option<PathBuf>,

    /// Name that the server's certificate must have, where it is not the host
    #[arg(long, value_name = "NAME", requires = "tls")]
    sni: Option<String>,

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
        self.tls
    }

    /// Connects. `patience` is the timeout of a reply.
    pub(crate) fn connect(&self, patience: Duration) -> Result<Box<dyn Stream + Send>> {
        ensure!(!self.tls || self.cacert.is_some(), without_ca());
        let stream = self.first(|address| {
            let stream = TcpStream::connect_timeout(&address, CONNECT_PATIENCE)?;
            stream.set_read_timeout(Some(patience))?;
            stream.set_nodelay(true)?;
            Ok(stream)
        })?;
        if !self.tls {
            return Ok(Box::new(stream));
        }
        let name = match &self.sni {
            Some(name) => name.clone(),
            None => self.address().rsplit_once(':').map_or_else(String::new, |(host, _)| {
                host.trim_start_matches('[').trim_end_matches(']').to_owned()
            }),
        };
        let wrong = || format!("{name:?} is no name of a host: give one with --sni");
        let server = ServerName::try_from(name.clone()).with_context(wrong)?;
        let config = Arc::new(self.config()?);
        let mut stream = StreamOwned::new(ClientConnection::new(config, server)?, stream);
        if let Err(error) = stream.conn.complete_io(&mut stream.sock) {
            let why = self.explain_handshake_error(&error, patience);
            bail!("no TLS was agreed on with {}: {why}", self.address());
        }
        Ok(Box::new(stream))
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

    /// Explains a failed TLS handshake, with advice for common mistakes.
    fn explain_handshake_error(&self, error: &io::Error, patience: Duration) -> String {
        let fault = error.get_ref().and_then(|error| error.downcast_ref::<rustls::Error>());
        match (fault, error.kind()) {
            (_, io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => late(Some(patience)).to_string(),
            (Some(rustls::Error::InvalidCertificate(CertificateError::UnknownIssuer)), _) => {
                let ca = self.cacert.as_deref().unwrap_or(Path::new("--cacert")).display();
                format!(
                    "the server's certificate is signed by no CA in {ca}: give the file of the CA that has signed it, or \
                     of the certificate itself where that is self-signed"
                )
            }
            (Some(fault), _) if fault.to_string().contains("CaUsedAsEndEntity") => {
                "the server shows the certificate of a CA itself, as `openssl req -x509` makes one: make one for the \
                 server, signed by that CA or, self-signed, with -addext basicConstraints=critical,CA:FALSE"
                    .to_owned()
            }
            (Some(fault @ rustls::Error::InvalidCertificate(_)), _) => {
                format!("the server's certificate is refused: {}", tls_words(fault))
            }
            _ => format!("{error}: does it speak TLS on this port?"),
        }
    }

    fn config(&self) -> Result<ClientConfig> {
        let mut roots = RootCertStore::empty();
        if let Some(path) = &self.cacert {
            for certificate in certificates(path)? {
                roots.add(certificate).with_context(|| format!("in {}", path.display()))?;
            }
        }
        let config = ClientConfig::builder().with_root_certificates(roots);
        let Some((cert, key)) = self.cert.as_deref().zip(self.key.as_deref()) else {
            return Ok(config.with_no_client_auth());
        };
        let wrong = || format!("no private key in {}", key.display());
        let of_key = PrivateKeyDer::from_pem_file(key).with_context(wrong)?;
        let fits = || format!("{} does not fit to {}", key.display(), cert.display());
        config.with_client_auth_cert(certificates(cert)?, of_key).with_context(fits)
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

/// CA files of common systems, in the order in which they are looked for.
const SYSTEM_CAS: [&str; 3] =
    ["/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem"];

/// Returns the advice for TLS without a CA. Certificates of stores nearly always come from the owner's private CA, so
/// the CAs of the system are not trusted by default.
fn without_ca() -> String {
    let of_system = SYSTEM_CAS.into_iter().find(|path| Path::new(path).exists());
    let of_system = of_system.map_or_else(String::new, |path| {
        format!(". For a certificate of a public CA that is {path} on this machine")
    });
    format!(
        "--tls wants --cacert FILE: the CA that has signed the server's certificate, or the certificate itself where it \
         is self-signed{of_system}"
    )
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

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>> {
    let wrong = || format!("no certificates in {}", path.display());
    let all: Vec<_> = CertificateDer::pem_file_iter(path)
        .with_context(wrong)?
        .collect::<Result<_, _>>()
        .with_context(wrong)?;
    ensure!(!all.is_empty(), wrong());
    Ok(all)
}
