//! A connection that pipelines requests and reads the replies one by one.

use anyhow::{Context, Result, bail, ensure};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use scurry_conformance::Value;
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Timeout of a reply.
const PATIENCE: Duration = Duration::from_secs(20);

/// Arguments of a request.
pub type RequestWords = Vec<Vec<u8>>;

/// Splits a line at spaces into the words of a request.
pub fn words(line: &str) -> RequestWords {
    line.split(' ').map(|word| word.as_bytes().to_vec()).collect()
}

/// The CA that a client of ports with TLS trusts.
#[derive(Clone, Debug)]
pub struct Trust(Arc<ClientConfig>);

impl Trust {
    /// Reads a CA certificate, in PEM.
    pub fn read(ca: &Path) -> Result<Trust> {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_file(ca).context("a CA certificate")?)?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider);
        let builder = builder.with_safe_default_protocol_versions()?;
        Ok(Trust(Arc::new(builder.with_root_certificates(roots).with_no_client_auth())))
    }
}

/// Bytes in both directions.
pub trait ByteStream: Read + Write + Send {}

impl<T: Read + Write + Send> ByteStream for T {}

/// Opens a connection with this timeout for connecting, reading and writing; with TLS if there is something to trust.
pub fn dial(
    address: impl ToSocketAddrs,
    patience: Duration,
    trust: Option<&Trust>,
) -> Result<Box<dyn ByteStream>> {
    let address = address.to_socket_addrs()?.next().context("no address")?;
    let stream = TcpStream::connect_timeout(&address, patience).context("it does not listen")?;
    stream.set_read_timeout(Some(patience))?;
    stream.set_write_timeout(Some(patience))?;
    stream.set_nodelay(true)?;
    let Some(Trust(config)) = trust else { return Ok(Box::new(stream)) };
    let client = ClientConnection::new(config.clone(), ServerName::from(address.ip()))?;
    Ok(Box::new(StreamOwned::new(client, stream)))
}

/// A connection to a server, in RESP3.
pub struct Wire {
    stream: Box<dyn ByteStream>,
    input: Vec<u8>,
    read: usize,
}

impl Wire {
    /// Connects to a server on this machine.
    pub fn connect(port: u16) -> Result<Wire> {
        Wire::connect_to(("127.0.0.1", port))
    }

    /// Connects to a server.
    pub fn connect_to(address: impl ToSocketAddrs) -> Result<Wire> {
        Wire::connect_within(address, PATIENCE)
    }

    /// Connects with this timeout for connecting, reading and writing.
    pub fn connect_within(address: impl ToSocketAddrs, patience: Duration) -> Result<Wire> {
        Wire::over(dial(address, patience, None)?)
    }

    /// Begins on a new connection.
    pub fn over(stream: Box<dyn ByteStream>) -> Result<Wire> {
        let mut wire = Wire { stream, input: Vec::new(), read: 0 };
        let hello = wire.ask(&words("HELLO 3"))?;
        ensure!(matches!(hello, Value::Map(_)), "HELLO 3 answers {hello}");
        Ok(wire)
    }

    /// Sends requests with one write.
    pub fn send(&mut self, requests: &[RequestWords]) -> Result<()> {
        let mut bytes = Vec::new();
        for request in requests {
            write!(bytes, "*{}\r\n", request.len())?;
            for word in request {
                write!(bytes, "${}\r\n", word.len())?;
                bytes.extend_from_slice(word);
                bytes.extend_from_slice(b"\r\n");
            }
        }
        self.stream.write_all(&bytes)?;
        // Behind TLS bytes may wait in the client.
        Ok(self.stream.flush()?)
    }

    /// Returns the next reply. Fails if none arrives.
    pub fn reply(&mut self) -> Result<Value> {
        let mut chunk = [0; 65_536];
        loop {
            if let Some((value, len)) = Value::read(&self.input[self.read..])? {
                self.read += len;
                return Ok(value);
            }
            self.input.drain(..self.read);
            self.read = 0;
            let len = match self.stream.read(&mut chunk) {
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                len => len.context("no reply")?,
            };
            if len == 0 {
                bail!("the server has closed the connection");
            }
            self.input.extend_from_slice(&chunk[..len]);
        }
    }

    /// Sends one request and returns its reply.
    pub fn ask(&mut self, request: &RequestWords) -> Result<Value> {
        self.send(std::slice::from_ref(request))?;
        self.reply()
    }

    /// Sends many requests and returns their replies in order.
    pub fn ask_all(&mut self, requests: &[RequestWords]) -> Result<Vec<Value>> {
        let mut replies = Vec::with_capacity(requests.len());
        for some in requests.chunks(256) {
            self.send(some)?;
            for _ in some {
                replies.push(self.reply()?);
            }
        }
        Ok(replies)
    }
}

/// Returns the value of a map's entry.
pub fn entry<'v>(map: &'v Value, name: &str) -> Result<&'v Value> {
    let Value::Map(entries) = map else { bail!("not a map: {map}") };
    let found = entries.iter().find(|(key, _)| *key == Value::Word(name.as_bytes().to_vec()));
    Ok(&found.with_context(|| format!("no {name} in {map}"))?.1)
}

/// Returns the elements of an array.
pub fn array(value: &Value) -> Result<&[Value]> {
    match value {
        Value::Array(items) => Ok(items),
        other => bail!("not an array: {other}"),
    }
}

/// Returns an integer.
pub fn int(value: &Value) -> Result<i128> {
    match value {
        Value::Int(value) => Ok(*value),
        other => bail!("not an integer: {other}"),
    }
}

/// Returns a word as text.
pub fn text(value: &Value) -> Result<String> {
    match value {
        Value::Word(bytes) => Ok(String::from_utf8_lossy(bytes).into_owned()),
        other => bail!("not a word: {other}"),
    }
}
