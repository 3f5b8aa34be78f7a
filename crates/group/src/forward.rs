//! Forwards connections of the main port to the leader's main port while this node does not lead. Bytes are passed on
//! unchanged in both directions. One thread serves all connections, with a bounded buffer for each direction.

use crate::clock::Clock;
use mio::net::TcpStream;
use mio::{Events, Interest, Poll, Registry, Token, Waker};
use scurry_ledger::Time;
use slab::Slab;
use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// Size of the buffer for each direction of a connection, bytes.
const BUFFER_LEN: usize = 64 << 10;
/// How long a client waits while no node leads or the leader does not accept connections, ms.
const WAIT_MS_MAX: i64 = 1_000;
/// Pause between two attempts to connect a client to the leader, ms.
const PAUSE_MS: i64 = 50;
/// Longest wait of the thread for events, after which it looks at the leader and at waiting clients again.
const WAKE: Duration = Duration::from_millis(50);
const WAKER: Token = Token(usize::MAX);

/// The address of the leader's main port, or the reason why no node leads.
pub(crate) type Leader = Result<SocketAddr, String>;

/// Handle of the thread that forwards. Dropping it ends the thread.
pub(crate) struct Forwarder {
    clients: Sender<TcpStream>,
    waker: Arc<Waker>,
    leader: Arc<Mutex<Leader>>,
    is_over: Arc<AtomicBool>,
}

impl Forwarder {
    /// Starts the thread, for at most this many connections.
    pub(crate) fn start(connections_max: usize) -> io::Result<Forwarder> {
        Forwarder::start_with(connections_max, WAIT_MS_MAX)
    }

    fn start_with(connections_max: usize, wait_ms: i64) -> io::Result<Forwarder> {
        let poll = Poll::new()?;
        let waker = Arc::new(Waker::new(poll.registry(), WAKER)?);
        let (clients, taken) = channel();
        let leader = Arc::new(Mutex::new(Err("this node is starting: try again".to_owned())));
        let is_over = Arc::new(AtomicBool::new(false));
        let mut work = ForwardJob {
            poll,
            taken,
            leader: leader.clone(),
            is_over: is_over.clone(),
            clock: Clock::start(Time(0)),
            connections_max,
            wait_ms,
            waiting: VecDeque::new(),
            pairs: Slab::new(),
        };
        thread::Builder::new().name("forward".to_owned()).spawn(move || {
            if let Err(error) = work.run() {
                tracing::error!("connections are not forwarded any more: {error}");
            }
        })?;
        Ok(Forwarder { clients, waker, leader, is_over })
    }

    /// Takes over a client's connection.
    pub(crate) fn accept_client(&self, client: TcpStream) {
        // If the thread has ended, this drops the connection, which closes it.
        if self.clients.send(client).is_ok() {
            self.wake();
        }
    }

    /// Sets the leader. Connections to an earlier leader are closed.
    pub(crate) fn leader_is(&self, leader: Leader) {
        let mut known = self.leader.lock().unwrap_or_else(PoisonError::into_inner);
        if *known != leader {
            *known = leader;
            drop(known);
            self.wake();
        }
    }

    fn wake(&self) {
        if let Err(error) = self.waker.wake() {
            tracing::error!("cannot wake the thread that forwards: {error}");
        }
    }
}

impl Drop for Forwarder {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        self.wake();
    }
}

/// One direction of a connection.
#[derive(Default)]
struct Flow {
    bytes: Vec<u8>,
    /// How many of the bytes were sent.
    sent: usize,
    /// The sender has closed its side.
    has_ended: bool,
    /// That was passed on to the receiver.
    is_closed: bool,
}

/// A client's connection and its connection to the leader.
struct Pair {
    client: TcpStream,
    leader: TcpStream,
    address: SocketAddr,
    to_leader: Flow,
    to_client: Flow,
    /// The leader has accepted the connection. Nothing is read from the client before that.
    is_there: bool,
    /// When the client stops waiting for a leader that accepts, ms of uptime.
    until_ms: i64,
}

/// A client that has no connection to the leader yet.
struct Waiting {
    client: TcpStream,
    until_ms: i64,
    /// Time of the next attempt to connect, ms of uptime.
    from_ms: i64,
}

struct ForwardJob {
    poll: Poll,
    taken: Receiver<TcpStream>,
    leader: Arc<Mutex<Leader>>,
    is_over: Arc<AtomicBool>,
    clock: Clock,
    connections_max: usize,
    /// How long a client waits for a leader, ms.
    wait_ms: i64,
    waiting: VecDeque<Waiting>,
    pairs: Slab<Pair>,
}

impl ForwardJob {
    fn run(&mut self) -> io::Result<()> {
        let mut events = Events::with_capacity(1024);
        while !self.is_over.load(Ordering::Relaxed) {
            if let Err(error) = self.poll.poll(&mut events, Some(WAKE))
                && error.kind() != ErrorKind::Interrupted
            {
                return Err(error);
            }
            let leader = self.leader.lock().unwrap_or_else(PoisonError::into_inner).clone();
            self.part_from_others(&leader);
            self.connect_waiting(&leader);
            for event in &events {
                if event.token() != WAKER {
                    self.pump(event.token().0 / 2);
                }
            }
        }
        Ok(())
    }

