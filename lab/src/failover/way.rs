//! A client's way to the node that owns an account: it asks any node for the map of the slots, as
//! every client of a cluster does, and asks again when its node is gone.

use std::io::{Error, ErrorKind, Read, Result, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use crate::clock::Clock;
use crate::resp::{Stop, Value, encode};
use crate::routes::Routes;

/// An answer that takes longer is none.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long WAIT waits for copies, milliseconds.
const WAIT_MS: &str = "1000";
/// First words of the errors of a node that has done nothing: another serves the account, or this one
/// later.
const UNDONE: [&str; 8] =
    ["CLUSTERDOWN", "TRYAGAIN", "LOADING", "READONLY", "MASTERDOWN", "NOREPLICAS", "MOVED", "ASK"];

/// Answer of a node to a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) reply: Value,
    /// When it came, by the clock of the load.
    pub(super) at: u64,
    /// On as many copies as were asked for.
    pub(super) is_enough: bool,
}

/// The way. One request is under way at most.
#[derive(Debug)]
pub(super) struct Way<'w> {
    /// Addresses at which nodes tell the map.
    doors: &'w [SocketAddr],
    /// The door to ask first.
    next: usize,
    /// Copies that an answer must be on, the owner's too.
    copies: u32,
    clock: Clock,
    map: Option<Routes>,
    line: Option<Line>,
}

/// A connection.
#[derive(Debug)]
struct Line {
    address: SocketAddr,
    stream: TcpStream,
    received: Vec<u8>,
}

impl Way<'_> {
    pub(super) fn new(doors: &[SocketAddr], first: usize, copies: u32, clock: Clock) -> Way<'_> {
        Way { doors, next: first, copies, clock, map: None, line: None }
    }

    /// Sends one request about a key, and waits for its answer. With an error it is not known what was
    /// done: the request is sent again, and finds its way anew.
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
        let mut both = request.to_vec();
        if asks_copies {
            both.extend(encode(&["WAIT", &(copies - 1).to_string(), WAIT_MS]));
        }
        line.send(&both)?;
        let reply = line.read()?;
        let at = clock.nanos();
        if let Value::Error(text) = &reply
            && UNDONE.iter().any(|code| text.split(' ').next() == Some(code))
        {
            return Err(Error::other(text.clone()));
        }
        let is_enough = if asks_copies { has_copies(&line.read()?, copies)? } else { true };
        Ok(Answer { reply, at, is_enough })
    }

    /// The owner of a key, by the map; connected.
    fn line_to(&mut self, key: &[u8]) -> Result<&mut Line> {
        let map = match self.map.take() {
            Some(map) => map,
            None => self.look()?,
        };
        let owner = map.addresses()[usize::from(map.owner_of(key))];
        self.map = Some(map);
        let line = match self.line.take().filter(|line| line.address == owner) {
            Some(line) => line,
            None => Line::open(owner)?,
        };
        Ok(self.line.insert(line))
    }

    /// The map that the first node has which answers.
    fn look(&mut self) -> Result<Routes> {
        let mut outcome = Err(Error::from(ErrorKind::NotConnected));
        for _ in self.doors {
            let door = self.doors[self.next % self.doors.len()];
            self.next += 1;
            outcome = Line::open(door).and_then(|mut line| {
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

/// By the reply to WAIT, which counts replicas.
fn has_copies(reply: &Value, copies: u32) -> Result<bool> {
    match reply {
        Value::Integer(replicas) => Ok(replicas + 1 >= i64::from(copies)),
        other => Err(Error::other(format!("WAIT answers {other}"))),
    }
}

impl Line {
    fn open(address: SocketAddr) -> Result<Line> {
        let stream = TcpStream::connect_timeout(&address, PATIENCE)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        Ok(Line { address, stream, received: Vec::new() })
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
