//! A client of a group: sends a request to the main port of any node, and repeats it with the same id until it has a
//! clear answer.

use crate::route::{Answered, Ask, ClientCounts, Signals, TRY_EVERY, is_replay, is_undone};
use anyhow::{Context, Result};
use scurry_conformance::Value;
use scurry_crash::wire::{self, ByteStream, RequestWords, Trust, Wire};
use std::time::Duration;

/// Timeouts of a reply. A client with the long one receives the answer of a leader that was stopped and continues; one
/// with the short one has asked another node by then.
pub(crate) const PATIENCE: [Duration; 2] = [Duration::from_secs(8), Duration::from_millis(1_500)];

/// Outcome of one attempt.
pub(crate) enum Sent {
    Clear(Value),
    /// A node refused it without executing it.
    Refused,
    /// No answer arrived: the request may be executed, now or later.
    InDoubt,
}

/// Where a node listens for clients.
#[derive(Clone, Debug)]
pub(crate) struct ClientAddress {
    pub(crate) host: String,
    pub(crate) port: u16,
    /// CA of its certificate. None if it listens without TLS.
    pub(crate) trust: Option<Trust>,
}

impl ClientAddress {
    /// Returns host and port.
    pub(crate) fn place(&self) -> (String, u16) {
        (self.host.clone(), self.port)
    }

    /// Returns `HOST:PORT`.
    pub(crate) fn name(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }

    /// Opens a connection.
    pub(crate) fn dial(&self, patience: Duration) -> Result<Box<dyn ByteStream>> {
        let stream = wire::dial((self.host.as_str(), self.port), patience, self.trust.as_ref());
        stream.with_context(|| self.name())
    }

    /// Opens a connection for commands.
    pub(crate) fn wire(&self, patience: Duration) -> Result<Wire> {
        Wire::over(self.dial(patience)?).with_context(|| self.name())
    }
}

/// A client's connection, to one node after another.
pub(crate) struct FailoverConnection {
    nodes: Vec<ClientAddress>,
    next: usize,
    patience: Duration,
    wire: Option<Wire>,
}

impl FailoverConnection {
    /// Makes a connection that begins with the node `first`.
    pub(crate) fn new(
        nodes: Vec<ClientAddress>,
        first: usize,
        patience: Duration,
    ) -> FailoverConnection {
        FailoverConnection { nodes, next: first, patience, wire: None }
    }

    /// Sends a request once. After a failure the next attempt goes to the next node.
    pub(crate) fn send(&mut self, request: &RequestWords) -> Sent {
        let mut wire = match self.wire.take() {
            Some(wire) => wire,
            None => match self.nodes[self.next].wire(self.patience) {
                Ok(wire) => wire,
                Err(_) => {
                    self.turn();
                    return Sent::Refused;
                }
            },
        };
        match wire.ask(request) {
            Ok(reply) if is_undone(&reply) => {
                self.turn();
                Sent::Refused
            }
            Ok(reply) => {
                self.wire = Some(wire);
                Sent::Clear(reply)
            }
            Err(_) => {
                self.turn();
                Sent::InDoubt
            }
        }
    }

    /// Closes the connection. The next request goes to the next node.
    pub(crate) fn leave(&mut self) {
        self.wire = None;
        self.turn();
    }

    fn turn(&mut self) {
        self.next = (self.next + 1) % self.nodes.len();
    }
}

/// A client that repeats requests until they are answered.
pub(crate) struct Persistent {
    connection: FailoverConnection,
    seen: ClientCounts,
}

impl Persistent {
    pub(crate) fn new(connection: FailoverConnection) -> Persistent {
        Persistent { connection, seen: ClientCounts::default() }
    }
}

impl Ask for Persistent {
    fn ask(&mut self, _: &str, request: &RequestWords, signals: &Signals) -> Result<Answered> {
        let mut again = false;
        loop {
            match self.connection.send(request) {
                Sent::Clear(reply) => {
                    self.seen.answered();
                    signals.answered();
                    self.seen.replayed += u64::from(is_replay(&reply));
                    return Ok(Answered { reply, earlier: Vec::new(), again });
                }
                // A refused request was not executed, so a stored answer to it would be an error.
                Sent::Refused => {}
                Sent::InDoubt => again = true,
            }
            signals.go_on()?;
            self.seen.resent += 1;
            std::thread::sleep(TRY_EVERY); // tidy: allow (a group says nothing when it is ready again)
        }
    }

    fn seen(&mut self) -> &mut ClientCounts {
        &mut self.seen
    }
}
