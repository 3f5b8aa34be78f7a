//! The event loop: waits, accepts, gives each connection its turn, runs what is due. A core owns
//! all that it touches; more cores would be more of these, each with its own.

use crate::client::Client;
use crate::connection::{Connection, Turn};
use crate::deadlines::Deadlines;
use crate::door::Door;
use crate::listener;
use crate::node::Node;
use crate::pool::Pool;
use crate::signals::Signals;
use crate::socket::Socket;
use crate::users::{Checker, Desk, Ticket};
use mio::{Events, Interest, Poll, Token, Waker};
use slab::Slab;
use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::Duration;

/// The loop wakes at least this often.
const WAKE_MS_MAX: i64 = 100;
/// So often while stopping.
const DRAIN_WAKE_MS: i64 = 10;
/// Events taken from the poller at once.
const EVENTS_MAX: usize = 1024;
/// Connections accepted in one turn.
const ACCEPTS_MAX: usize = 128;
/// Pause after accepting has failed, ms.
const ACCEPT_PAUSE_MS: i64 = 1_000;
/// How long a closing connection may wait for its peer's end, ms.
const LINGER_MS_MAX: i64 = 2_000;

/// Of the doors, by their place.
const DOORS: [Token; 2] = [Token(usize::MAX), Token(usize::MAX - 3)];
const SIGNALS: Token = Token(usize::MAX - 1);
const VERDICTS: Token = Token(usize::MAX - 2);

/// One thread's worth of server.
pub(crate) struct Core {
    poll: Poll,
    signals: Signals,
    /// None of them while stopping.
    doors: Vec<Door>,
    /// When to try again after accepting has failed.
    accept_again_ms: Option<i64>,
    node: Node,
    pool: Pool,
    connections: Slab<Connection<Socket>>,
    next_client: u64,
    /// Connections with work left, in the order in which they get their turns.
    queue: VecDeque<usize>,
    /// Connections that wait for their peer's end, until then at the longest.
    lingering: Deadlines,
    /// Connections that speak TLS, until when they must have shaken hands.
    handshaking: Deadlines,
    /// More timers are due than were run in the last turn.
    ticking: bool,
    /// When draining ends at the latest.
    drain_until_ms: Option<i64>,
}

impl Core {
    pub(crate) fn new(
        mut doors: Vec<Door>,
        mut signals: Signals,
        checker: &Checker,
        node: impl FnOnce(Desk) -> Node,
    ) -> io::Result<Core> {
        let poll = Poll::new()?;
        let node = node(checker.desk(Arc::new(Waker::new(poll.registry(), VERDICTS)?)));
        for (door, token) in doors.iter_mut().zip(DOORS) {
            poll.registry().register(&mut door.listener, token, Interest::READABLE)?;
        }
        poll.registry().register(signals.source(), SIGNALS, Interest::READABLE)?;
        Ok(Core {
            poll,
            signals,
            doors,
            accept_again_ms: None,
            node,
            pool: Pool::default(),
            connections: Slab::new(),
            next_client: 1,
            queue: VecDeque::new(),
            lingering: Deadlines::default(),
            handshaking: Deadlines::default(),
            ticking: false,
            drain_until_ms: None,
        })
    }

    /// Runs until a signal has stopped it.
    pub(crate) fn run(&mut self) -> io::Result<()> {
        let mut events = Events::with_capacity(EVENTS_MAX);
        loop {
            if let Err(error) = self.poll.poll(&mut events, Some(self.patience()))
                && error.kind() != io::ErrorKind::Interrupted
            {
                return Err(error);
            }
            self.node.now = self.node.clock.read();
            for event in &events {
                match event.token() {
                    token if DOORS.contains(&token) => {
                        for (door, own) in self.doors.iter_mut().zip(DOORS) {
                            door.accepting |= own == token;
                        }
                    }
                    SIGNALS => self.signalled(),
                    VERDICTS => self.take_verdicts(),
                    Token(key) => {
                        if let Some(connection) = self.connections.get_mut(key) {
                            let end = event.is_read_closed() || event.is_error();
                            connection.notice(event.is_readable(), event.is_writable(), end);
                            self.enqueue(key);
                        }
                    }
                }
            }
            if self.accept_again_ms.is_some_and(|at| at <= self.node.now.uptime_ms) {
                self.accept_again_ms = None;
                self.doors.iter_mut().for_each(|door| door.accepting = true);
            }
            for door in 0..self.doors.len() {
                self.accept(door);
            }
            if self.drain_until_ms.is_some() {
                self.enqueue_all();
            }
            for _ in 0..self.queue.len() {
                let Some(key) = self.queue.pop_front() else { break };
                self.turn(key);
            }
            self.tick();
            self.end_late();
            if self.is_drained() {
                return Ok(());
            }
        }
    }