    /// Closes connections to nodes that no longer lead.
    fn part_from_others(&mut self, leader: &Leader) {
        let leader = leader.as_ref().ok();
        let is_old = |(key, pair): (usize, &Pair)| (Some(&pair.address) != leader).then_some(key);
        let old: Vec<usize> = self.pairs.iter().filter_map(is_old).collect();
        old.into_iter().for_each(|key| self.end(key, 0));
    }

    /// Connects waiting clients to the leader, and refuses those that have waited too long.
    fn connect_waiting(&mut self, leader: &Leader) {
        let now_ms = self.clock.read().uptime_ms;
        while let Ok(client) = self.taken.try_recv() {
            if self.pairs.len() + self.waiting.len() >= self.connections_max {
                refuse(client, "-ERR max number of clients reached\r\n");
            } else {
                let until_ms = now_ms + self.wait_ms;
                self.waiting.push_back(Waiting { client, until_ms, from_ms: now_ms });
            }
        }
        for waiting in std::mem::take(&mut self.waiting) {
            match leader {
                _ if now_ms >= waiting.until_ms => refuse(waiting.client, &no_leader(leader)),
                Ok(address) if now_ms >= waiting.from_ms => {
                    if let Err(error) = self.connect(waiting, *address) {
                        tracing::debug!("a connection was not forwarded: {error}");
                    }
                }
                Ok(_) | Err(_) => self.waiting.push_back(waiting),
            }
        }
    }

    fn connect(&mut self, waiting: Waiting, address: SocketAddr) -> io::Result<()> {
        let Waiting { client, until_ms, .. } = waiting;
        let leader = TcpStream::connect(address)?;
        client.set_nodelay(true)?;
        leader.set_nodelay(true)?;
        let (to_leader, to_client) = (Flow::default(), Flow::default());
        let is_there = false;
        let pair = Pair { client, leader, address, to_leader, to_client, is_there, until_ms };
        let key = self.pairs.insert(pair);
        let registered = register(&mut self.pairs[key], key, self.poll.registry());
        if registered.is_err() {
            self.pairs.remove(key);
        }
        registered
    }

    /// Moves the bytes of a connection in both directions, as many as are ready.
    fn pump(&mut self, key: usize) {
        let Some(pair) = self.pairs.get_mut(key) else { return };
        if !pair.is_there {
            match has_connected(&pair.leader) {
                Ok(is_there) => pair.is_there = is_there,
                // For example, the leader was killed: another node may lead soon.
                Err(_) => return self.end(key, PAUSE_MS),
            }
            if !pair.is_there {
                return;
            }
        }
        let Pair { client, leader, to_leader, to_client, .. } = pair;
        let outcome =
            flow(client, leader, to_leader).and_then(|()| flow(leader, client, to_client));
        if outcome.is_err() || to_leader.is_closed && to_client.is_closed {
            self.end(key, 0);
        }
    }

    /// Closes a connection to the leader, with its client. If the leader has not accepted it, the client has lost
    /// nothing, and waits for another attempt after `pause_ms`.
    fn end(&mut self, key: usize, pause_ms: i64) {
        if let Some(mut pair) = self.pairs.try_remove(key) {
            let registry = self.poll.registry();
            // Errors do not matter: dropping the sockets closes them.
            let _ = registry.deregister(&mut pair.client);
            let _ = registry.deregister(&mut pair.leader);
            if !pair.is_there {
                let from_ms = self.clock.read().uptime_ms + pause_ms;
                let Pair { client, until_ms, .. } = pair;
                self.waiting.push_back(Waiting { client, until_ms, from_ms });
            }
        }
    }
}

/// Registers both sockets of a pair, with the tokens `2 * key` and `2 * key + 1`.
fn register(pair: &mut Pair, key: usize, registry: &Registry) -> io::Result<()> {
    let interest = Interest::READABLE | Interest::WRITABLE;
    registry.register(&mut pair.client, Token(2 * key), interest)?;
    registry.register(&mut pair.leader, Token(2 * key + 1), interest)
}

/// Reports whether a connection that was begun is established.
fn has_connected(stream: &TcpStream) -> io::Result<bool> {
    if let Some(error) = stream.take_error()? {
        return Err(error);
    }
    match stream.peer_addr() {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == ErrorKind::NotConnected => Ok(false),
        Err(error) => Err(error),
    }
}

