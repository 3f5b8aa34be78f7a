//! One connection: reads a bounded amount, executes every complete request, sends the replies
//! with one call, and remembers what is left to do.

use crate::client::Client;
use crate::clock::Reading;
use crate::dispatch::{self, Effect};
use crate::node::Node;
use crate::pool::Pool;
use crate::tls;
use crate::transport::{Arrival, Transport};
use crate::users::User;
use scurry_resp::{Parsed, Parser, Reply};
use std::io;
use std::sync::Arc;

/// Discarded from a connection that is being closed, at most, bytes.
const DISCARDED_LEN_MAX: usize = 4 * 1024 * 1024;

/// A draining connection is closed when nothing has come for this long, ms: what was sent before
/// the signal may still be on its way.
const DRAIN_SILENCE_MS: i64 = 50;
/// A draining connection is read for this long at most, ms: some clients never stop by themselves.
const DRAIN_READING_MS_MAX: i64 = 1_000;

/// What the loop does with the connection after a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// Nothing until the socket says something.
    Wait,
    /// Another turn, after those of the others.
    Again,
    /// Answer CLIENT LIST with [`Connection::reply_text`], then go on.
    ListClients,
    /// Another turn, and the end after a while: the peer has been told, and is waited for.
    Linger,
    /// It is over.
    Close,
}

/// Where it is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Open,
    /// The server stops: answers what was sent before it began to, then closes.
    Draining {
        /// When it began.
        since_ms: i64,
    },
    /// Executes nothing more; closes when the replies are sent.
    Closing,
    /// Has said that nothing more will come; waits for the peer's end, so that the peer sees
    /// the last replies and not a reset.
    Lingering,
}

/// A transport, a parser and a client.
pub(crate) struct Connection<T> {
    pub(crate) transport: T,
    pub(crate) client: Client,
    /// In the loop's queue.
    pub(crate) queued: bool,
    parser: Parser,
    phase: Phase,
    /// The socket may hold more than was read.
    readable: bool,
    /// The socket takes nothing until it says so.
    blocked: bool,
    /// The socket has said that the peer's end comes after what can be read.
    end_announced: bool,
    /// The peer sends nothing more.
    ended: bool,
    /// When something came last.
    arrived_ms: i64,
    /// Something was answered since draining began.
    answered: bool,
    discarded: usize,
    /// Executes nothing until the verdict on a password is there.
    paused: bool,
}

impl<T: Transport> Connection<T> {
    pub(crate) fn new(transport: T, client: Client) -> Connection<T> {
        Connection {
            transport,
            client,
            queued: false,
            parser: Parser::default(),
            phase: Phase::Open,
            readable: false,
            blocked: false,
            end_announced: false,
            ended: false,
            arrived_ms: 0,
            answered: false,
            discarded: 0,
            paused: false,
        }
    }

    /// The socket says something. `end` is part of what it says about reading: the peer's end
    /// may have come together with its last bytes, and is then not told again.
    pub(crate) fn notice(&mut self, readable: bool, writable: bool, end: bool) {
        self.readable |= readable || end;
        self.blocked &= !writable;
        self.end_announced |= end;
    }

    /// The server stops.
    pub(crate) fn drain(&mut self, now: Reading) {
        if self.phase == Phase::Open {
            self.phase = Phase::Draining { since_ms: now.uptime_ms };
            self.answered = self.transport.unsent() > 0;
        }
    }

    /// True when a draining connection need not be read any more.
    fn is_quiet(&self, now: Reading) -> bool {
        let Phase::Draining { since_ms } = self.phase else { return false };
        let silence_ms = now.uptime_ms - self.arrived_ms.max(since_ms);
        let silent = !self.readable && silence_ms >= DRAIN_SILENCE_MS;
        silent || now.uptime_ms - since_ms >= DRAIN_READING_MS_MAX
    }

    /// One turn. An error is the connection's end, and nobody's fault here.
    pub(crate) fn turn(&mut self, node: &mut Node, pool: &mut Pool) -> io::Result<Turn> {
        if self.phase == Phase::Lingering {
            return self.discard(pool);
        }
        if !self.blocked {
            self.publish(node)?;
        }
        if self.paused {
            return Ok(Turn::Wait);
        }
        if self.may_go_on(node) && self.readable && !self.ended {
            self.receive(node, pool)?;
        }
        let executed = self.execute(node, pool);
        if executed == Turn::ListClients {
            return Ok(executed);
        }
        if !self.blocked {
            self.publish(node)?;
        }
        if self.paused {
            self.transport.settle(pool);
            return Ok(Turn::Wait);
        }
        let waits = executed == Turn::Wait;
        if waits && (self.ended || self.is_quiet(node.now)) {
            self.phase = Phase::Closing;
        }
        if self.phase == Phase::Closing && self.transport.unsent() == 0 {
            return Ok(self.close());
        }
        self.transport.settle(pool);
        self.parser.shrink();
        let more = self.phase != Phase::Closing && (!waits || self.readable);
        Ok(if more && self.may_go_on(node) { Turn::Again } else { Turn::Wait })
    }

