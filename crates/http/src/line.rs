//! A connection to a node or a store, on which requests do not wait for each other. One task sends what all have
//! asked since its last turn, reads, and gives each reply to whom it is for: requests that came together
//! go out in one system call, and the node answers them in one. Most is not timed here: a request that
//! goes to several nodes has one limit for all of them. One that is asked of this connection alone is, by one timer for
//! all such.

use crate::inbox::{Inbox, Ticket};
use crate::reading_replies::read;
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

/// How long a node may take to be reached.
pub(crate) const CONNECT_PATIENCE: Duration = Duration::from_secs(2);
/// Requests that wait for their replies, at most: a node that hangs gets no more.
const WAITING_MAX: usize = 16_384;
/// Of requests that the node does not take, bytes. One more may stand behind it.
const UNSENT_LEN_MAX: usize = 64 << 20;
/// Of commands that are sent together, bytes: more wait for the replies to those.
const TOGETHER_LEN: usize = 1 << 20;
/// Read at once, bytes.
const READ_LEN: usize = 16 * 1024;

/// Identity of the door to a node.
pub(crate) struct Terms<'a> {
    pub(crate) user: Option<&'a str>,
    pub(crate) password: Option<&'a str>,
    /// How long it may take to answer.
    pub(crate) patience: Duration,
}

/// Of requests under way on a connection on which nothing more is sent.
const OVER: usize = usize::MAX;

/// A connection; it ends with the last copy of this.
#[derive(Clone)]
pub(crate) struct Line(Arc<Open>);

struct Open {
    shared: Arc<Shared>,
    patience: Duration,
}

/// State that those who ask and the one who reads have in common.
struct Shared {
    stream: OwnedWriteHalf,
    state: Mutex<State>,
    /// How many of the requests in it were sent, for those who look at many connections; [`OVER`] when nothing more is.
    under_way: AtomicUsize,
    /// Of the task.
    waker: AtomicWaker,
    /// Told when nothing more is sent.
    over: Notify,
}

#[derive(Default)]
struct State {
    /// Whom the next replies are for, in their order.
    waiting: VecDeque<Waiting>,
    /// How many of these have a limit.
    limited: usize,
    /// Requests among them that the task has sent, or has begun to.
    sent: usize,
    /// Of requests, what the node has not taken yet.
    unsent: Vec<u8>,
    /// Nothing more is sent.
    is_over: bool,
}

/// A request that waits for its reply.
struct Waiting {
    /// None once it was given up: its reply is for nobody.
    ticket: Option<Ticket>,
    /// When that is; none where whoever asks has a limit of his own. Later requests have later ones.
    until: Option<Instant>,
}

impl Line {
    /// Connects, and says who asks.
    pub(crate) async fn connect(address: &str, terms: Terms<'_>) -> RedisResult<Line> {
        let (host, port) = address.rsplit_once(':').unwrap_or((address, "6389"));
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let port = port.parse::<u16>().map_err(|_| io::Error::other("the port is no number"))?;
        let stream = timeout(CONNECT_PATIENCE, TcpStream::connect((host, port))).await;
        let stream = stream.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??;
        stream.set_nodelay(true)?;
        let line = Line::on(stream, terms.patience);
        if let Some(password) = terms.password {
            let mut auth = cmd("AUTH");
            if let Some(user) = terms.user {
                auth.arg(user);
            }
            line.ask(auth.arg(password)).await?.extract_error()?;
        }
        Ok(line)
    }

    /// On one half of a pair of sockets, whose other half an engine in this process serves.
    ///
    /// # Errors
    /// When the system does not let it be waited for.
    pub(crate) fn within(stream: UnixStream, patience: Duration) -> io::Result<Line> {
        // What is called a TCP stream is a descriptor to read, to write and to wait for, which is all
        // that is done with one here: no option of TCP is set, and no address asked for.
        let stream = TcpStream::from_std(std::net::TcpStream::from(OwnedFd::from(stream)))?;
        Ok(Line::on(stream, patience))
    }

    fn on(stream: TcpStream, patience: Duration) -> Line {
        let (reads, stream) = stream.into_split();
        let waker = AtomicWaker::new();
        let (state, under_way, over) = (Mutex::default(), AtomicUsize::new(0), Notify::new());
        let shared = Shared { stream, state, under_way, waker, over };
        let shared = Arc::new(shared);
        tokio::spawn(Arc::clone(&shared).serve(reads));
        Line(Arc::new(Open { shared, patience }))
    }