/// Copies bytes until one of the sockets would block.
fn flow(from: &mut TcpStream, to: &mut TcpStream, flow: &mut Flow) -> io::Result<()> {
    loop {
        let mut moved = false;
        if !flow.has_ended && flow.bytes.is_empty() {
            flow.bytes.resize(BUFFER_LEN, 0);
            let read = from.read(&mut flow.bytes);
            flow.bytes.truncate(*read.as_ref().unwrap_or(&0));
            match read {
                Ok(0) => flow.has_ended = true,
                Ok(_) => moved = true,
                Err(error) if waits(&error) => {}
                Err(error) => return Err(error),
            }
        }
        if flow.sent < flow.bytes.len() {
            match to.write(&flow.bytes[flow.sent..]) {
                Ok(sent) => {
                    flow.sent += sent;
                    moved |= sent > 0;
                }
                Err(error) if waits(&error) => {}
                Err(error) => return Err(error),
            }
        }
        if flow.sent == flow.bytes.len() {
            (flow.bytes, flow.sent) = (Vec::new(), 0);
            if flow.has_ended && !flow.is_closed {
                match to.shutdown(Shutdown::Write) {
                    Ok(()) => flow.is_closed = true,
                    // Not connected yet: the shutdown is retried with the next event.
                    Err(error) if waits(&error) => {}
                    Err(error) => return Err(error),
                }
            }
        }
        if !moved {
            return Ok(());
        }
    }
}

/// Reports whether an operation has to wait for the next event.
fn waits(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::NotConnected | ErrorKind::Interrupted)
}

/// Returns the error for a client that has waited for a leader until its time was over.
fn no_leader(leader: &Leader) -> String {
    match leader {
        Ok(address) => format!(
            "-CLUSTERDOWN no node leads shard 0: the one that did, at {address}, takes no connection: try again\r\n"
        ),
        Err(why) => format!("-CLUSTERDOWN no node leads shard 0: {why}\r\n"),
    }
}

fn refuse(mut client: TcpStream, why: &str) {
    // These few bytes fit into the empty send buffer. If not, the client still sees the end of the connection.
    let _ = client.write(why.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    fn connected(forwarder: &Forwarder) -> std::net::TcpStream {
        let door = TcpListener::bind("127.0.0.1:0").expect("it listens");
        let client = std::net::TcpStream::connect(door.local_addr().expect("an address"));
        let client = client.expect("it connects");
        client.set_read_timeout(Some(Duration::from_secs(60))).expect("a time-out");
        let (taken, _) = door.accept().expect("it came");
        taken.set_nonblocking(true).expect("it may not wait");
        forwarder.accept_client(TcpStream::from_std(taken));
        client
    }

    #[test]
    fn bytes_go_to_the_leader_and_back_until_it_leads_no_more() {
        let forwarder = Forwarder::start(2).expect("it starts");
        let leader = TcpListener::bind("127.0.0.1:0").expect("it listens");
        forwarder.leader_is(Ok(leader.local_addr().expect("an address")));
        let mut client = connected(&forwarder);
        let (mut server, _) = leader.accept().expect("it was forwarded");
        let question = vec![7; 1 << 20];
        let sent = question.clone();
        let mut writer = client.try_clone().expect("a copy");
        let writes = thread::spawn(move || {
            writer.write_all(&sent).expect("it is taken");
            writer.shutdown(Shutdown::Write).expect("its end");
        });
        let mut came = Vec::new();
        server.read_to_end(&mut came).expect("all of it, and its end");
        writes.join().expect("it has written");
        assert!(came == question);
        server.write_all(b"answer").expect("it is taken");
        let mut answer = [0; 6];
        client.read_exact(&mut answer).expect("the answer, after its own end");
        assert_eq!(&answer, b"answer");
        forwarder.leader_is(Err("this node reaches 1 of 3".to_owned()));
        assert!(matches!(client.read(&mut answer), Ok(0) | Err(_)), "it is closed");
        let mut other = connected(&forwarder);
        let mut said = Vec::new();
        other.read_to_end(&mut said).expect("words, and the end");
        let why = b"-CLUSTERDOWN no node leads shard 0: this node reaches 1 of 3\r\n";
        assert_eq!(said.escape_ascii().to_string(), why.escape_ascii().to_string());
    }

    #[test]
    fn a_client_waits_while_the_leader_is_dead_and_another_is_not_known() {
        let patient = Forwarder::start_with(2, 600_000).expect("it starts");
        let dead = TcpListener::bind("127.0.0.1:0").expect("it listens");
        let next = TcpListener::bind("127.0.0.1:0").expect("it listens");
        let address = dead.local_addr().expect("an address");
        drop(dead);
        patient.leader_is(Ok(address));
        let mut client = connected(&patient);
        client.write_all(b"question").expect("it is taken");
        patient.leader_is(Ok(next.local_addr().expect("an address")));
        let (mut server, _) = next.accept().expect("it was forwarded");
        let mut question = [0; 8];
        server.read_exact(&mut question).expect("all of it");
        assert_eq!(&question, b"question");
        // The leader is dead, and this client does not wait long: it gets an error before the connection is closed.
        let forwarder = Forwarder::start(2).expect("it starts");
        forwarder.leader_is(Ok(address));
        let mut other = connected(&forwarder);
        let mut said = Vec::new();
        other.read_to_end(&mut said).expect("words, and the end");
        assert!(said.starts_with(b"-CLUSTERDOWN"), "{}", said.escape_ascii());
    }
}
