//! The event loop of a core: waits, reads its mail, accepts, gives each connection its turn, runs
//! what is due. A core owns all that it touches; more cores are more of these, each with its own.

pub(crate) mod deadlines;
mod entering;
mod events;
pub(crate) mod lobby;
#[cfg_attr(not(feature = "rdma"), path = "core/rdma_absent.rs")]
mod rdma;
pub(crate) mod signals;
mod tracking;
mod turns;

use crate::connection::Connection;
use crate::connection::pool::Pool;
use crate::core::deadlines::Deadlines;
use crate::core::lobby::Lobby;
use crate::core::signals::Signals;
use crate::durable::{Fate, Held};
use crate::execute::client::Client;
use crate::execute::node::Node;
use crate::mail::bundle::Bundle;
use crate::mail::message::Message;
use crate::mail::report::{Answer, Question};
use crate::measures::latency::Event;
use crate::net::acceptor::Acceptor;
use crate::net::fault::Fault;
use crate::net::listener;
use crate::net::port::{Port, PortKind};
use crate::net::rdma::CoreRdma;
use crate::net::socket::Socket;
use crate::net::transport::Transport;
use crate::ticket::Sender;
use crate::ticket::Ticket;
use crate::users::User;
use mio::net::TcpStream;
use mio::{Events, Interest, Poll, Token};
use slab::Slab;
use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use turns::Group;

