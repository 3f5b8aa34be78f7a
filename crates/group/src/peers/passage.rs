//! Passages: connections by which the HTTP door of a node asks the store of the leader. The dialling node greets as a
//! member does. After that, bytes are passed in both directions, on each node between the socket and a local one. To
//! the leader's store a passage looks like a connection of the HTTP door in its own process, so it has the same rights.

use super::greeting::Greeting;
use super::roster::{NoLink, Roster};
use super::socket::{DialledSocket, Socket};
use mio::{Events, Interest, Poll, Token};
use scurry_consensus::replica::NodeId;
use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

/// Divisor of the time for a greeting between nodes: clients wait for a passage, so it fails sooner.
const GREETING_DIVISOR: i64 = 5;
/// Size of the buffer for each direction, bytes.
const BUFFER_LEN: usize = 64 << 10;

/// The passages that this node has dialled, all to the leader. Dropping it closes them.
pub struct Passages {
    roster: Arc<Roster>,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    leader: Option<(NodeId, SocketAddr)>,
    /// Sockets of the passages to the leader, including those that are not connected yet, by number.
    open: BTreeMap<u64, TcpStream>,
    /// The number of the last passage.
    last: u64,
}

/// The entry of an open passage. Dropping it removes the entry.
struct Opened {
    state: Arc<Mutex<State>>,
    number: u64,
}

impl Drop for Opened {
    fn drop(&mut self) {
        locked(&self.state).open.remove(&self.number);
    }
}

impl Passages {
    pub(super) fn new(roster: Arc<Roster>) -> Passages {
        Passages { roster, state: Arc::default() }
    }

    /// Sets the leader, with its address for nodes. Passages to another node are closed, so that clients that wait
    /// there can retry.
    pub(crate) fn leader_is(&self, leader: Option<(NodeId, SocketAddr)>) {
        let mut state = locked(&self.state);
        if state.leader != leader {
            state.leader = leader;
            state.end();
        }
    }

    /// Opens a non-blocking connection to the store of the leader, which speaks RESP.
    ///
    /// # Errors
    ///
    /// The reason in words. Nothing was sent then.
    pub fn open(&self) -> Result<UnixStream, String> {
        let leader = locked(&self.state).leader;
        let (node, address) = leader.ok_or("no node of the group leads: try again")?;
        if node == self.roster.own.node {
            return Err("this node was just elected: try again".to_owned());
        }
        self.dial(node, address).map_err(|no_link| match no_link {
            NoLink::NotReached(error) => format!("the node that leads is not reached: {error}"),
            NoLink::Refused(words) => format!("the node that leads refuses this one: {words}"),
        })
    }

    fn dial(&self, node: NodeId, address: SocketAddr) -> Result<UnixStream, NoLink> {
        let dialling = DialledSocket::new(address)?;
        let opened = self.opened((node, address), dialling.copy()?)?;
        let within_ms = self.roster.sockets.greeting_ms / GREETING_DIVISOR;
        let stream = dialling.connect(address, within_ms)?;
        let mut socket = self.roster.sockets.dialled(stream, within_ms)?;
        self.roster.introduce(&mut socket, node, Greeting::Passage)?;
        // `State::end` may have run before the socket was connected, when shutting it down had no effect.
        if !locked(&self.state).open.contains_key(&opened.number) {
            return Err(elsewhere().into());
        }
        let (ours, theirs) = UnixStream::pair()?;
        ours.set_nonblocking(true)?;
        thread::Builder::new().name("passage".to_owned()).spawn(move || {
            let outcome = carry(&mut socket, theirs);
            tracing::debug!(%node, "a passage has ended: {outcome:?}");
            socket.close();
            drop(opened);
        })?;
        Ok(ours)
    }

    /// Registers a passage, unless another node leads by now.
    fn opened(&self, to: (NodeId, SocketAddr), stream: TcpStream) -> io::Result<Opened> {
        let mut state = locked(&self.state);
        if state.leader != Some(to) {
            return Err(elsewhere());
        }
        state.last += 1;
        let number = state.last;
        state.open.insert(number, stream);
        Ok(Opened { state: Arc::clone(&self.state), number })
    }
}

