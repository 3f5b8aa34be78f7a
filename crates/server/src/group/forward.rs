//! Connections that have come to the main port of a node that does not lead: their bytes go to the leader's main
//! port and back. One thread has all of them, each with a bounded buffer a direction.

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

/// Bytes that are on their way in one direction of a connection.
const BUFFER_LEN: usize = 64 << 10;
/// How long a client waits while nobody leads, or the leader does not answer, ms.
const WAIT_MS_MAX: i64 = 1_000;
/// Between two tries to reach the leader for a client, ms.
const PAUSE_MS: i64 = 50;
/// The thread looks around this often.
const WAKE: Duration = Duration::from_millis(50);
const WAKER: Token = Token(usize::MAX);

/// The leader's main port, or why no node leads.
pub(crate) type Leader = Result<SocketAddr, String>;

/// The way to the thread. It ends with this.
pub(crate) struct Forwarder {
    clients: Sender<TcpStream>,
    waker: Arc<Waker>,
    leader: Arc<Mutex<Leader>>,
    is_over: Arc<AtomicBool>,
}

impl Forwarder {
    /// Starts the thread, for so many connections.
    pub(crate) fn start(connections_max: usize) -> io::Result<Forwarder> {
        Forwarder::start_with(connections_max, WAIT_MS_MAX)
    }

    fn start_with(connections_max: usize, wait_ms: i64) -> io::Result<Forwarder> {
        let poll = Poll::new()?;
        let waker = Arc::new(Waker::new(poll.registry(), WAKER)?);
        let (clients, taken) = channel();
        let leader = Arc::new(Mutex::new(Err("this node is starting: try again".to_owned())));
        let is_over = Arc::new(AtomicBool::new(false));
        let mut work = Work {
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

    /// Takes a client's connection.
    pub(crate) fn take(&self, client: TcpStream) {
        // Where the thread has ended the connection is closed by this.
        if self.clients.send(client).is_ok() {
            self.wake();
        }
    }

    /// Takes the leader's main port. Connections to another one are closed.
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

/// One direction.
#[derive(Default)]
struct Flow {
    bytes: Vec<u8>,
    /// Sent of them.
    sent: usize,
    /// Nothing more comes.
    has_ended: bool,
    /// The other side was told.
    is_closed: bool,
}

/// A client and the leader.
struct Pair {
    client: TcpStream,
    leader: TcpStream,
    address: SocketAddr,
    to_leader: Flow,
    to_client: Flow,
    /// The leader has taken the connection; nothing of the client was read before.
    is_there: bool,
    /// Until then the client waits for one that does, ms.
    until_ms: i64,
}

/// A client without a connection to the leader.
struct Waiting {
    client: TcpStream,
    until_ms: i64,
    /// Nothing is tried before, ms.
    from_ms: i64,
}

struct Work {
    poll: Poll,
    taken: Receiver<TcpStream>,
    leader: Arc<Mutex<Leader>>,
    is_over: Arc<AtomicBool>,
    clock: Clock,
    connections_max: usize,
    /// How long a client waits.
    wait_ms: i64,
    waiting: VecDeque<Waiting>,
    pairs: Slab<Pair>,
}

impl Work {
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
            self.take(&leader);
            for event in &events {
                if event.token() != WAKER {
                    self.pump(event.token().0 / 2);
                }
            }
        }
        Ok(())
    }

    /// Closes connections to a node that leads no more.
    fn part_from_others(&mut self, leader: &Leader) {
        let leader = leader.as_ref().ok();
        let is_old = |(key, pair): (usize, &Pair)| (Some(&pair.address) != leader).then_some(key);
        let old: Vec<usize> = self.pairs.iter().filter_map(is_old).collect();
        old.into_iter().for_each(|key| self.end(key, 0));
    }

    /// Connects those who have come, and refuses those who have waited for too long.
    fn take(&mut self, leader: &Leader) {
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

    /// Moves what can be moved.
    fn pump(&mut self, key: usize) {
        let Some(pair) = self.pairs.get_mut(key) else { return };
        if !pair.is_there {
            match has_connected(&pair.leader) {
                Ok(is_there) => pair.is_there = is_there,
                // Such as a leader that was killed: another one may lead soon.
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

    /// Ends a pair. A client of whom the leader has heard nothing waits for another try, after a pause.
    fn end(&mut self, key: usize, pause_ms: i64) {
        if let Some(mut pair) = self.pairs.try_remove(key) {
            let registry = self.poll.registry();
            // They are closed with this in any case.
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

/// The poller tells of a pair by two tokens.
fn register(pair: &mut Pair, key: usize, registry: &Registry) -> io::Result<()> {
    let interest = Interest::READABLE | Interest::WRITABLE;
    registry.register(&mut pair.client, Token(2 * key), interest)?;
    registry.register(&mut pair.leader, Token(2 * key + 1), interest)
}

/// Whether a connection that was begun stands; an error where it does not come to that.
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

/// Reads and writes until one side would wait.
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
                    // It is not connected yet.
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

/// True when it is to be tried again when the poller says so.
fn waits(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::NotConnected | ErrorKind::Interrupted)
}

/// Returns what a client is told that has waited for a leader in vain.
fn no_leader(leader: &Leader) -> String {
    match leader {
        Ok(address) => format!(
            "-CLUSTERDOWN no node leads shard 0: the one that did, at {address}, takes no connection: try again\r\n"
        ),
        Err(why) => format!("-CLUSTERDOWN no node leads shard 0: {why}\r\n"),
    }
}

fn refuse(mut client: TcpStream, why: &str) {
    // A few bytes into an empty socket; the client sees its end in any case.
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
        forwarder.take(TcpStream::from_std(taken));
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
        // Nobody takes this one: it is told so, and not only closed.
        let forwarder = Forwarder::start(2).expect("it starts");
        forwarder.leader_is(Ok(address));
        let mut other = connected(&forwarder);
        let mut said = Vec::new();
        other.read_to_end(&mut said).expect("words, and the end");
        assert!(said.starts_with(b"-CLUSTERDOWN"), "{}", said.escape_ascii());
    }
}