    /// How long to wait for events.
    fn patience(&self) -> Duration {
        let due = self.node.shard.next_due();
        let waiting =
            self.ticking || !self.queue.is_empty() || self.doors.iter().any(|door| door.accepting);
        let until_due = due.map_or(WAKE_MS_MAX, |due| due.0.saturating_sub(self.node.now.time.0));
        // What is due and was not run yet will be within a millisecond or so: timers are coarse.
        let longest = if self.drain_until_ms.is_some() { DRAIN_WAKE_MS } else { WAKE_MS_MAX };
        let ms = if waiting { 0 } else { until_due.clamp(1, longest) };
        Duration::from_millis(u64::try_from(ms).unwrap_or_default())
    }

    fn enqueue(&mut self, key: usize) {
        if let Some(connection) = self.connections.get_mut(key)
            && !connection.queued
        {
            connection.queued = true;
            self.queue.push_back(key);
        }
    }

    fn turn(&mut self, key: usize) {
        loop {
            let Some(connection) = self.connections.get_mut(key) else { return };
            connection.queued = false;
            match connection.turn(&mut self.node, &mut self.pool) {
                Ok(Turn::ListClients) => {
                    let text = self.list_clients();
                    self.connections[key].reply_text(&text, &mut self.pool);
                    continue;
                }
                Ok(Turn::Wait) => {}
                Ok(Turn::Again) => self.enqueue(key),
                Ok(Turn::Linger) => {
                    let until_ms = self.node.now.uptime_ms + LINGER_MS_MAX;
                    self.lingering.push(connection.client.ticket, until_ms);
                    self.enqueue(key);
                }
                Ok(Turn::Close) => self.close(key),
                Err(error) => {
                    tracing::debug!(client = connection.client.id, "connection lost: {error}");
                    self.close(key);
                }
            }
            return;
        }
    }

    /// Passwords were checked: their connections go on. Those that are gone are passed over.
    fn take_verdicts(&mut self) {
        while let Some(verdict) = self.node.desk.verdict() {
            let Ticket { key, client } = verdict.ticket;
            if let Some(connection) = self.connections.get_mut(key)
                && connection.client.id == client
            {
                connection.admit(&mut self.node, verdict.user, &mut self.pool);
                self.enqueue(key);
            }
        }
    }

    fn close(&mut self, key: usize) {
        let mut connection = self.connections.remove(key);
        // Closing the socket ends its registration as well.
        let _ = self.poll.registry().deregister(connection.transport.stream());
        self.node.clients = self.connections.len();
    }

    fn list_clients(&self) -> String {
        let mut text = String::new();
        for (_, connection) in &self.connections {
            connection.client.describe(self.node.local_addr, self.node.now, &mut text);
            text.push('\n');
        }
        text
    }

    fn accept(&mut self, place: usize) {
        for _ in 0..ACCEPTS_MAX {
            let door = &mut self.doors[place];
            if !door.accepting {
                return;
            }
            let (stream, peer) = match listener::accept(&door.listener) {
                Ok(Some(accepted)) => accepted,
                Ok(None) => {
                    door.accepting = false;
                    return;
                }
                Err(error) => {
                    // Such as too many open files: tried again when some may have been closed.
                    tracing::warn!("cannot accept a connection: {error}");
                    door.accepting = false;
                    self.accept_again_ms = Some(self.node.now.uptime_ms + ACCEPT_PAUSE_MS);
                    return;
                }
            };
            self.node.counters.connections_accepted += 1;
            if self.connections.len() >= self.node.settings.clients_max {
                self.node.counters.connections_refused += 1;
                if door.acceptor.is_none() {
                    listener::refuse(stream);
                }
                continue;
            }
            if let Err(error) = self.welcome(place, stream, peer) {
                tracing::debug!(%peer, "connection lost: {error}");
            }
        }
    }

