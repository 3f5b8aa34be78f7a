//! The event loop of a core. It waits for events, reads its mail, accepts connections, gives each connection a turn,
//! and runs due timers. A core owns all that it touches; a server with more cores runs more of these loops.

mod accepting;
mod adapter;
mod closing;
mod followers;
mod lobby;
mod mail;
mod queue;
mod stopping;
mod turns;

pub(crate) use stopping::{EndsWhileStarting, Signals, survive_file_limit};

use crate::adapter::CoreAdapter;
use crate::connection::Connection;
use crate::connection::memory::Pool;
use crate::durable::{HeldOutput, ReleaseOutcome};
use crate::execute::node::Node;
use crate::mail::bundle::Bundle;
use crate::measures::latency::Event;
use crate::net::acceptor::Acceptor;
use crate::net::port::PortKind;
use crate::net::socket::Socket;
use crate::ticket::{Sender, Ticket};
use closing::Deadlines;
use lobby::UnauthenticatedConnections;
use mio::{Events, Interest, Poll, Token};
use queue::TurnQueue;
use scurry_service::CallError;
use slab::Slab;
use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;
use turns::Group;

/// Longest wait of the loop, ms.
const WAKE_MS_MAX: i64 = 100;
/// Longest wait of the loop while draining, ms.
const DRAIN_WAKE_MS: i64 = 10;
/// Maximum number of events taken from the poller at once.
const EVENTS_MAX: usize = 1024;
/// Maximum number of polls in one round, while there are more events.
const WAITS_MAX: usize = 16;
/// How long a closing connection may wait for its peer to close, ms.
const LINGER_MS_MAX: i64 = 2_000;
/// How long a reply may be outstanding after the peer has announced the end of its requests, ms. The peer may be gone,
/// or may have sent everything and be waiting: only a write to it shows which.
const ENDED_MS_MAX: i64 = 10_000;

/// Tokens of one core's listeners: the main ports, and its own.
const PORTS: [Token; 3] = [Token(usize::MAX), Token(usize::MAX - 1), Token(usize::MAX - 2)];
const SIGNALS: Token = Token(usize::MAX - 3);
/// Rung by other cores and by the password checker.
pub(crate) const MAIL: Token = Token(usize::MAX - 4);

/// The event loop of one thread, with all that it owns.
pub(crate) struct Core {
    poll: Poll,
    /// Only on the first core.
    signals: Option<Signals>,
    /// The main ports (only on the first core) and the core's own port. Empty while stopping.
    acceptors: Vec<Acceptor>,
    /// The core that serves the next connection of a main port.
    next_core: u16,
    /// The main port of the last known leader of the group.
    leader: Option<SocketAddr>,
    /// None for TCP alone.
    adapter: Option<Box<dyn CoreAdapter>>,
    node: Node,
    pool: Pool,
    connections: Slab<Connection<Socket>>,
    /// Connections with work left.
    queue: TurnQueue,
    /// Time per round for connections that are not active, ns.
    others_ns: u64,
    /// Buffer for the group of connections that have their turns together, reused.
    group: Group,
    /// Connections that wait for their peer to close.
    lingering: Deadlines,
    /// Connections that may still be in their handshake.
    handshaking: Deadlines,
    /// Connections that are not authenticated.
    lobby: UnauthenticatedConnections,
    /// Connections that wait for a reply although their peer has closed its sending side.
    ended: Deadlines,
    /// Requests of other cores that wait for the log, in the order of arrival: at most one bundle per connection.
    postponed: VecDeque<(Sender, Box<Bundle>)>,
    /// The log has to write some of its backlog before more is executed.
    congested: bool,
    /// More timers are due than were run in the last turn.
    ticking: bool,
    /// Some mail could not be delivered yet.
    undelivered: bool,
    /// Deadline of draining, ms of uptime. None while not draining.
    drain_until_ms: Option<i64>,
    /// True once the core's own clients have their replies; the loop goes on for clients of other cores.
    drained: bool,
}

impl Core {
    pub(crate) fn new(
        poll: Poll,
        mut acceptors: Vec<Acceptor>,
        mut signals: Option<Signals>,
        adapter: Option<Box<dyn CoreAdapter>>,
        node: Node,
    ) -> io::Result<Core> {
        let registry = poll.registry();
        debug_assert!(acceptors.len() <= PORTS.len(), "each has a token");
        for (acceptor, token) in acceptors.iter_mut().zip(PORTS) {
            acceptor.register(registry, token)?;
        }
        if let Some(own) = &adapter {
            adapter::register(&**own, registry)?;
        }
        if let Some(signals) = &mut signals {
            registry.register(signals.source(), SIGNALS, Interest::READABLE)?;
        }
        let lobby =
            UnauthenticatedConnections::new(node.settings.clients_max, node.shared.slots.cores());
        Ok(Core {
            poll,
            signals,
            acceptors,
            next_core: 0,
            leader: None,
            adapter,
            node,
            pool: Pool::default(),
            connections: Slab::new(),
            queue: TurnQueue::default(),
            others_ns: turns::OTHERS_NS_MIN,
            group: Group::new(),
            lingering: Deadlines::default(),
            handshaking: Deadlines::default(),
            lobby,
            ended: Deadlines::default(),
            postponed: VecDeque::new(),
            congested: false,
            ticking: false,
            undelivered: false,
            drain_until_ms: None,
            drained: false,
        })
    }