    /// Sends a command as it stands on the wire. Its reply goes to the ticket, and so does that there
    /// will be none: an error that [`is_unsent`] when the node has not seen it.
    pub(crate) fn send(&self, command: &[u8], ticket: Ticket) {
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
        // Behind the first it is known that there is something to send.
        if is_first {
            self.0.shared.waker.wake();
        }
    }

    /// Until the other side, or what it says, has ended the connection. For one who waits.
    pub(crate) async fn ended(&self) {
        self.0.shared.over.notified().await;
    }

    /// Nothing that is sent now is answered.
    pub(crate) fn is_over(&self) -> bool {
        self.0.shared.under_way.load(Ordering::Relaxed) == OVER
    }

    /// Requests that were sent and are not answered. Those that wait for the next turn of the task are
    /// none of them: what is sent now leaves together with those.
    pub(crate) fn under_way(&self) -> usize {
        self.0.shared.under_way.load(Ordering::Relaxed)
    }

    /// The same connection.
    pub(crate) fn is_same(&self, other: &Line) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// The reply to a command; of RESP's errors a value.
    pub(crate) async fn ask(&self, command: &Cmd) -> RedisResult<Value> {
        self.ask_packed(&command.get_packed_command()).await
    }

    /// The reply to a command as it stands on the wire.
    pub(crate) async fn ask_packed(&self, command: &[u8]) -> RedisResult<Value> {
        let inbox = Arc::new(Inbox::default());
        self.send_within(command, inbox.ticket(0), Some(Instant::now() + self.0.patience));
        inbox.next(1).await.1
    }

    /// The replies to commands, in their order.
    pub(crate) async fn ask_all(&self, commands: &[Cmd]) -> RedisResult<Vec<Value>> {
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

    fn end(&self) {
        let mut state = self.state();
        state.is_over = true;
        self.under_way.store(OVER, Ordering::Relaxed);
        let mut waiting = std::mem::take(&mut state.waiting);
        let unsent = waiting.split_off(std::mem::take(&mut state.sent).min(waiting.len()));
        drop(state);
        // Each is told when it is dropped.
        drop(waiting);
        let unsent = unsent.into_iter().filter_map(|waiting| waiting.ticket);
        unsent.for_each(|ticket| ticket.give(Err(ended_before())));
        self.waker.wake();
        self.over.notify_one();
    }

    /// Sends and reads until the connection is over.
    async fn serve(self: Arc<Shared>, mut reads: OwnedReadHalf) {
        let mut room = vec![0; READ_LEN];
        let mut rest = Vec::new();
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
            // Nothing is sent on a connection that is known to have ended.
            loop {
                let mut buffer = ReadBuf::new(&mut room);
                let Poll::Ready(read) = Pin::new(&mut reads).poll_read(context, &mut buffer) else {
                    break;
                };
                let bytes = buffer.filled();
                if read.is_err() || bytes.is_empty() || self.take(bytes, &mut rest).is_err() {
                    return Poll::Ready(());
                }
            }
            // Others that have come meanwhile ask first: theirs goes out with it.
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

    /// Tells those that have waited too long. The timer is that of the one that has waited longest, and is set anew
    /// when it has run out: to set one for every request costs as much as to send it.
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

    /// Gives the replies in these bytes, of which the first began with the rest, to whom they are for.
    fn take(&self, bytes: &[u8], rest: &mut Vec<u8>) -> RedisResult<()> {
        let foreign = || RedisError::from((ErrorKind::Parse, "this is no reply"));
        let joined = !rest.is_empty();
        if joined {
            rest.extend_from_slice(bytes);
        }
        let all = if joined { &rest[..] } else { bytes };
        let mut at = 0;
        while let Some((value, length)) = read(&all[at..]).map_err(|_| foreign())? {
            at += length;
            // Whoever says something unasked is no node.
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
        if joined {
            rest.drain(..at);
        } else {
            rest.extend_from_slice(&bytes[at..]);
        }
        Ok(())
    }
}

/// An error of a request of which the node has seen nothing.
pub(crate) fn is_unsent(error: &RedisError) -> bool {
    error.is_connection_refusal()
}

fn ended_before() -> RedisError {
    let why = "the connection had ended before it was asked";
    io::Error::new(io::ErrorKind::ConnectionRefused, why).into()
}

#[cfg(test)]
mod tests;