    fn welcome(
        &mut self,
        door: usize,
        stream: mio::net::TcpStream,
        peer: std::net::SocketAddr,
    ) -> io::Result<()> {
        listener::tune(&stream)?;
        let mut transport = self.doors[door].transport(stream, peer)?;
        let entry = self.connections.vacant_entry();
        let interest = Interest::READABLE | Interest::WRITABLE;
        self.poll.registry().register(transport.stream(), Token(entry.key()), interest)?;
        let ticket = Ticket { key: entry.key(), client: self.next_client };
        let client = Client::new(ticket, peer, &self.node.settings.users, self.node.now);
        self.next_client += 1;
        if transport.is_handshaking()
            && let Some(tls) = &self.node.settings.tls
        {
            self.handshaking.push(ticket, self.node.now.uptime_ms + tls.handshake_ms_max);
        }
        entry.insert(Connection::new(transport, client));
        self.node.clients = self.connections.len();
        Ok(())
    }

    /// Runs what is due: one batch, bounded by the engine, between two rounds of connections.
    fn tick(&mut self) {
        let now = self.node.now.time;
        let due = self.node.shard.next_due().is_some_and(|due| due <= now);
        self.ticking = due && self.node.shard.tick(now) > 0;
    }

    /// Closes what has waited long enough: for a peer's end, or for its handshake.
    fn end_late(&mut self) {
        while let Some(ticket) = self.lingering.pop_due(self.node.now.uptime_ms) {
            if self.connection(ticket).is_some() {
                self.close(ticket.key);
            }
        }
        let (mut closed, mut last) = (0, None);
        while let Some(ticket) = self.handshaking.pop_due(self.node.now.uptime_ms) {
            let Some(connection) = self.connection(ticket) else { continue };
            if connection.transport.is_handshaking() {
                (closed, last) = (closed + 1, Some(connection.client.peer));
                self.close(ticket.key);
            }
        }
        // One line for all of them: they can be many at once.
        if let Some(last) = last {
            tracing::info!(closed, %last, "TLS handshakes took too long");
        }
    }

    /// The connection, unless it is gone.
    fn connection(&mut self, ticket: Ticket) -> Option<&mut Connection<Socket>> {
        let connection = self.connections.get_mut(ticket.key)?;
        (connection.client.id == ticket.client).then_some(connection)
    }

    fn signalled(&mut self) {
        for _ in 0..self.signals.pending() {
            if self.drain_until_ms.is_some() {
                tracing::warn!("stopping at once: a second signal came");
                std::process::exit(1);
            }
            tracing::info!(clients = self.connections.len(), "stopping: answering what was sent");
            self.drain_until_ms = Some(self.node.now.uptime_ms + self.node.settings.drain_ms_max);
            self.doors.clear();
            for (_, connection) in &mut self.connections {
                connection.drain(self.node.now);
            }
        }
    }

    /// While stopping every connection has its turn each time, to find out that it is quiet.
    fn enqueue_all(&mut self) {
        for (key, connection) in &mut self.connections {
            if !connection.queued {
                connection.queued = true;
                self.queue.push_back(key);
            }
        }
    }

    fn is_drained(&self) -> bool {
        let Some(until_ms) = self.drain_until_ms else { return false };
        if self.connections.is_empty() {
            tracing::info!("stopped: every client has its replies");
            return true;
        }
        if self.node.now.uptime_ms >= until_ms {
            let clients = self.connections.len();
            tracing::warn!(clients, "stopped: some clients did not take their replies in time");
            return true;
        }
        false
    }
}