impl Drop for Passages {
    fn drop(&mut self) {
        locked(&self.state).end();
    }
}

impl State {
    fn end(&mut self) {
        for stream in std::mem::take(&mut self.open).into_values() {
            // An error means that it has ended, or is not connected yet.
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

fn locked(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

fn elsewhere() -> io::Error {
    io::Error::new(io::ErrorKind::ConnectionAborted, "another node leads now")
}

/// Passes bytes between the socket of a node and a local one, until one of them has ended and everything read from it
/// was sent.
pub(super) fn carry(far: &mut Socket, mut near: UnixStream) -> io::Result<()> {
    far.set_nonblocking()?;
    near.set_nonblocking(true)?;
    let mut poll = Poll::new()?;
    let interest = Interest::READABLE | Interest::WRITABLE;
    let mut far_name = mio::net::TcpStream::from_std(far.copy()?);
    let mut near_name = mio::net::UnixStream::from_std(near.try_clone()?);
    poll.registry().register(&mut far_name, Token(0), interest)?;
    poll.registry().register(&mut near_name, Token(1), interest)?;
    let mut events = Events::with_capacity(4);
    let (mut out, mut back) = (Flow::default(), Flow::default());
    loop {
        // The poller reports each change only once, so both directions run until they would block.
        while out.step(&mut near, far)? | back.step(far, &mut near)? {}
        if out.is_over || back.is_over {
            return Ok(());
        }
        if let Err(error) = poll.poll(&mut events, None)
            && error.kind() != io::ErrorKind::Interrupted
        {
            return Err(error);
        }
    }
}

/// One side of a passage. Its calls do not block.
trait PassageSide {
    fn read_available(&mut self, room: &mut [u8]) -> io::Result<usize>;
    fn put(&mut self, bytes: &[u8]) -> io::Result<usize>;
    /// Sends what [`Side::put`] has accepted and not sent. An error while some of it is left.
    fn push(&mut self) -> io::Result<()>;
}

impl PassageSide for Socket {
    fn read_available(&mut self, room: &mut [u8]) -> io::Result<usize> {
        Socket::read_available(self, room)
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Socket::put(self, bytes)
    }

    fn push(&mut self) -> io::Result<()> {
        Socket::push(self)
    }
}

impl PassageSide for UnixStream {
    fn read_available(&mut self, room: &mut [u8]) -> io::Result<usize> {
        self.read(room)
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write(bytes)
    }

    fn push(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// One direction of a passage.
#[derive(Default)]
struct Flow {
    bytes: Vec<u8>,
    /// How many of the bytes [`Side::put`] has accepted.
    put: usize,
    /// The sender has closed its side, or has failed.
    has_ended: bool,
    /// That is so, and all its bytes were sent.
    is_over: bool,
}

impl Flow {
    /// Moves some bytes. Returns false if it would block.
    fn step(&mut self, from: &mut impl PassageSide, to: &mut impl PassageSide) -> io::Result<bool> {
        if self.is_over {
            return Ok(false);
        }
        let mut moves = false;
        if self.bytes.is_empty() && !self.has_ended {
            self.bytes.resize(BUFFER_LEN, 0);
            let taken = now(|| from.read_available(&mut self.bytes));
            self.bytes.truncate(*taken.as_ref().ok().and_then(Option::as_ref).unwrap_or(&0));
            moves = !matches!(taken, Ok(None));
            // A failed read counts as an end: bytes that were read before are still sent.
            self.has_ended = moves && self.bytes.is_empty();
        }
        if self.put < self.bytes.len()
            && let Some(put) = now(|| to.put(&self.bytes[self.put..]))?
        {
            self.put += put;
            moves = true;
        }
        if self.put == self.bytes.len() {
            (self.bytes, self.put) = (Vec::new(), 0);
            self.is_over = now(|| to.push())?.is_some() && self.has_ended;
        }
        Ok(moves)
    }
}

/// Runs an operation. Returns None if it would block and has to wait for the next event.
fn now<T>(mut act: impl FnMut() -> io::Result<T>) -> io::Result<Option<T>> {
    loop {
        match act() {
            Ok(value) => return Ok(Some(value)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}
