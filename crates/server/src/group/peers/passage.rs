//! Passages: connections by which the HTTP door of a node asks the store of the node that leads. Who has dialled greets
//! as a member does; from then on bytes go in both directions, between the socket and one within each process. There
//! they look like what the door of that process asks, so a passage has what the door has, and no more.

use super::greeting::Greeting;
use super::roster::{NoLink, Roster};
use super::socket::{Dialling, Socket};
use mio::{Events, Interest, Poll, Token};
use scurry_consensus::replica::NodeId;
use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

/// A part of the time for a greeting between nodes: requests wait for this one, and are told sooner.
const HASTE: i64 = 5;
/// Bytes that are on their way in one direction.
const BUFFER_LEN: usize = 64 << 10;

/// The passages that this node has dialled, all to the node that leads. They end with this.
pub(crate) struct Passages {
    roster: Arc<Roster>,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    leader: Option<(NodeId, SocketAddr)>,
    /// Passages to it, also those that are not connected yet.
    open: BTreeMap<u64, TcpStream>,
    /// The number of the last one.
    last: u64,
}

/// A passage among those that are open, until it is dropped.
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

    /// The leader, and its address for nodes. Passages to another node end: who waits there may ask anew.
    pub(crate) fn leader_is(&self, leader: Option<(NodeId, SocketAddr)>) {
        let mut state = locked(&self.state);
        if state.leader != leader {
            state.leader = leader;
            state.end();
        }
    }

    /// A connection to the store of the node that leads; it speaks RESP, and does not block. An error in words means
    /// that nothing was sent.
    pub(crate) fn open(&self) -> Result<UnixStream, String> {
        let leader = locked(&self.state).leader;
        let (node, address) = leader.ok_or("no node of the group leads: try again")?;
        if node == self.roster.own.node {
            return Err("this node has come to lead: try again".to_owned());
        }
        self.dial(node, address).map_err(|no_link| match no_link {
            NoLink::Away(error) => format!("the node that leads is not reached: {error}"),
            NoLink::Refused(words) => format!("the node that leads refuses this one: {words}"),
        })
    }

    fn dial(&self, node: NodeId, address: SocketAddr) -> Result<UnixStream, NoLink> {
        let dialling = Dialling::new(address)?;
        let opened = self.opened((node, address), dialling.copy()?)?;
        let within_ms = self.roster.sockets.greeting_ms / HASTE;
        let stream = dialling.connect(address, within_ms)?;
        let mut socket = self.roster.sockets.dialled(stream, within_ms)?;
        self.roster.introduce(&mut socket, node, Greeting::Passage)?;
        // A socket that was not connected yet was not shut down when another node came to lead.
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

    /// One more, unless another node leads by now.
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
            // It may have ended, or not have begun.
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

fn locked(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

fn elsewhere() -> io::Error {
    io::Error::new(io::ErrorKind::ConnectionAborted, "another node has come to lead")
}

/// Moves bytes between a node and a socket of this process until one of both has ended, and the other has got what was
/// sent before.
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
        // The poller tells of each change once: both directions go on until they would wait.
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

/// One side of a passage, which never waits.
trait Side {
    fn take(&mut self, room: &mut [u8]) -> io::Result<usize>;
    fn put(&mut self, bytes: &[u8]) -> io::Result<usize>;
    /// Sends what was put and has not left; an error while some of it stays.
    fn push(&mut self) -> io::Result<()>;
}

impl Side for Socket {
    fn take(&mut self, room: &mut [u8]) -> io::Result<usize> {
        Socket::take(self, room)
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Socket::put(self, bytes)
    }

    fn push(&mut self) -> io::Result<()> {
        Socket::push(self)
    }
}

impl Side for UnixStream {
    fn take(&mut self, room: &mut [u8]) -> io::Result<usize> {
        self.read(room)
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write(bytes)
    }

    fn push(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// One direction.
#[derive(Default)]
struct Flow {
    bytes: Vec<u8>,
    /// Put of them.
    put: usize,
    /// Nothing more comes.
    has_ended: bool,
    /// And all of it has left.
    is_over: bool,
}

impl Flow {
    /// Moves some bytes; false when it would have to wait.
    fn step(&mut self, from: &mut impl Side, to: &mut impl Side) -> io::Result<bool> {
        if self.is_over {
            return Ok(false);
        }
        let mut moves = false;
        if self.bytes.is_empty() && !self.has_ended {
            self.bytes.resize(BUFFER_LEN, 0);
            let taken = now(|| from.take(&mut self.bytes));
            self.bytes.truncate(*taken.as_ref().ok().and_then(Option::as_ref).unwrap_or(&0));
            moves = !matches!(taken, Ok(None));
            // An end without a word is an end, too: what came before it goes on.
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

/// The outcome; none when it is to be tried again when the poller says so.
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
