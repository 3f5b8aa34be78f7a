//! One connection of the load: requests are pipelined, nothing blocks, and replies come in the order of the requests.

use super::request::{Meaning, Request};
use anyhow::{Result, bail};
use scurry_resp::client::Stop;
use std::collections::VecDeque;
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

/// Requests under way at most.
const DEPTH: usize = 256;
/// Timeout of connecting. A node that runs answers at once, and the load does nothing else meanwhile.
const CONNECT_PATIENCE: Duration = Duration::from_millis(100);
/// Time after which a request counts as lost with its connection, ns.
const PATIENCE_NS: i64 = 3_000_000_000;
/// Time for which a node that refuses or cannot be reached is left alone, ns.
const REST_NS: i64 = 20_000_000;
/// Bytes of one read.
const CHUNK: usize = 65_536;

/// A connection to one node after another.
pub(super) struct Connection {
    stream: Option<TcpStream>,
    /// Number of the node.
    pub(super) node: usize,
    rests_until_ns: i64,
    output: Vec<u8>,
    input: Vec<u8>,
    in_flight: VecDeque<Request>,
}

impl Connection {
    /// Makes one that is not connected yet.
    pub(super) fn new(node: usize) -> Connection {
        let (output, input) = (Vec::new(), Vec::new());
        let in_flight = VecDeque::new();
        Connection { stream: None, node, rests_until_ns: 0, output, input, in_flight }
    }

    /// Reports whether it is connected and not at rest, and has room for a request.
    pub(super) fn has_room(&self, now_ns: i64) -> bool {
        let is_ready = self.stream.is_some() && now_ns >= self.rests_until_ns;
        is_ready && self.in_flight.len() < DEPTH
    }

    /// Reports whether it should be connected to a node now.
    pub(super) fn is_idle(&self, now_ns: i64) -> bool {
        self.stream.is_none() && now_ns >= self.rests_until_ns
    }

    pub(super) fn len(&self) -> usize {
        self.in_flight.len()
    }

    /// Connects to a node, or rests.
    pub(super) fn connect(&mut self, node: usize, address: &(String, u16), now_ns: i64) {
        self.node = node;
        match open(address) {
            Ok(stream) => self.stream = Some(stream),
            Err(_) => self.rest(now_ns),
        }
    }

    /// Begins no request for a moment.
    pub(super) fn rest(&mut self, now_ns: i64) {
        self.rests_until_ns = now_ns + REST_NS;
    }

    /// Appends a request, which [`Connection::flush`] sends.
    pub(super) fn begin(&mut self, mut request: Request, now_ns: i64) {
        request.append(&mut self.output);
        request.sent_ns = now_ns;
        self.in_flight.push_back(request);
    }

    /// Reports whether its oldest request has waited for too long.
    pub(super) fn is_silent(&self, now_ns: i64) -> bool {
        let sent_ns = self.in_flight.front().map(|request| request.sent_ns);
        sent_ns.is_some_and(|sent_ns| now_ns - sent_ns > PATIENCE_NS)
    }

    /// Closes it. Returns the requests without an answer, which may have been executed.
    pub(super) fn close(&mut self, now_ns: i64) -> impl Iterator<Item = Request> {
        self.stream = None;
        self.rest(now_ns);
        self.output.clear();
        self.input.clear();
        let all = std::mem::take(&mut self.in_flight);
        all.into_iter().map(|request| Request { is_in_doubt: true, ..request })
    }

    /// Sends what can be sent at once. Fails if the peer is gone.
    pub(super) fn flush(&mut self) -> Result<()> {
        let Some(stream) = &mut self.stream else { return Ok(()) };
        let mut sent = 0;
        while sent < self.output.len() {
            match stream.write(&self.output[sent..]) {
                Ok(len) => sent += len,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => bail!(error),
            }
        }
        self.output.drain(..sent);
        Ok(())
    }

    /// Reads what has arrived, and passes on each request with the meaning of its reply. Fails if the peer is gone.
    pub(super) fn receive(
        &mut self,
        now_ns: i64,
        mut each: impl FnMut(Request, Meaning),
    ) -> Result<()> {
        let Some(stream) = &mut self.stream else { return Ok(()) };
        let mut is_gone = false;
        loop {
            let start = self.input.len();
            self.input.resize(start + CHUNK, 0);
            let len = stream.read(&mut self.input[start..]);
            self.input.truncate(start + *len.as_ref().unwrap_or(&0));
            match len {
                Ok(0) => is_gone = true,
                Ok(CHUNK) => continue,
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(_) => is_gone = true,
            }
            break;
        }
        let mut read = 0;
        while let Some(request) = self.in_flight.front() {
            match request.read(&self.input[read..], now_ns) {
                Ok((len, meaning)) => {
                    each(*request, meaning);
                    self.in_flight.pop_front();
                    read += len;
                }
                Err(Stop::Incomplete) => break,
                Err(Stop::Malformed) => {
                    let shown = self.input[read..].escape_ascii().to_string();
                    let shown: String = shown.chars().take(200).collect();
                    each(*request, Meaning::Wrong(format!("{request:?} is answered {shown}")));
                    is_gone = true;
                    break;
                }
            }
        }
        self.input.drain(..read);
        // What a peer says that was asked nothing is its farewell.
        if is_gone || (self.in_flight.is_empty() && !self.input.is_empty()) {
            bail!("the peer is gone");
        }
        Ok(())
    }

    /// Returns its descriptor, and whether it waits for room to write. None if it is not connected.
    pub(super) fn descriptor(&self) -> Option<(BorrowedFd<'_>, bool)> {
        self.stream.as_ref().map(|stream| (stream.as_fd(), !self.output.is_empty()))
    }
}

fn open(address: &(String, u16)) -> Result<TcpStream> {
    let (host, port) = address;
    let Some(address) = (host.as_str(), *port).to_socket_addrs()?.next() else {
        bail!("no address")
    };
    let stream = TcpStream::connect_timeout(&address, CONNECT_PATIENCE)?;
    stream.set_nodelay(true)?;
    stream.set_nonblocking(true)?;
    Ok(stream)
}
