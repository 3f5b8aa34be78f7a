//! A plain blocking connection for everything that is not the load: setting up, the probe and
//! the audit.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::resp::{Stop, Value, encode, skip};

/// How long one reply may take.
const REPLY_TIMEOUT: Duration = Duration::from_secs(30);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
/// Requests that are written before the replies to the batch before them are read.
const BATCH: usize = 256;

/// A blocking connection.
#[derive(Debug)]
pub struct Client {
    stream: TcpStream,
    received: Vec<u8>,
    at: usize,
}

impl Client {
    /// Connects.
    ///
    /// # Errors
    /// When nobody listens there.
    pub fn connect(address: SocketAddr) -> Result<Client> {
        let stream = TcpStream::connect_timeout(&address, CONNECT_TIMEOUT)
            .with_context(|| format!("connecting to {address}"))?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(REPLY_TIMEOUT))?;
        stream.set_write_timeout(Some(REPLY_TIMEOUT))?;
        Ok(Client { stream, received: Vec::new(), at: 0 })
    }

    /// Sends one request and waits for its reply.
    ///
    /// # Errors
    /// When the connection fails. An error reply is a value.
    pub fn call<A: AsRef<[u8]>>(&mut self, arguments: &[A]) -> Result<Value> {
        Ok(self.call_measured(arguments)?.0)
    }

    /// As [`Client::call`], with the reply's length in bytes.
    ///
    /// # Errors
    /// When the connection fails.
    pub fn call_measured<A: AsRef<[u8]>>(&mut self, arguments: &[A]) -> Result<(Value, usize)> {
        self.stream.write_all(&encode(arguments)).context("sending a request")?;
        self.read_value()
    }

    /// Sends `count` requests, pipelined, and hands the bytes of each reply to `accept`.
    ///
    /// # Errors
    /// When the connection fails, or with the first error of `accept`.
    pub fn pipeline(
        &mut self,
        count: usize,
        mut append: impl FnMut(usize, &mut Vec<u8>),
        mut accept: impl FnMut(usize, &[u8]) -> Result<()>,
    ) -> Result<()> {
        let (mut sent, mut answered) = (0, 0);
        let mut out = Vec::new();
        while answered < count {
            out.clear();
            let end = count.min(sent + BATCH);
            for index in sent..end {
                append(index, &mut out);
            }
            self.stream.write_all(&out).context("sending a batch of requests")?;
            // The replies to the batch before this one: two batches are on their way at most.
            let until = if end == count { count } else { sent };
            while answered < until {
                let length = self.read_reply()?;
                accept(answered, &self.received[self.at..self.at + length])?;
                self.at += length;
                answered += 1;
            }
            sent = end;
        }
        Ok(())
    }

    fn read_value(&mut self) -> Result<(Value, usize)> {
        let length = self.read_reply()?;
        let (_, value) = Value::read(&self.received[self.at..self.at + length])?;
        self.at += length;
        Ok((value, length))
    }

    /// Reads until there is a whole reply, and gives its length.
    fn read_reply(&mut self) -> Result<usize> {
        loop {
            match skip(&self.received[self.at..]) {
                Ok(length) => return Ok(length),
                Err(Stop::Malformed) => bail!("the server's reply is not RESP"),
                Err(Stop::Incomplete) => {}
            }
            self.received.drain(..self.at);
            self.at = 0;
            let mut chunk = [0; 65_536];
            match self.stream.read(&mut chunk).context("waiting for a reply")? {
                0 => bail!("the server closed the connection"),
                count => self.received.extend_from_slice(&chunk[..count]),
            }
        }
    }
}
