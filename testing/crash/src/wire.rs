//! A connection: requests go out many at a time, replies come back one by one.

use anyhow::{Context, Result, bail, ensure};
use scurry_conformance::Value;
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

/// A reply that takes longer is none.
const PATIENCE: Duration = Duration::from_secs(20);

/// The arguments of a request.
pub type Words = Vec<Vec<u8>>;

/// A request from words of text, split at spaces.
pub fn words(line: &str) -> Words {
    line.split(' ').map(|word| word.as_bytes().to_vec()).collect()
}

/// One client of a server, in RESP3.
pub struct Wire {
    stream: TcpStream,
    input: Vec<u8>,
    read: usize,
}

impl Wire {
    /// Connects to a server of this machine.
    pub fn connect(port: u16) -> Result<Wire> {
        Wire::connect_to(("127.0.0.1", port))
    }

    /// Connects.
    pub fn connect_to(address: impl ToSocketAddrs) -> Result<Wire> {
        Wire::connect_within(address, PATIENCE)
    }

    /// Connects, for who does not wait longer than this for anything.
    pub fn connect_within(address: impl ToSocketAddrs, patience: Duration) -> Result<Wire> {
        let address = address.to_socket_addrs()?.next().context("no address")?;
        let stream =
            TcpStream::connect_timeout(&address, patience).context("it does not listen")?;
        stream.set_read_timeout(Some(patience))?;
        stream.set_write_timeout(Some(patience))?;
        stream.set_nodelay(true)?;
        let mut wire = Wire { stream, input: Vec::new(), read: 0 };
        let hello = wire.ask(&words("HELLO 3"))?;
        ensure!(matches!(hello, Value::Map(_)), "HELLO 3 answers {hello}");
        Ok(wire)
    }

    /// Sends requests with one call.
    pub fn send(&mut self, requests: &[Words]) -> Result<()> {
        let mut bytes = Vec::new();
        for request in requests {
            write!(bytes, "*{}\r\n", request.len())?;
            for word in request {
                write!(bytes, "${}\r\n", word.len())?;
                bytes.extend_from_slice(word);
                bytes.extend_from_slice(b"\r\n");
            }
        }
        Ok(self.stream.write_all(&bytes)?)
    }

    /// The next reply. An error when none comes any more.
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

    /// One request and its reply.
    pub fn ask(&mut self, request: &Words) -> Result<Value> {
        self.send(std::slice::from_ref(request))?;
        self.reply()
    }

    /// Many requests, their replies in their order.
    pub fn ask_all(&mut self, requests: &[Words]) -> Result<Vec<Value>> {
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

/// The entry of a map.
pub fn entry<'v>(map: &'v Value, name: &str) -> Result<&'v Value> {
    let Value::Map(entries) = map else { bail!("not a map: {map}") };
    let found = entries.iter().find(|(key, _)| *key == Value::Word(name.as_bytes().to_vec()));
    Ok(&found.with_context(|| format!("no {name} in {map}"))?.1)
}

/// The elements of an array.
pub fn array(value: &Value) -> Result<&[Value]> {
    match value {
        Value::Array(items) => Ok(items),
        other => bail!("not an array: {other}"),
    }
}

/// An integer.
pub fn int(value: &Value) -> Result<i128> {
    match value {
        Value::Int(value) => Ok(*value),
        other => bail!("not an integer: {other}"),
    }
}

/// A word as text.
pub fn text(value: &Value) -> Result<String> {
    match value {
        Value::Word(bytes) => Ok(String::from_utf8_lossy(bytes).into_owned()),
        other => bail!("not a word: {other}"),
    }
}
