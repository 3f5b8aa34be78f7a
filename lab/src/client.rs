//! A plain blocking connection for everything but the load: setup, probe and audit.

use std::collections::{BTreeMap, VecDeque};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::resp::{Stop, Value, encode, skip};
use crate::routes::Routes;
use crate::wire::{Sink, Step, Translator, Wire};

/// Timeout of one reply.
const REPLY_TIMEOUT: Duration = Duration::from_secs(120);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
/// Requests that are written before the replies to the previous batch are read.
const BATCH: usize = 256;
/// Connections of a widened client.
const LINES_WIDE: usize = 8;

/// Blocking connection to a server, or one to each primary of a cluster.
#[derive(Debug)]
pub struct Client {
    /// One connection for each node; several to the only node while the client is widened.
    lines: Vec<NodeConnection>,
    /// Owners of the keys, in a cluster.
    routes: Option<Routes>,
}

/// Connection to one node.
#[derive(Debug)]
struct NodeConnection {
    stream: TcpStream,
    /// Translator of the target's protocol; None where the target speaks RESP.
    translator: Option<Box<dyn Translator>>,
    /// Number of requests sent, as the translator counts them.
    sent: u32,
    answered: u32,
    /// Last reply, translated to RESP.
    translated: Vec<u8>,
    /// Replies that arrived before those to earlier requests, by request number.
    early: BTreeMap<u32, Vec<u8>>,
    received: Vec<u8>,
    at: usize,
}

impl Client {
    /// Connects to one server.
    ///
    /// # Errors
    /// When the connection is refused or times out.
    pub fn connect(address: SocketAddr) -> Result<Client> {
        Client::connect_over(Wire::Resp, address)
    }

    /// Connects like [`Client::connect`], to a target that may speak another protocol.
    ///
    /// # Errors
    /// When the connection is refused or times out.
    pub fn connect_over(wire: Wire, address: SocketAddr) -> Result<Client> {
        Ok(Client { lines: vec![NodeConnection::connect(wire, address)?], routes: None })
    }

    /// Connects to every primary of the cluster that a node belongs to. A request goes to the owner of its second
    /// argument, or to the first node if it has none.
    ///
    /// # Errors
    /// When a primary cannot be reached, or the node's slot map is incomplete.
    pub fn connect_cluster(address: SocketAddr) -> Result<Client> {
        let routes = Client::connect(address)?.routes(address)?;
        let lines =
            routes.addresses().iter().map(|address| NodeConnection::connect(Wire::Resp, *address));
        Ok(Client { lines: lines.collect::<Result<_>>()?, routes: Some(routes) })
    }

    /// Connects to every server of a partition that only clients know. Requests are routed as in a cluster.
    ///
    /// # Errors
    /// When a server cannot be reached.
    pub fn connect_partition(routes: Routes) -> Result<Client> {
        let lines =
            routes.addresses().iter().map(|address| NodeConnection::connect(Wire::Resp, *address));
        Ok(Client { lines: lines.collect::<Result<_>>()?, routes: Some(routes) })
    }

    /// Asks a server for its slot map.
    ///
    /// # Errors
    /// When it has none, or the map leaves a slot without an owner.
    pub fn routes(&mut self, server: SocketAddr) -> Result<Routes> {
        let reply = self.call(&["CLUSTER", "SLOTS"])?;
        Routes::read(&reply, server)
    }

    /// Sends one request and waits for its reply.
    ///
    /// # Errors
    /// When the connection fails. An error reply is a value.
    pub fn call<A: AsRef<[u8]>>(&mut self, arguments: &[A]) -> Result<Value> {
        Ok(self.call_measured(arguments)?.0)
    }

    /// Sends one request like [`Client::call`], and also returns the length of the reply in bytes.
    ///
    /// # Errors
    /// When the connection fails.
    pub fn call_measured<A: AsRef<[u8]>>(&mut self, arguments: &[A]) -> Result<(Value, usize)> {
        let request = encode(arguments);
        let owner = self.owner_of(&request);
        self.lines[owner].call(&request)
    }

    /// Sends one request to each node and returns their replies.
    ///
    /// # Errors
    /// When a connection fails.
    pub fn call_each<A: AsRef<[u8]>>(&mut self, arguments: &[A]) -> Result<Vec<Value>> {
        let request = encode(arguments);
        let nodes = self.routes.as_ref().map_or(1, |_| self.lines.len());
        self.lines[..nodes].iter_mut().map(|line| Ok(line.call(&request)?.0)).collect()
    }

    /// Sends one request that has more than one reply.
    ///
    /// # Errors
    /// When the connection fails.
    pub fn send<A: AsRef<[u8]>>(&mut self, arguments: &[A]) -> Result<()> {
        let request = encode(arguments);
        let owner = self.owner_of(&request);
        self.lines[owner].send(&request)
    }