    /// Answers a command that needs to know about other connections.
    pub(crate) fn reply_text(&mut self, text: &str, pool: &mut Pool) {
        let protocol = self.client.protocol;
        let (_, out) = self.transport.parts(pool);
        Reply::new(out, protocol).verbatim(text);
        self.transport.commit();
    }

    /// Answers the AUTH or HELLO that has waited for the verdict, and goes on.
    pub(crate) fn admit(&mut self, node: &mut Node, user: Option<Arc<User>>, pool: &mut Pool) {
        let (_, out) = self.transport.parts(pool);
        dispatch::finish(node, &mut self.client, user, out);
        self.transport.commit();
        self.paused = false;
    }

    /// False while the peer has not taken enough of its replies.
    fn may_go_on(&self, node: &Node) -> bool {
        self.transport.unsent() < node.settings.unsent_len_max
    }

    fn publish(&mut self, node: &mut Node) -> io::Result<()> {
        let before = self.transport.unsent();
        if before > 0 {
            self.blocked = !self.transport.publish()?;
            node.counters.bytes_out += (before - self.transport.unsent()) as u64;
        }
        Ok(())
    }

    fn receive(&mut self, node: &mut Node, pool: &mut Pool) -> io::Result<()> {
        match self.transport.progress(pool)? {
            Arrival::More(len) => {
                node.counters.bytes_in += len as u64;
                self.arrived_ms = node.now.uptime_ms;
            }
            Arrival::Drained(len) => {
                node.counters.bytes_in += len as u64;
                if len > 0 {
                    self.arrived_ms = node.now.uptime_ms;
                }
                self.readable = len > 0 && self.end_announced;
            }
            Arrival::End => {
                self.ended = true;
                self.readable = false;
            }
        }
        if self.client.command.is_empty() && tls::is_client_hello(self.transport.parts(pool).0) {
            tracing::info!(peer = %self.client.peer, "a TLS client on a port without TLS");
            return Err(io::ErrorKind::InvalidData.into());
        }
        Ok(())
    }

    /// Executes complete requests until there is none (`Wait`), or until there are too many
    /// replies (`Again`).
    fn execute(&mut self, node: &mut Node, pool: &mut Pool) -> Turn {
        let unsent_len_max = node.settings.unsent_len_max;
        let unsent = self.transport.unsent();
        let (input, out) = self.transport.parts(pool);
        let begin = out.len();
        let mut done = 0;
        let turn = loop {
            if self.phase == Phase::Closing {
                done = input.len();
                break Turn::Wait;
            }
            if unsent + out.len() - begin >= unsent_len_max {
                break Turn::Again;
            }
            let rest = &input[done..];
            let len =
                match self.parser.parse(rest, &node.settings.request, self.client.authenticated) {
                    Parsed::Request(len) => len,
                    Parsed::Incomplete(_) => break Turn::Wait,
                    Parsed::Error(error) => {
                        node.counters.protocol_errors += 1;
                        Reply::new(out, self.client.protocol).error(format_args!("ERR {error}"));
                        self.phase = Phase::Closing;
                        continue;
                    }
                };
            let args = self.parser.args(rest);
            done += len;
            if args.is_empty() {
                continue;
            }
            match dispatch::execute(node, &mut self.client, args, out) {
                Effect::None => {}
                Effect::Close => self.phase = Phase::Closing,
                Effect::ListClients => break Turn::ListClients,
                Effect::Wait => {
                    self.paused = true;
                    break Turn::Wait;
                }
            }
        };
        self.answered |= out.len() > begin;
        if done > 0 {
            self.client.active_ms = node.now.uptime_ms;
        }
        self.transport.consume(done);
        self.transport.commit();
        turn
    }

    fn close(&mut self) -> Turn {
        if self.ended || !self.answered {
            return Turn::Close;
        }
        self.transport.finish();
        self.phase = Phase::Lingering;
        self.readable = true;
        Turn::Linger
    }

    fn discard(&mut self, pool: &mut Pool) -> io::Result<Turn> {
        if !self.readable {
            return Ok(Turn::Wait);
        }
        let arrival = self.transport.progress(pool)?;
        let len = self.transport.parts(pool).0.len();
        self.transport.consume(len);
        self.transport.settle(pool);
        self.discarded += len;
        match arrival {
            Arrival::End => Ok(Turn::Close),
            _ if self.discarded > DISCARDED_LEN_MAX => Ok(Turn::Close),
            Arrival::More(_) => Ok(Turn::Again),
            Arrival::Drained(len) => {
                self.readable = len > 0 && self.end_announced;
                Ok(if self.readable { Turn::Again } else { Turn::Wait })
            }
        }
    }
}
