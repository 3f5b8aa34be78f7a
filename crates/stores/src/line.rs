//! A connection to a node or a store that carries many requests at a time (pipelining). One task sends all requests
//! that were added since its last turn, reads replies, and delivers each to its request. Requests added together leave
//! in one system call, and the node answers them in one. A request to several nodes has one timeout for all of them,
//! which its caller keeps. A request to this connection alone has a timeout here, and one timer serves all such
//! requests.

use crate::inbox::{Inbox, Ticket};
use crate::reply_parser::{ReplyScan, read};
use futures_util::task::AtomicWaker;
use redis::{Cmd, ErrorKind, RedisError, RedisResult, Value, cmd};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, ReadBuf};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::Notify;
use tokio::task::yield_now;
use tokio::time::{Instant, Sleep, sleep_until, timeout};

/// Timeout of connecting to a node.
pub(crate) const CONNECT_PATIENCE: Duration = Duration::from_secs(2);
/// Maximum number of requests that wait for replies. A node that hangs gets no more.
const WAITING_MAX: usize = 16_384;
/// Maximum length of requests that the node has not accepted yet, bytes. One more request may exceed it.
const UNSENT_LEN_MAX: usize = 64 << 20;
/// Length of commands that [`Line::ask_all`] sends together, bytes. Further ones wait for the replies to those.
const TOGETHER_LEN: usize = 1 << 20;
/// Size of a read, bytes.
const READ_LEN: usize = 16 * 1024;

/// Credentials and timeout for a connection.
pub struct ConnectOptions<'a> {
    /// User name; None for the default user.
    pub user: Option<&'a str>,
    /// Password; None where the server demands none.
    pub password: Option<&'a str>,
    /// Timeout of one answer.
    pub patience: Duration,
}

/// Value of `under_way` on a connection that sends nothing more.
const OVER: usize = usize::MAX;

/// A connection; it closes when its last clone is dropped.
#[derive(Clone)]
pub struct PipelinedConnection(Arc<Open>);

struct Open {
    shared: Arc<Shared>,
    patience: Duration,
}

/// State that the callers share with the task that sends and reads.
struct Shared {
    stream: OwnedWriteHalf,
    state: Mutex<State>,
    /// Copy of [`State::sent`] that is read without the lock; [`OVER`] when nothing more is sent.
    under_way: AtomicUsize,
    /// Wakes the task.
    waker: AtomicWaker,
    /// Notified when the connection is over.
    over: Notify,
}

#[derive(Default)]
struct State {
    /// The requests without a reply, in the order in which the replies will arrive.
    waiting: VecDeque<Waiting>,
    /// Number of requests in `waiting` with a timeout here that were not given up.
    limited: usize,
    /// Number of requests in `waiting` that the task has sent, or has begun to send.
    sent: usize,
    /// Bytes of requests that the node has not accepted yet.
    unsent: Vec<u8>,
    /// Nothing more is sent.
    is_over: bool,
}

/// The begin of a reply whose end has not arrived.
#[derive(Default)]
struct PartialReply {
    bytes: Vec<u8>,
    scan: ReplyScan,
}

/// A request that waits for its reply.
struct Waiting {
    /// None once the request was given up: its reply is dropped.
    ticket: Option<Ticket>,
    /// When to give the request up; None when the caller has its own timeout. Later requests have later times.
    until: Option<Instant>,
}

impl PipelinedConnection {
    /// Connects and authenticates.
    pub async fn connect(
        address: &str,
        terms: ConnectOptions<'_>,
    ) -> RedisResult<PipelinedConnection> {
        let (host, port) = address.rsplit_once(':').unwrap_or((address, "6389"));
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let port = port.parse::<u16>().map_err(|_| io::Error::other("the port is no number"))?;
        let stream = timeout(CONNECT_PATIENCE, TcpStream::connect((host, port))).await;
        let stream = stream.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??;
        stream.set_nodelay(true)?;
        let line = PipelinedConnection::on(stream, terms.patience);
        if let Some(password) = terms.password {
            let mut auth = cmd("AUTH");
            if let Some(user) = terms.user {
                auth.arg(user);
            }
            line.ask(auth.arg(password)).await?.extract_error()?;
        }
        Ok(line)
    }

    /// Makes a line from one end of a pair of sockets; an engine in this process serves the other end.
    ///
    /// # Errors
    /// When the runtime cannot register the socket.
    pub(crate) fn within(
        stream: UnixStream,
        patience: Duration,
    ) -> io::Result<PipelinedConnection> {
        // `TcpStream` serves as a descriptor that can be read, written and polled, and no more is done with it here: no
        // option of TCP is set, and no address asked for.
        let stream = TcpStream::from_std(std::net::TcpStream::from(OwnedFd::from(stream)))?;
        Ok(PipelinedConnection::on(stream, patience))
    }