    /// Runs until the server has stopped.
    pub(crate) fn run(&mut self) -> io::Result<()> {
        let outcome = self.turns();
        self.node.durable.finish(&mut self.node.shard, self.node.now.time);
        self.node.end_calls();
        if outcome.is_err() {
            // The other cores have to stop as well.
            self.end_drain();
            self.tell_others_to_drain();
            self.node.mesh.deliver();
        }
        outcome
    }

    fn turns(&mut self) -> io::Result<()> {
        let mut events = Events::with_capacity(EVENTS_MAX);
        loop {
            let mut poll_timeout = self.poll_timeout();
            // Sleep only if no mail has arrived and no thread has a report.
            if !poll_timeout.is_zero()
                && (!self.node.mesh.fall_asleep() || self.node.durable.has_news())
            {
                poll_timeout = Duration::ZERO;
            }
            if !poll_timeout.is_zero() && !self.adapter_may_wait()? {
                poll_timeout = Duration::ZERO;
            }
            self.wait(&mut events, poll_timeout)?;
            self.node.mesh.wake_up();
            self.node.look_at_the_clock();
            self.node.turn_began();
            self.notice(&events)?;
            // Events of active connections may come after thousands of others.
            for _ in 1..WAITS_MAX {
                if events.iter().count() < EVENTS_MAX {
                    break;
                }
                self.wait(&mut events, Duration::ZERO)?;
                self.notice(&events)?;
            }
            self.take_completions()?;
            self.accept();
            self.mail();
            self.calls();
            self.tell_readers();
            self.tell_subscribers();
            if self.drain_until_ms.is_some() {
                self.enqueue_all();
            }
            // Before the turns: this releases the replies that have become durable meanwhile, so that their connections
            // have a turn in this round.
            self.node.commit();
            self.release();
            self.take_turns();
            self.tell_monitors();
            self.tick();
            self.node.execute_transfer_steps();
            self.node.send_transfer_steps();
            self.tell_trackers();
            // After the turns: one batch for the commits of all connections, before the loop waits.
            self.node.commit();
            self.release();
            self.node.look_after_log();
            if std::mem::take(&mut self.node.stop_asked) && self.drain_until_ms.is_none() {
                self.stop();
            }
            self.end_late();
            self.tick_adapter();
            self.tell_faults();
            self.node.pooled_bytes = self.pool.memory_bytes();
            self.node.share();
            self.node.look_at_rates();
            // Mail leaves at the end, so that one packet carries all messages of the turn to a core.
            self.undelivered = !self.node.mesh.deliver();
            self.node.wake_doors();
            self.node.turn_ended();
            if self.has_ended() {
                self.node.faults.tell();
                return Ok(());
            }
        }
    }

    /// Waits for events. An interrupted wait is not an error.
    fn wait(&mut self, events: &mut Events, poll_timeout: Duration) -> io::Result<()> {
        match self.poll.poll(events, Some(poll_timeout)) {
            Err(error) if error.kind() != io::ErrorKind::Interrupted => Err(error),
            _ => Ok(()),
        }
    }

    /// Records events, and queues the connections that they concern.
    fn notice(&mut self, events: &Events) -> io::Result<()> {
        for event in events {
            match event.token() {
                token if PORTS.contains(&token) => {
                    let own = self.acceptors.iter_mut().zip(PORTS);
                    own.filter(|(_, own)| *own == token).for_each(|(found, _)| found.notice());
                }
                SIGNALS => self.signalled(),
                // Mail is read in every turn anyway; the checker rings for each verdict.
                MAIL => self.take_verdicts(),
                token if adapter::TOKENS.contains(&token) => self.notice_adapter(token)?,
                Token(key) => {
                    let Some(connection) = self.connections.get_mut(key) else { continue };
                    let end = event.is_read_closed() || event.is_error();
                    connection.notice(event.is_readable(), event.is_writable(), end);
                    if event.is_write_closed() && connection.is_waiting() {
                        // The peer is gone, so the reply is not needed.
                        self.close(key);
                    } else {
                        self.enqueue(key);
                    }
                }
            }
        }
        Ok(())
    }

