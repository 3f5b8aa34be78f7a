//! A client's route to the node that owns an account: it asks any node for the slot map, as every cluster client does,
//! and asks again when the node is gone.

use std::io::{Error, ErrorKind, Read, Result, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use crate::clock::Clock;
use crate::resp::{Stop, Value, encode};
use crate::routes::Routes;

/// Timeout of an answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// Timeout of WAIT, milliseconds.
const WAIT_MS: &str = "1000";
/// Codes of errors after which nothing was executed: another node serves the account, or this one will later.
const UNDONE: [&str; 8] =
    ["CLUSTERDOWN", "TRYAGAIN", "LOADING", "READONLY", "MASTERDOWN", "NOREPLICAS", "MOVED", "ASK"];

/// Answer of a node to a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) reply: Value,
    /// Time of arrival, by the clock of the load.
    pub(super) at: u64,
    /// True when it is on the required number of copies.
    pub(super) is_enough: bool,
}

/// Route to the owner, with at most one request in flight.
#[derive(Debug)]
pub(super) struct OwnerRoute<'w> {
    /// Addresses of nodes that report the slot map.
    doors: &'w [SocketAddr],
    /// Index of the address to ask first.
    next: usize,
    /// Copies required of an answer, including the owner's.
    copies: u32,
    clock: Clock,
    map: Option<Routes>,
    line: Option<ClientConnection>,
}

/// Connection to one node.
#[derive(Debug)]
struct ClientConnection {
    address: SocketAddr,
    stream: TcpStream,
    received: Vec<u8>,
}

impl OwnerRoute<'_> {
    pub(super) fn new(
        doors: &[SocketAddr],
        first: usize,
        copies: u32,
        clock: Clock,
    ) -> OwnerRoute<'_> {
        OwnerRoute { doors, next: first, copies, clock, map: None, line: None }
    }

    /// Sends one request about a key and waits for its answer. After an error it is unknown whether the request was
    /// executed; the caller sends it again, and the route is looked up again.
    pub(super) fn ask(&mut self, key: &[u8], request: &[u8]) -> Result<Answer> {
        let answer = self.try_to_ask(key, request);
        if answer.is_err() {
            (self.map, self.line) = (None, None);
        }
        answer
    }

    fn try_to_ask(&mut self, key: &[u8], request: &[u8]) -> Result<Answer> {
        let asks_copies = self.copies > 1;
        let (clock, copies) = (self.clock, self.copies);
        let line = self.line_to(key)?;
        // Send the WAIT with the request, so that it covers this request.
        let mut both = request.to_vec();
        if asks_copies {
            both.extend(encode(&["WAIT", &(copies - 1).to_string(), WAIT_MS]));
        }
        line.send(&both)?;
        let reply = line.read()?;
        let at = clock.nanos();
        // After these errors nothing was executed, so another node may be asked.
        if let Value::Error(text) = &reply
            && UNDONE.iter().any(|code| text.split(' ').next() == Some(code))
        {
            return Err(Error::other(text.clone()));
        }
        let is_enough = if asks_copies { has_copies(&line.read()?, copies)? } else { true };
        Ok(Answer { reply, at, is_enough })
    }

    /// Returns a connection to the owner of a key by the map.
    fn line_to(&mut self, key: &[u8]) -> Result<&mut ClientConnection> {
        let map = match self.map.take() {
            Some(map) => map,
            None => self.look()?,
        };
        let owner = map.addresses()[usize::from(map.owner_of(key))];
        self.map = Some(map);
        let line = match self.line.take().filter(|line| line.address == owner) {
            Some(line) => line,
            None => ClientConnection::open(owner)?,
        };
        Ok(self.line.insert(line))
    }

    /// Returns the map of the first node that answers.
    fn look(&mut self) -> Result<Routes> {
        let mut outcome = Err(Error::from(ErrorKind::NotConnected));
        for _ in self.doors {
            let door = self.doors[self.next % self.doors.len()];
            self.next += 1;
            outcome = ClientConnection::open(door).and_then(|mut line| {
                line.send(&encode(&["CLUSTER", "SLOTS"]))?;
                Routes::read(&line.read()?, door).map_err(Error::other)
            });
            if outcome.is_ok() {
                break;
            }
        }
        outcome
    }
}

/// Reads the reply to WAIT, which counts replicas.
fn has_copies(reply: &Value, copies: u32) -> Result<bool> {
    match reply {
        Value::Integer(replicas) => Ok(replicas + 1 >= i64::from(copies)),
        other => Err(Error::other(format!("WAIT answers {other}"))),
    }
}

impl ClientConnection {
    fn open(address: SocketAddr) -> Result<ClientConnection> {
        let stream = TcpStream::connect_timeout(&address, PATIENCE)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        Ok(ClientConnection { address, stream, received: Vec::new() })
    }

    fn send(&mut self, request: &[u8]) -> Result<()> {
        self.stream.write_all(request)
    }

    fn read(&mut self) -> Result<Value> {
        loop {
            match Value::read(&self.received) {
                Ok((length, value)) => {
                    self.received.drain(..length);
                    return Ok(value);
                }
                Err(Stop::Malformed) => return Err(Error::from(ErrorKind::InvalidData)),
                Err(Stop::Incomplete) => {}
            }
            let mut chunk = [0; 4_096];
            match self.stream.read(&mut chunk)? {
                0 => return Err(Error::from(ErrorKind::UnexpectedEof)),
                count => self.received.extend_from_slice(&chunk[..count]),
            }
        }
    }
}