    fn on(stream: TcpStream, patience: Duration) -> PipelinedConnection {
        let (reads, stream) = stream.into_split();
        let waker = AtomicWaker::new();
        let (state, under_way, over) = (Mutex::default(), AtomicUsize::new(0), Notify::new());
        let shared = Shared { stream, state, under_way, waker, over };
        let shared = Arc::new(shared);
        tokio::spawn(Arc::clone(&shared).serve(reads));
        PipelinedConnection(Arc::new(Open { shared, patience }))
    }

    /// Sends a command, given as bytes of RESP. The ticket gets the reply, or an error when there will be none.
    /// [`is_unsent`] holds for that error when the connection ended before the command was sent.
    pub fn send(&self, command: &[u8], ticket: Ticket) {
        self.send_within(command, ticket, None);
    }

    fn send_within(&self, command: &[u8], ticket: Ticket, until: Option<Instant>) {
        let mut state = self.0.shared.state();
        let is_full = !state.is_over
            && (state.waiting.len() >= WAITING_MAX || state.unsent.len() > UNSENT_LEN_MAX);
        if state.is_over || is_full {
            drop(state);
            ticket.give(Err(if is_full {
                let why = "too many requests wait for this node";
                io::Error::new(io::ErrorKind::WouldBlock, why).into()
            } else {
                ended_before()
            }));
            return;
        }
        state.waiting.push_back(Waiting { ticket: Some(ticket), until });
        state.limited += usize::from(until.is_some());
        let is_first = state.unsent.is_empty();
        state.unsent.extend_from_slice(command);
        drop(state);
        // The first request wakes the task, which then sends the later ones too.
        if is_first {
            self.0.shared.waker.wake();
        }
    }

    /// Waits until the other side ends the connection, or an invalid reply does. For one waiting task.
    pub async fn ended(&self) {
        self.0.shared.over.notified().await;
    }

    /// Reports whether the connection has ended, so that a new request would get no answer.
    pub fn is_over(&self) -> bool {
        self.0.shared.under_way.load(Ordering::Relaxed) == OVER
    }

    /// Returns the number of requests that were sent and are not answered. Requests that wait for the task's next turn
    /// do not count: a new request leaves together with them.
    pub(crate) fn requests_in_flight(&self) -> usize {
        self.0.shared.under_way.load(Ordering::Relaxed)
    }

    /// Reports whether both are the same connection.
    pub fn is_same(&self, other: &PipelinedConnection) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Returns the reply to a command. An error of RESP is a value.
    pub async fn ask(&self, command: &Cmd) -> RedisResult<Value> {
        self.ask_packed(&command.get_packed_command()).await
    }

    /// Returns the reply to a command, given as bytes of RESP.
    pub(crate) async fn ask_packed(&self, command: &[u8]) -> RedisResult<Value> {
        let inbox = Arc::new(Inbox::default());
        self.send_within(command, inbox.ticket(0), Some(Instant::now() + self.0.patience));
        inbox.next(1).await.1
    }

    /// Returns the replies to commands, in their order.
    pub async fn ask_all(&self, commands: &[Cmd]) -> RedisResult<Vec<Value>> {
        let inbox = Arc::new(Inbox::default());
        let mut replies = vec![Value::Nil; commands.len()];
        let (mut under_way, mut len) = (0, 0);
        for (number, command) in commands.iter().enumerate() {
            if len >= TOGETHER_LEN {
                self.take_all(&inbox, under_way, &mut replies).await?;
                (under_way, len) = (0, 0);
            }
            let command = command.get_packed_command();
            self.send(&command, inbox.ticket(number));
            (under_way, len) = (under_way + 1, len + command.len());
        }
        self.take_all(&inbox, under_way, &mut replies).await?;
        Ok(replies)
    }