/// The loop wakes at least this often.
const WAKE_MS_MAX: i64 = 100;
/// So often while stopping.
const DRAIN_WAKE_MS: i64 = 10;
/// Events taken from the poller at once.
const EVENTS_MAX: usize = 1024;
/// Packets of mail read in one turn.
const MAIL_PACKETS_MAX: usize = 256;
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
    /// None without RDMA.
    rdma: Option<CoreRdma>,
    node: Node,
    pool: Pool,
    connections: Slab<Connection<Socket>>,
    /// Connections with work left, in the order in which they get their turns.
    queue: VecDeque<usize>,
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
            rdma,
            node,
            pool: Pool::default(),
            connections: Slab::new(),
            queue: VecDeque::new(),
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
            if let Err(error) = self.poll.poll(&mut events, Some(patience))
                && error.kind() != io::ErrorKind::Interrupted
            {
                return Err(error);
            }
            self.node.mesh.wake_up();
            self.node.look_at_the_clock();
            self.node.turn_began();
            for event in &events {
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
            self.take_completions()?;
            self.accept();
            self.mail();
            self.tell_readers();
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
            self.undelivered = !self.node.mesh.deliver();
            self.node.turn_ended();
            if self.has_ended() {
                self.node.faults.tell();
                return Ok(());
            }
        }
    }

    /// How long to wait for events.
    fn patience(&mut self) -> Duration {
        let due = self.node.shard.next_due().filter(|_| self.node.durable.takes_commits());
        let accepting = self.acceptors.iter().any(Acceptor::is_ready);
        let waiting = self.ticking
            || self.undelivered
            || accepting
            || self.node.durable.is_busy()
            || !self.postponed.is_empty() && !self.node.is_congested()
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
        if let Some(connection) = self.connections.get_mut(key)
            && !connection.queued
        {
            connection.queued = true;
            self.queue.push_back(key);
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

    /// The log has failed. Whoever waits for other cores may have replies of this one already.
    fn give_up(&mut self) {
        let waits = |(key, connection): (usize, &Connection<Socket>)| {
            connection.is_gathering().then_some(key)
        };
        let waiting: Vec<usize> = self.connections.iter().filter_map(waits).collect();
        for key in waiting {
            self.close(key);
        }
        self.node.durable.give_up();
    }

    /// Asks every core that the connection's port stands for. True when all have answered.
    fn ask(&mut self, key: usize, question: Question) -> bool {
        let own = self.answer(question);
        let Some(connection) = self.connections.get_mut(key) else { return false };
        let sender = connection.sender(self.node.core);
        let others: Vec<u16> = match connection.client.port {
            PortKind::Main => self.node.mesh.others().collect(),
            PortKind::Core => Vec::new(),
        };
        connection.asks(others.len() + 1);
        for core in others {
            self.node.mesh.send(core, Message::Ask(sender, question));
        }
        connection.told(own)
    }

    fn answer(&self, question: Question) -> Answer {
        match question {
            Question::Report => Answer::Report(Box::new(self.node.report(self.rdma_report()))),
            Question::Slowlog => Answer::Slowlog(self.node.slow_commands()),
            Question::Latency => Answer::Latency(Box::new(self.node.slowness.latency.clone())),
            Question::Clients => {
                let mut text = String::new();
                for (_, connection) in &self.connections {
                    connection.client.describe(self.node.now, &mut text);
                    text.push('\n');
                }
                Answer::Clients(text)
            }
        }
    }

    /// Reads what other cores have sent.
    fn mail(&mut self) {
        while !self.node.is_congested()
            && let Some((sender, bundle)) = self.postponed.pop_front()
        {
            self.work(sender, bundle);
        }
        // Not more than was there when the turn began, or nearly so: clients have their turns.
        for _ in 0..MAIL_PACKETS_MAX {
            let Some(mut packet) = self.node.mesh.receive() else { return };
            for message in packet.drain(..) {
                self.read(message);
            }
            self.node.mesh.recycle(packet);
        }
    }

    /// Executes requests of another core's connection.
    fn work(&mut self, sender: Sender, mut bundle: Box<Bundle>) {
        bundle.execute(&mut self.node);
        let done = Sender { core: self.node.core, ..sender };
        self.node.send_when_durable(sender.core, Message::Done(done, bundle));
    }

    fn read(&mut self, message: Message) {
        match message {
            Message::Welcome { stream, peer, port } => self.welcome(stream, peer, &port),
            Message::WelcomeRdma(welcome) => self.welcome_rdma(*welcome),
            Message::Work(sender, bundle) if self.node.is_congested() => {
                self.postponed.push_back((sender, bundle));
            }
            Message::Work(sender, bundle) => self.work(sender, bundle),
            Message::Done(sender, bundle) => {
                if let Some(connection) = self.addressee(sender) {
                    connection.returned(sender.core, bundle);
                    self.enqueue(sender.connection);
                }
            }
            Message::Ask(sender, question) => {
                let answer = self.answer(question);
                self.node.send_when_durable(sender.core, Message::Tell(sender, answer));
            }
            Message::Tell(sender, answer) => {
                if let Some(connection) = self.addressee(sender)
                    && connection.told(answer)
                {
                    self.enqueue(sender.connection);
                }
            }
            Message::Lost(sender) => {
                if self.addressee(sender).is_some() {
                    self.close(sender.connection);
                }
            }
            Message::Monitor(lines) => self.show(&lines),
            Message::Invalidate(news) => self.invalidate(&news),
            Message::Follow(ask) => self.node.durable.follow(ask, self.node.now.uptime_ms),
            Message::Followed(sender, reply) => self.hand_over(sender, &reply),
            Message::Unfollow(sender) => self.node.durable.unfollow(sender),
            // Who has asked may have gone away.
            Message::Measure(asker) => drop(asker.send(self.node.core_report(self.rdma_report()))),
            Message::Drain => self.drain(),
        }
    }

    /// Commands of this turn's clients go to those who monitor, on every core.
    fn tell_monitors(&mut self) {
        let Some(lines) = self.node.monitor.take() else { return };
        for core in self.node.mesh.others() {
            self.node.mesh.send(core, Message::Monitor(lines.clone()));
        }
        self.show(&lines);
    }

    /// Shows lines to those who monitor here. Who does not read fast enough is let go.
    fn show(&mut self, lines: &[u8]) {
        let mut late = Vec::new();
        for (key, connection) in &mut self.connections {
            if !connection.client.monitors {
                continue;
            }
            if connection.show(lines, &self.node) {
                if !connection.queued {
                    connection.queued = true;
                    self.queue.push_back(key);
                }
            } else {
                late.push(key);
            }
        }
        for key in late {
            tracing::warn!(
                client = self.connections[key].client.id,
                "MONITOR reads too slowly: closed"
            );
            self.close(key);
        }
    }

    /// The connection that a message is for, when it still exists.
    fn addressee(&mut self, sender: Sender) -> Option<&mut Connection<Socket>> {
        self.connection(Ticket { key: sender.connection, client: sender.client })
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

    fn close(&mut self, key: usize) {
        let mut connection = self.connections.remove(key);
        connection.forget_memory(&mut self.node);
        if let Some(since_ms) = connection.waits_since_ms {
            self.leave_lobby(connection.client.ticket, since_ms);
        }
        if let Some(thread) = connection.client.following {
            self.forget_reader(connection.sender(self.node.core), thread);
        }
        if connection.client.monitors {
            self.node.shared.monitors.fetch_sub(1, Ordering::Relaxed);
        }
        if connection.client.tracking.is_some() {
            self.node.shared.trackers.fetch_sub(1, Ordering::Relaxed);
        }
        if let Some(fault) = connection.transport.take_fault() {
            self.node.faults.note(connection.client.peer, fault);
        }
        if let Some(stream) = connection.transport.stream() {
            // Closing the socket ends its registration as well.
            let _ = self.poll.registry().deregister(stream);
        }
        if let (Some(place), Socket::Rdma(rdma)) = (&mut self.rdma, &mut connection.transport) {
            place.forget(rdma);
        }
        self.node.clients = self.connections.len();
        self.node.shared.give_place(connection.client.inside);
    }

    fn accept(&mut self) {
        let now_ms = self.node.now.uptime_ms;
        for place in 0..self.acceptors.len() {
            let acceptor = &mut self.acceptors[place];
            let accepted = acceptor.accept(now_ms);
            if accepted.is_empty() {
                continue;
            }
            let port = acceptor.port.clone();
            for (stream, peer) in accepted {
                self.deal_out(stream, peer, &port);
            }
        }
    }

    /// Connections of the main ports are dealt out among the cores.
    fn deal_out(&mut self, stream: TcpStream, peer: SocketAddr, port: &Port) {
        self.node.counters.connections_accepted += 1;
        if !self.has_room_for_client() {
            // Who speaks TLS could not read why.
            if port.tls.is_none() {
                listener::refuse(stream);
            }
            return;
        }
        let core = match port.kind {
            PortKind::Main => self.next_core,
            PortKind::Core => self.node.core,
        };
        if port.kind == PortKind::Main {
            self.next_core = (core + 1) % self.node.shared.slots.cores();
        }
        if core == self.node.core {
            self.welcome(stream, peer, port);
        } else {
            let port = port.clone();
            self.node.mesh.send(core, Message::Welcome { stream, peer, port });
        }
    }

    /// Counts one more client, when there may be one, or when somebody of a lobby can give way to it.
    fn has_room_for_client(&mut self) -> bool {
        let shared = &self.node.shared;
        let most = self.node.settings.clients_max + shared.waiting.load(Ordering::Relaxed);
        if shared.clients.fetch_add(1, Ordering::Relaxed) < most {
            return true;
        }
        shared.clients.fetch_sub(1, Ordering::Relaxed);
        self.node.counters.connections_refused += 1;
        false
    }

    /// Takes a connection in, which is counted already.
    fn welcome(&mut self, stream: TcpStream, peer: SocketAddr, port: &Port) {
        let outcome = match self.drain_until_ms {
            // It came between the signal and the end of listening.
            Some(_) => Err(io::ErrorKind::ConnectionAborted.into()),
            None => self.register(stream, peer, port),
        };
        if let Err(error) = outcome {
            tracing::debug!(%peer, "connection lost: {error}");
            self.node.shared.give_place(port.inside.is_some());
        }
    }

    fn register(&mut self, stream: TcpStream, peer: SocketAddr, port: &Port) -> io::Result<()> {
        let local = match port.inside {
            Some(_) => self.node.shared.main,
            None => {
                listener::tune(&stream)?;
                stream.local_addr()?
            }
        };
        let mut transport = Socket::accept(stream, port)?;
        let entry = self.connections.vacant_entry();
        let key = entry.key();
        let interest = Interest::READABLE | Interest::WRITABLE;
        if let Some(stream) = transport.stream() {
            self.poll.registry().register(stream, Token(key), interest)?;
        }
        let ticket = Ticket { key, client: self.node.shared.next_client() };
        let users = &self.node.settings.users;
        let mut client = Client::new(ticket, (peer, local), port.kind, users, self.node.now);
        if let Some(roles) = port.inside {
            client.become_user(Arc::new(User::inside(roles)));
            client.inside = true;
        }
        if transport.is_handshaking()
            && let Some(tls) = &self.node.settings.tls
        {
            self.handshaking.push(ticket, self.node.now.uptime_ms + tls.handshake_ms_max);
        }
        entry.insert(Connection::new(key, transport, client));
        self.begin(ticket);
        Ok(())
    }

    /// Runs what is due: one batch, bounded by the engine, between two rounds of connections.
    fn tick(&mut self) {
        let now = self.node.now.time;
        let due = self.node.durable.takes_commits()
            && self.node.shard.next_due().is_some_and(|due| due <= now);
        self.ticking = due && self.node.timed(Event::ExpireCycle, |node| node.shard.tick(now)) > 0;
        self.node.tell_long_probes();
    }

    /// Closes what has waited long enough: for a peer's end, for its handshake, to come in, or for a
    /// reply that perhaps nobody takes.
    fn end_late(&mut self) {
        self.empty_lobby();
        let now_ms = self.node.now.uptime_ms;
        while let Some(ticket) = self.ended.pop_due(now_ms) {
            if self.connection(ticket).is_some_and(|connection| connection.has_waited(now_ms)) {
                self.close(ticket.key);
            }
        }
        while let Some(ticket) = self.lingering.pop_due(now_ms) {
            if self.connection(ticket).is_some() {
                self.close(ticket.key);
            }
        }
        while let Some(ticket) = self.handshaking.pop_due(now_ms) {
            let Some(connection) = self.connection(ticket) else { continue };
            if connection.transport.is_handshaking() {
                let peer = connection.client.peer;
                self.node.faults.note(peer, Fault::Late);
                self.close(ticket.key);
            }
        }
    }

    /// At most a line a second for the whole server, however many connections fail.
    fn tell_faults(&mut self) {
        let now_ms = self.node.now.uptime_ms;
        if !self.node.faults.is_empty() && self.node.shared.may_tell_faults(now_ms) {
            self.node.faults.tell();
        }
    }

    fn signalled(&mut self) {
        let pending = self.signals.as_mut().map_or(0, Signals::pending);
        for _ in 0..pending {
            if self.drain_until_ms.is_some() {
                tracing::warn!("stopping at once: a second signal came");
                std::process::exit(1);
            }
            self.stop();
        }
    }

    /// The server stops: every core answers what its clients have sent.
    fn stop(&mut self) {
        let clients = self.node.shared.clients.load(Ordering::Relaxed);
        tracing::info!(clients, "stopping: answering what was sent");
        self.drain();
        self.tell_others_to_drain();
    }

    fn tell_others_to_drain(&mut self) {
        for core in self.node.mesh.others() {
            self.node.mesh.send(core, Message::Drain);
        }
    }

    /// Stops listening and lets connections end.
    fn drain(&mut self) {
        if self.drain_until_ms.is_some() {
            return;
        }
        self.drain_until_ms = Some(self.node.now.uptime_ms + self.node.settings.drain_ms_max);
        self.acceptors.clear();
        if let Some(place) = &mut self.rdma {
            place.stop_listening(self.poll.registry());
        }
        self.node.draining_since_ms = Some(self.node.now.uptime_ms);
        self.node.durable.end_watches();
        for (_, connection) in &mut self.connections {
            connection.drain();
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

    /// True when this core and all others are done with their clients.
    fn has_ended(&mut self) -> bool {
        let Some(until_ms) = self.drain_until_ms else { return false };
        if !self.drained {
            let late = self.node.now.uptime_ms >= until_ms;
            if !self.connections.is_empty() && !late {
                return false;
            }
            if late {
                let clients = self.connections.len();
                tracing::warn!(clients, "stopped: some clients did not take their replies in time");
            }
            self.end_drain();
        }
        self.node.shared.draining.load(Ordering::Acquire) == 0
    }

    fn end_drain(&mut self) {
        if !self.drained {
            self.drained = true;
            let left = self.node.shared.draining.fetch_sub(1, Ordering::AcqRel) - 1;
            if left == 0 && self.connections.is_empty() {
                tracing::info!("stopped: every client has its replies");
            }
        }
    }
}
