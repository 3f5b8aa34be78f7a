//! The event loop of a core: waits, reads its mail, accepts, gives each connection its turn, runs
//! what is due. A core owns all that it touches; more cores are more of these, each with its own.

mod closing;
mod entering;
mod followers;
mod lobby;
mod mail;
mod queue;
#[cfg_attr(not(feature = "rdma"), path = "core/rdma_absent.rs")]
mod rdma;
mod stopping;
mod turns;

pub(crate) use stopping::{EndsWhileStarting, Signals, survive_file_limit};

use crate::connection::Connection;
use crate::connection::memory::Pool;
use crate::durable::{Fate, Held};
use crate::execute::node::Node;
use crate::mail::bundle::Bundle;
use crate::measures::latency::Event;
use crate::net::acceptor::Acceptor;
use crate::net::port::PortKind;
use crate::net::rdma::CoreRdma;
use crate::net::socket::Socket;
use crate::ticket::{Sender, Ticket};
use closing::Deadlines;
use lobby::Lobby;
use mio::{Events, Interest, Poll, Token};
use queue::TurnQueue;
use scurry_service::CallError;
use slab::Slab;
use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;
use turns::Group;

/// The loop wakes at least this often.
const WAKE_MS_MAX: i64 = 100;
/// So often while stopping.
const DRAIN_WAKE_MS: i64 = 10;
/// Events taken from the poller at once.
const EVENTS_MAX: usize = 1024;
/// Times that events are taken from it in one round at most, while there are more.
const WAITS_MAX: usize = 16;
/// How long a closing connection may wait for its peer's end, ms.
const LINGER_MS_MAX: i64 = 2_000;
/// How long a reply may take whose peer has said that nothing more comes, ms. It may have closed, or
/// have sent all and wait: only who writes to it learns that.
const ENDED_MS_MAX: i64 = 10_000;

/// Listeners of one core: the main ports, and its own.
const PORTS: [Token; 3] = [Token(usize::MAX), Token(usize::MAX - 1), Token(usize::MAX - 2)];
const SIGNALS: Token = Token(usize::MAX - 3);
/// Other cores ring, and so does the checker of passwords.
pub(crate) const MAIL: Token = Token(usize::MAX - 4);

/// The event loop of one thread, with all that it owns.
pub(crate) struct Core {
    poll: Poll,
    /// The first core's alone.
    signals: Option<Signals>,
    /// The main ports (the first core's alone) and the core's own. None while stopping.
    acceptors: Vec<Acceptor>,
    /// The core that serves the next connection of a main port.
    next_core: u16,
    /// The main port of the node that led the group when it was last known.
    leader: Option<SocketAddr>,
    /// None without RDMA.
    rdma: Option<CoreRdma>,
    node: Node,
    pool: Pool,
    connections: Slab<Connection<Socket>>,
    /// Connections with work left.
    queue: TurnQueue,
    /// How long those have that are not at work, in a round, ns.
    others_ns: u64,
    /// Room for those that have their turns together.
    group: Group,
    /// Connections that wait for their peer's end.
    lingering: Deadlines,
    /// Connections whose handshake may not be done yet.
    handshaking: Deadlines,
    /// Connections that are not in.
    lobby: Lobby,
    /// Connections that wait for a reply although their peer has said that nothing more comes.
    ended: Deadlines,
    /// Requests of other cores that wait for the log, in the order in which they came: at most one
    /// bundle of each connection.
    postponed: VecDeque<(Sender, Box<Bundle>)>,
    /// The log has to take some before more is executed.
    congested: bool,
    /// More timers are due than were run in the last turn.
    ticking: bool,
    /// Some mail could not be delivered yet.
    undelivered: bool,
    /// When draining ends at the latest.
    drain_until_ms: Option<i64>,
    /// True once the core's own clients have their replies; the loop goes on for those of other cores.
    drained: bool,
}