    /// Waits for the next reply of the first node.
    ///
    /// # Errors
    /// When the connection fails.
    pub fn receive(&mut self) -> Result<Value> {
        Ok(self.lines[0].read_value()?.0)
    }

    /// Opens more connections to the only node; the batches of a pipeline use them in turn. A server that answers only
    /// durable changes holds a connection until the sync, and serves the others meanwhile. The nodes of a cluster keep
    /// one connection each, and so does a target with its own protocol.
    ///
    /// # Errors
    /// When the node accepts no more connections.
    pub fn widen(&mut self) -> Result<()> {
        if self.routes.is_none() && self.lines[0].translator.is_none() {
            let address = self.lines[0].stream.peer_addr().context("the server's address")?;
            while self.lines.len() < LINES_WIDE {
                self.lines.push(NodeConnection::connect(Wire::Resp, address)?);
            }
        }
        Ok(())
    }

    /// Closes the connections that [`Client::widen`] opened.
    pub fn narrow(&mut self) {
        if self.routes.is_none() {
            self.lines.truncate(1);
        }
    }

    /// Sends `count` requests, pipelined, and hands the bytes of each reply to `accept`.
    ///
    /// # Errors
    /// When the connection fails, or the first error of `accept`.
    pub fn pipeline(
        &mut self,
        count: usize,
        mut append: impl FnMut(usize, &mut Vec<u8>),
        mut accept: impl FnMut(usize, &[u8]) -> Result<()>,
    ) -> Result<()> {
        let (mut sent, mut answered) = (0, 0);
        let mut out: Vec<Vec<u8>> = vec![Vec::new(); self.lines.len()];
        let mut request = Vec::new();
        // Connection of each request that has no reply yet, starting at request `answered`.
        let mut owners = VecDeque::new();
        // This many batches are in flight while the replies of an earlier one are read.
        let ahead = self.routes.as_ref().map_or(self.lines.len(), |_| 1);
        while answered < count {
            out.iter_mut().for_each(Vec::clear);
            let end = count.min(sent + BATCH);
            for index in sent..end {
                request.clear();
                append(index, &mut request);
                let owner = match self.routes {
                    // Without a cluster, batches use the connections in turn.
                    Some(_) => self.owner_of(&request),
                    None => sent / BATCH % self.lines.len(),
                };
                self.lines[owner].append(&request, &mut out[owner]);
                owners.push_back(owner);
            }
            for (line, out) in self.lines.iter_mut().zip(&out) {
                line.stream.write_all(out).context("sending a batch of requests")?;
            }
            // Leave some batches in flight, except at the end.
            let until = if end == count { count } else { end.saturating_sub(ahead * BATCH) };
            while answered < until {
                let line = &mut self.lines[owners.pop_front().unwrap_or(0)];
                let length = line.read_reply()?;
                accept(answered, line.reply(length))?;
                line.done(length);
                answered += 1;
            }
            sent = end;
        }
        Ok(())
    }

    /// Returns the index of the node that a request goes to.
    fn owner_of(&self, request: &[u8]) -> usize {
        let key = self.routes.as_ref().and_then(|routes| Some((routes, second_argument(request)?)));
        key.map_or(0, |(routes, key)| usize::from(routes.owner_of(key)))
    }
}

/// Returns the second argument of an encoded request.
fn second_argument(request: &[u8]) -> Option<&[u8]> {
    let mut lines = request.split(|byte| *byte == b'\n');
    // Skips the argument count, then the length and the bytes of the first argument.
    let before: usize = lines.by_ref().take(3).map(|line| line.len() + 1).sum();
    let head = lines.next()?;
    let length = str::from_utf8(head).ok()?.trim().strip_prefix('$')?.parse::<usize>().ok()?;
    request.get(before + head.len() + 1..)?.get(..length)
}