    /// Returns how long to wait for events.
    fn poll_timeout(&mut self) -> Duration {
        let due = self.node.shard.next_due().filter(|_| self.node.durable.takes_commits());
        let accepting = self.acceptors.iter().any(Acceptor::is_ready);
        let waiting = self.ticking
            || self.undelivered
            || accepting
            || self.node.durable.is_busy()
            || (!self.postponed.is_empty()
                || !self.node.calls.is_empty()
                || !self.node.transfer_steps.is_empty()
                || !self.node.transfer_results.is_empty())
                && !self.node.is_congested()
            // Queued connections go on when the log has written some of its backlog.
            || !std::mem::take(&mut self.congested) && !self.queue.is_empty();
        let until_due = due.map_or(WAKE_MS_MAX, |due| due.0.saturating_sub(self.node.now.time.0));
        // Overdue timers become runnable within about a millisecond: timers are coarse.
        let longest = if self.drain_until_ms.is_some() { DRAIN_WAKE_MS } else { WAKE_MS_MAX };
        let longest =
            longest.min(self.node.durable.ms_until_due(self.node.now.uptime_ms).unwrap_or(longest));
        let ms = if waiting { 0 } else { until_due.clamp(1, longest) };
        Duration::from_millis(u64::try_from(ms).unwrap_or_default())
    }

    fn enqueue(&mut self, key: usize) {
        if let Some(connection) = self.connections.get_mut(key) {
            self.queue.push(key, connection, self.node.now.uptime_ms);
        }
    }

    /// Releases replies of this core's connections and mail to other cores that waited for the log, once the changes
    /// that they show are durable or will never be.
    fn release(&mut self) {
        while let Some((held, fate)) = self.node.durable.release() {
            match (held, fate) {
                (HeldOutput::Mail(core, message), ReleaseOutcome::Durable) => {
                    self.deliver(core, message);
                }
                (HeldOutput::Mail(core, message), ReleaseOutcome::Lost) => {
                    if let Some(lost) = message.lost() {
                        self.deliver(core, lost);
                    }
                }
                (HeldOutput::Call(call), ReleaseOutcome::Durable) => self.node.give(call.0, call.1),
                (HeldOutput::Call(call), ReleaseOutcome::Lost) => {
                    let why = "the log has failed, or another node leads".to_owned();
                    self.node.give(call.0, Err(CallError::Unknown(why)));
                }
                (HeldOutput::Replies(ticket), _) if self.connection(ticket).is_none() => {}
                (HeldOutput::Replies(ticket), ReleaseOutcome::Durable) => self.enqueue(ticket.key),
                // The replies show changes that are not known to be durable and never will be.
                (HeldOutput::Replies(ticket), ReleaseOutcome::Lost) => self.close(ticket.key),
            }
        }
        if self.node.durable.is_to_be_given_up() {
            self.give_up();
        }
    }

    /// Closes connections after the log has failed or leadership was lost. Connections that wait for other cores may
    /// already hold replies of this one. Clients of the main port have to reconnect, and are then redirected to the
    /// leader.
    fn give_up(&mut self) {
        let is_grouped = self.node.durable.is_grouped();
        let (mut lost, mut ended) = (Vec::new(), Vec::new());
        for (key, connection) in self.connections.iter_mut() {
            let client = &connection.client;
            let is_plain = is_grouped && client.port == PortKind::Main && !client.inside;
            if connection.is_gathering() {
                lost.push(key);
            } else if is_plain {
                // Replies to committed requests are sent before the connection closes.
                let list = if connection.end() { &mut ended } else { &mut lost };
                list.push(key);
            }
        }
        lost.into_iter().for_each(|key| self.close(key));
        if is_grouped {
            // Another leader may have committed more than the log that they read has.
            self.lose_readers();
        }
        self.node.durable.give_up(&self.node.shard);
        ended.into_iter().for_each(|key| self.enqueue(key));
    }

    /// Returns the connection, unless it is gone.
    fn connection(&mut self, ticket: Ticket) -> Option<&mut Connection<Socket>> {
        let connection = self.connections.get_mut(ticket.key)?;
        (connection.client.id == ticket.client).then_some(connection)
    }

    /// Hands verdicts on passwords to their connections, which then go on. Verdicts for closed connections are dropped.
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

    /// Runs due timers: one batch, bounded by the engine, between two rounds of connections.
    fn tick(&mut self) {
        let now = self.node.now.time;
        let due = self.node.durable.takes_commits()
            && self.node.shard.next_due().is_some_and(|due| due <= now);
        self.ticking = due && self.node.timed(Event::ExpireCycle, |node| node.shard.tick(now)) > 0;
        self.node.tell_long_probes();
    }

    /// Logs faults of connections: at most one line a second for the whole server.
    fn tell_faults(&mut self) {
        let now_ms = self.node.now.uptime_ms;
        if !self.node.faults.is_empty() && self.node.shared.may_tell_faults(now_ms) {
            self.node.faults.tell();
        }
    }
}