impl Core {
    pub(crate) fn new(
        poll: Poll,
        mut acceptors: Vec<Acceptor>,
        mut signals: Option<Signals>,
        rdma: Option<CoreRdma>,
        node: Node,
    ) -> io::Result<Core> {
        let registry = poll.registry();
        debug_assert!(acceptors.len() <= PORTS.len(), "each has a token");
        for (acceptor, token) in acceptors.iter_mut().zip(PORTS) {
            acceptor.register(registry, token)?;
        }
        if let Some(own) = &rdma {
            own.register(registry, rdma::TOKENS)?;
        }
        if let Some(signals) = &mut signals {
            registry.register(signals.source(), SIGNALS, Interest::READABLE)?;
        }
        let lobby = Lobby::new(node.settings.clients_max, node.shared.slots.cores());
        Ok(Core {
            poll,
            signals,
            acceptors,
            next_core: 0,
            leader: None,
            rdma,
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
            // The others stop as well.
            self.end_drain();
            self.tell_others_to_drain();
            self.node.mesh.deliver();
        }
        outcome
    }

    fn turns(&mut self) -> io::Result<()> {
        let mut events = Events::with_capacity(EVENTS_MAX);
        loop {
            let mut patience = self.patience();
            if !patience.is_zero()
                && (!self.node.mesh.fall_asleep() || self.node.durable.has_news())
            {
                patience = Duration::ZERO;
            }
            if !patience.is_zero() && !self.rdma_may_wait()? {
                patience = Duration::ZERO;
            }
            self.wait(&mut events, patience)?;
            self.node.mesh.wake_up();
            self.node.look_at_the_clock();
            self.node.turn_began();
            self.notice(&events)?;
            // Who is at work may stand behind thousands that are not.
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
            self.node.commit();
            self.release();
            self.take_turns();
            self.tell_monitors();
            self.tick();
            self.tell_trackers();
            self.node.commit();
            self.release();
            self.node.look_after_log();
            if std::mem::take(&mut self.node.stop_asked) && self.drain_until_ms.is_none() {
                self.stop();
            }
            self.end_late();
            self.tick_rdma();
            self.tell_faults();
            self.node.pooled_bytes = self.pool.memory_bytes();
            self.node.share();
            self.node.look_at_rates();
            self.undelivered = !self.node.mesh.deliver();
            self.node.wake_doors();
            self.node.turn_ended();
            if self.has_ended() {
                self.node.faults.tell();
                return Ok(());
            }
        }
    }

    /// Waits for events.
    fn wait(&mut self, events: &mut Events, patience: Duration) -> io::Result<()> {
        match self.poll.poll(events, Some(patience)) {
            Err(error) if error.kind() != io::ErrorKind::Interrupted => Err(error),
            _ => Ok(()),
        }
    }

    /// Takes note of what has happened, and queues whom it concerns.
    fn notice(&mut self, events: &Events) -> io::Result<()> {
        for event in events {
            match event.token() {
                token if PORTS.contains(&token) => {
                    let own = self.acceptors.iter_mut().zip(PORTS);
                    own.filter(|(_, own)| *own == token).for_each(|(found, _)| found.notice());
                }
                SIGNALS => self.signalled(),
                // The mail is looked for in every turn; verdicts always ring.
                MAIL => self.take_verdicts(),
                token if rdma::TOKENS.contains(&token) => self.notice_rdma(token)?,
                Token(key) => {
                    let Some(connection) = self.connections.get_mut(key) else { continue };
                    let end = event.is_read_closed() || event.is_error();
                    connection.notice(event.is_readable(), event.is_writable(), end);
                    if event.is_write_closed() && connection.is_waiting() {
                        // Nobody is there to take the reply.
                        self.close(key);
                    } else {
                        self.enqueue(key);
                    }
                }
            }
        }
        Ok(())
    }

    /// How long to wait for events.
    fn patience(&mut self) -> Duration {
        let due = self.node.shard.next_due().filter(|_| self.node.durable.takes_commits());
        let accepting = self.acceptors.iter().any(Acceptor::is_ready);
        let waiting = self.ticking
            || self.undelivered
            || accepting
            || self.node.durable.is_busy()
            || (!self.postponed.is_empty() || !self.node.calls.is_empty())
                && !self.node.is_congested()
            // What is queued goes on when the log has taken some.
            || !std::mem::take(&mut self.congested) && !self.queue.is_empty();
        let until_due = due.map_or(WAKE_MS_MAX, |due| due.0.saturating_sub(self.node.now.time.0));
        // What is due and was not run yet will be within a millisecond or so: timers are coarse.
        let longest = if self.drain_until_ms.is_some() { DRAIN_WAKE_MS } else { WAKE_MS_MAX };
        let longest =
            longest.min(self.node.durable.patience_ms(self.node.now.uptime_ms).unwrap_or(longest));
        let ms = if waiting { 0 } else { until_due.clamp(1, longest) };
        Duration::from_millis(u64::try_from(ms).unwrap_or_default())
    }

    fn enqueue(&mut self, key: usize) {
        if let Some(connection) = self.connections.get_mut(key) {
            self.queue.push(key, connection, self.node.now.uptime_ms);
        }
    }

    /// Everything that waits for the log leaves here, when what it shows is durable or will never be:
    /// replies of this core's connections and mail to others.
    fn release(&mut self) {
        while let Some((held, fate)) = self.node.durable.release() {
            match (held, fate) {
                (Held::Mail(core, message), Fate::Leaves) => self.node.mesh.send(core, message),
                (Held::Mail(core, message), Fate::Lost) => {
                    self.node.mesh.send(core, message.lost());
                }
                (Held::Call(call), Fate::Leaves) => self.node.give(call.0, call.1),
                (Held::Call(call), Fate::Lost) => {
                    let why = "the log has failed, or another node leads".to_owned();
                    self.node.give(call.0, Err(CallError::Unknown(why)));
                }
                (Held::Replies(ticket), _) if self.connection(ticket).is_none() => {}
                (Held::Replies(ticket), Fate::Leaves) => self.enqueue(ticket.key),
                // They are not true yet and never will be known to be.
                (Held::Replies(ticket), Fate::Lost) => self.close(ticket.key),
            }
        }
        if self.node.durable.is_to_be_given_up() {
            self.give_up();
        }
    }

    /// The log has failed, or another node leads. Whoever waits for other cores may have replies of this one
    /// already, and whoever came by the main port is to come again, and is led to where commands are executed.
    fn give_up(&mut self) {
        let is_grouped = self.node.durable.is_grouped();
        let (mut lost, mut ended) = (Vec::new(), Vec::new());
        for (key, connection) in self.connections.iter_mut() {
            let client = &connection.client;
            let is_plain = is_grouped && client.port == PortKind::Main && !client.inside;
            if connection.is_gathering() {
                lost.push(key);
            } else if is_plain {
                // What is committed was answered, and is told before the connection ends.
                let list = if connection.end() { &mut ended } else { &mut lost };
                list.push(key);
            }
        }
        lost.into_iter().for_each(|key| self.close(key));
        self.node.durable.give_up(&self.node.shard);
        ended.into_iter().for_each(|key| self.enqueue(key));
    }

    /// The connection, unless it is gone.
    fn connection(&mut self, ticket: Ticket) -> Option<&mut Connection<Socket>> {
        let connection = self.connections.get_mut(ticket.key)?;
        (connection.client.id == ticket.client).then_some(connection)
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

    /// Runs what is due: one batch, bounded by the engine, between two rounds of connections.
    fn tick(&mut self) {
        let now = self.node.now.time;
        let due = self.node.durable.takes_commits()
            && self.node.shard.next_due().is_some_and(|due| due <= now);
        self.ticking = due && self.node.timed(Event::ExpireCycle, |node| node.shard.tick(now)) > 0;
        self.node.tell_long_probes();
    }

    /// At most a line a second for the whole server, however many connections fail.
    fn tell_faults(&mut self) {
        let now_ms = self.node.now.uptime_ms;
        if !self.node.faults.is_empty() && self.node.shared.may_tell_faults(now_ms) {
            self.node.faults.tell();
        }
    }
}