impl NodeConnection {
    fn connect(wire: Wire, address: SocketAddr) -> Result<NodeConnection> {
        let stream = TcpStream::connect_timeout(&address, CONNECT_TIMEOUT)
            .with_context(|| format!("connecting to {address}"))?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(REPLY_TIMEOUT))?;
        stream.set_write_timeout(Some(REPLY_TIMEOUT))?;
        Ok(NodeConnection {
            stream,
            translator: wire.translator(),
            sent: 0,
            answered: 0,
            translated: Vec::new(),
            early: BTreeMap::new(),
            received: Vec::new(),
            at: 0,
        })
    }

    fn call(&mut self, request: &[u8]) -> Result<(Value, usize)> {
        self.send(request)?;
        self.read_value()
    }

    fn send(&mut self, request: &[u8]) -> Result<()> {
        let mut out = Vec::new();
        self.append(request, &mut out);
        self.stream.write_all(&out).context("sending a request")
    }

    fn read_value(&mut self) -> Result<(Value, usize)> {
        let length = self.read_reply()?;
        let (_, value) = Value::read(self.reply(length))?;
        self.done(length);
        Ok((value, length))
    }

    /// Appends a request in the target's protocol.
    fn append(&mut self, request: &[u8], out: &mut Vec<u8>) {
        match &mut self.translator {
            Some(translator) => {
                translator.request(self.sent, request, out);
                translator.flush(out);
                self.sent = self.sent.wrapping_add(1);
            }
            None => out.extend_from_slice(request),
        }
    }

    /// Returns the reply of this length that was read last.
    fn reply(&self, length: usize) -> &[u8] {
        match self.translator {
            Some(_) => &self.translated,
            None => &self.received[self.at..self.at + length],
        }
    }

    fn done(&mut self, length: usize) {
        if self.translator.is_none() {
            self.at += length;
        }
    }

    /// Returns the length of the reply at the start of the received bytes; None when it is incomplete.
    fn find_reply(&mut self) -> Result<Option<usize>> {
        let Some(translator) = &mut self.translator else {
            return match skip(&self.received[self.at..]) {
                Ok(length) => Ok(Some(length)),
                Err(Stop::Malformed) => bail!("the server's reply is not RESP"),
                Err(Stop::Incomplete) => Ok(None),
            };
        };
        // The reply arrived earlier, before that to an older request.
        if let Some(reply) = self.early.remove(&self.answered) {
            self.translated = reply;
            self.answered = self.answered.wrapping_add(1);
            return Ok(Some(self.translated.len()));
        }
        self.translated.clear();
        loop {
            let mut again = Vec::new();
            let mut sink = Sink { reply: &mut self.translated, again: &mut again };
            match translator.reply(&self.received[self.at..], &mut sink) {
                Ok((length, step)) => {
                    self.at += length;
                    translator.flush(&mut again);
                    self.stream.write_all(&again).context("sending a request again")?;
                    let Step::Answer(number) = step else { continue };
                    // The reply overtook another one: keep it until its turn.
                    if number != self.answered {
                        self.early.insert(number, std::mem::take(&mut self.translated));
                        continue;
                    }
                    self.answered = self.answered.wrapping_add(1);
                    return Ok(Some(self.translated.len()));
                }
                Err(Stop::Malformed) => bail!("the server's reply is not what its protocol says"),
                Err(Stop::Incomplete) => return Ok(None),
            }
        }
    }

    /// Reads until a reply is complete and returns its length.
    fn read_reply(&mut self) -> Result<usize> {
        loop {
            if let Some(length) = self.find_reply()? {
                return Ok(length);
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    const PING: &[u8; 14] = b"*1\r\n$4\r\nPING\r\n";

    /// Starts a server that answers each PING with the number of the connection.
    fn numbered() -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            for (number, stream) in listener.incoming().enumerate() {
                let mut stream = stream.unwrap();
                std::thread::spawn(move || {
                    let mut ping = [0; PING.len()];
                    while stream.read_exact(&mut ping).is_ok() {
                        assert_eq!(ping, *PING);
                        stream.write_all(format!(":{number}\r\n").as_bytes()).unwrap();
                    }
                });
            }
        });
        address
    }

    #[test]
    fn batches_are_taken_in_turn_by_the_lines_of_a_wide_client() {
        let mut client = Client::connect(numbered()).unwrap();
        for (is_wide, lines) in [(false, 1), (true, LINES_WIDE), (false, 1)] {
            if is_wide {
                client.widen().unwrap();
            } else {
                client.narrow();
            }
            let count = 20 * BATCH + 7;
            let mut seen = 0;
            let send = |_, out: &mut Vec<u8>| out.extend_from_slice(PING);
            client
                .pipeline(count, send, |index, reply| {
                    assert_eq!(index, seen, "in order");
                    assert_eq!(reply, format!(":{}\r\n", index / BATCH % lines).as_bytes());
                    seen += 1;
                    Ok(())
                })
                .unwrap();
            assert_eq!(seen, count);
            assert_eq!(client.call_each(&["PING"]).unwrap(), [Value::Integer(0)], "one node");
        }
    }

    #[test]
    fn a_request_goes_to_the_owner_of_its_second_argument() {
        assert_eq!(second_argument(&encode(&["SCUR.GET", "acc:0000001"])).unwrap(), b"acc:0000001");
        assert_eq!(second_argument(&encode(&["SET", "a\r\nb", "v"])).unwrap(), b"a\r\nb");
        assert_eq!(second_argument(&encode(&["PING"])), None);
    }
}