    /// Waits for `count` replies, each within the timeout.
    async fn take_all(
        &self,
        inbox: &Inbox,
        count: usize,
        replies: &mut [Value],
    ) -> RedisResult<()> {
        for _ in 0..count {
            let next = timeout(self.0.patience, inbox.next(1)).await;
            let (number, reply) = next.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))?;
            replies[number] = reply?;
        }
        Ok(())
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.shared.end();
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the connection: every waiting request gets an error that says whether it may have been sent.
    fn end(&self) {
        let mut state = self.state();
        state.is_over = true;
        self.under_way.store(OVER, Ordering::Relaxed);
        let mut waiting = std::mem::take(&mut state.waiting);
        // The node has seen none of the requests after the first `sent`.
        let unsent = waiting.split_off(std::mem::take(&mut state.sent).min(waiting.len()));
        drop(state);
        // Dropping the tickets delivers the error.
        drop(waiting);
        let unsent = unsent.into_iter().filter_map(|waiting| waiting.ticket);
        unsent.for_each(|ticket| ticket.give(Err(ended_before())));
        self.waker.wake();
        self.over.notify_one();
    }

    /// Sends and reads until the connection is over. The task of the connection.
    async fn serve(self: Arc<Shared>, mut reads: OwnedReadHalf) {
        let mut room = vec![0; READ_LEN];
        let mut rest = PartialReply::default();
        let mut others = pin!(yield_now());
        let mut limit = None;
        let served = poll_fn(|context| {
            self.waker.register(context.waker());
            let (is_over, is_asked) = {
                let state = self.state();
                (state.is_over, !state.unsent.is_empty())
            };
            if is_over {
                return Poll::Ready(());
            }
            // Read before writing: nothing is sent on a connection that is known to have ended.
            loop {
                let mut buffer = ReadBuf::new(&mut room);
                let Poll::Ready(read) = Pin::new(&mut reads).poll_read(context, &mut buffer) else {
                    break;
                };
                let bytes = buffer.filled();
                if read.is_err()
                    || bytes.is_empty()
                    || self.deliver_replies(bytes, &mut rest).is_err()
                {
                    return Poll::Ready(());
                }
            }
            // Yield once before writing, so that requests of other tasks leave in the same system call.
            if is_asked && others.as_mut().poll(context).is_ready() {
                others.set(yield_now());
                if self.flush(context).is_err() {
                    return Poll::Ready(());
                }
            }
            self.give_up(context, &mut limit);
            Poll::Pending
        });
        served.await;
        self.end();
    }

    /// Gives up requests that have timed out. The timer runs for the oldest request and is set again only when it
    /// fires: a timer for each request would cost as much as sending it.
    fn give_up(&self, context: &mut Context<'_>, limit: &mut Option<Pin<Box<Sleep>>>) {
        loop {
            if let Some(running) = limit {
                if running.as_mut().poll(context).is_pending() {
                    return;
                }
                *limit = None;
                self.expire(Instant::now());
            }
            let Some(until) = self.next_limit() else { return };
            *limit = Some(Box::pin(sleep_until(until)));
        }
    }

    fn next_limit(&self) -> Option<Instant> {
        let state = self.state();
        // Times grow along the queue, so the first one found is the earliest.
        let mut waiting = state.waiting.iter().filter(|waiting| waiting.ticket.is_some());
        if state.limited == 0 { None } else { waiting.find_map(|waiting| waiting.until) }
    }

    fn expire(&self, now: Instant) {
        let mut state = self.state();
        let is_late = |waiting: &&mut Waiting| waiting.until.is_some_and(|until| until <= now);
        let late = state.waiting.iter_mut().filter(is_late);
        let late: Vec<Ticket> = late.filter_map(|waiting| waiting.ticket.take()).collect();
        state.limited -= late.len();
        drop(state);
        let silent = || RedisError::from(io::Error::from(io::ErrorKind::TimedOut));
        late.into_iter().for_each(|ticket| ticket.give(Err(silent())));
    }

    fn flush(&self, context: &mut Context<'_>) -> io::Result<()> {
        let mut state = self.state();
        // Requests count as sent before the first byte leaves: from now on the node may see any of them.
        state.sent = state.waiting.len();
        self.under_way.store(state.sent, Ordering::Relaxed);
        while !state.unsent.is_empty() {
            match self.stream.as_ref().poll_write_ready(context)? {
                Poll::Pending => break,
                Poll::Ready(()) => match self.stream.try_write(&state.unsent) {
                    Ok(sent) => drop(state.unsent.drain(..sent)),
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                    Err(error) => return Err(error),
                },
            }
        }
        Ok(())
    }

    /// Delivers the replies in these bytes. `rest` holds the beginning of the first reply, and in the end that of the
    /// next.
    fn deliver_replies(&self, bytes: &[u8], rest: &mut PartialReply) -> RedisResult<()> {
        let foreign = || RedisError::from((ErrorKind::Parse, "this is no reply"));
        // Copy bytes only when a reply is split between two reads.
        let joined = !rest.bytes.is_empty();
        if joined {
            rest.bytes.extend_from_slice(bytes);
            if !rest.scan.completes(&rest.bytes).map_err(|_| foreign())? {
                return Ok(());
            }
        }
        let all = if joined { &rest.bytes[..] } else { bytes };
        let mut at = 0;
        while let Some((value, length)) = read(&all[at..]).map_err(|_| foreign())? {
            at += length;
            // A peer that sends a reply without a request is not a node.
            let mut state = self.state();
            state.sent = state.sent.checked_sub(1).ok_or_else(foreign)?;
            self.under_way.store(state.sent, Ordering::Relaxed);
            let Waiting { ticket, until } = state.waiting.pop_front().ok_or_else(foreign)?;
            state.limited -= usize::from(ticket.is_some() && until.is_some());
            drop(state);
            if let Some(ticket) = ticket {
                ticket.give(Ok(value));
            }
        }
        rest.scan = ReplyScan::default();
        if joined {
            rest.bytes.drain(..at);
        } else {
            rest.bytes.extend_from_slice(&bytes[at..]);
        }
        Ok(())
    }
}

/// Reports whether a request failed because its connection had ended before it was sent.
pub(crate) fn is_unsent(error: &RedisError) -> bool {
    error.is_connection_refusal()
}

fn ended_before() -> RedisError {
    let why = "the connection had ended before it was asked";
    io::Error::new(io::ErrorKind::ConnectionRefused, why).into()
}

#[cfg(test)]
mod tests;
