//! State that all threads of the connections share: the members, the connections in both directions, and what the host
//! was told of them. Also the link to each node: a thread that dials it, retries, and writes the queued packets.

use super::bytes::malformed;
use super::greeting::{Answer, Greeting, Hello, Unreadable, greet};
use super::packet::{Packet, Subject, write_packets};
use super::socket::{DialledSocket, Socket, Sockets};
use super::versions::Versions;
use super::{Enter, Identity, Inbound, Inbox};
use crate::clock::Clock;
use crate::clocks::{ClockSchedule, Clocks};
use scurry_codec::ByteCount;
use scurry_consensus::replica::NodeId;
use scurry_ledger::Time;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Most accepted connections that have not finished the greeting.
pub(super) const GREETING_MAX: usize = 64;
/// Most open passages from one node: twice as many as its door uses, since abandoned ones may still be open.
pub(super) const PASSAGES_MAX: usize = 32;
/// Interval between two reports of refused or failed connections, ms.
const STRANGE_MS: i64 = 1_000;
/// Interval between two reports with the same words, ms: one hour.
const SAME_MS: i64 = 3_600_000;
/// Most different reports that are remembered. At this number all are forgotten.
const STRANGE_MAX: usize = 64;
/// Words of the refusal of a node that is not known here, and of a node that waits for the answer to its own request to
/// join.
pub(super) const NOT_YET: &str = "it has not been admitted yet";
/// Refusals with [`NOT_YET`] in a row before one is logged. They are normal for a node that has just joined: it knows
/// members that have not heard of it yet. This many take about a minute.
const NOT_YET_TIMES: u32 = 80;
/// Most former members that are remembered.
const FORMER_MAX: usize = 64;

/// Returns how often a refusal must occur before it is logged.
fn times_before_told(words: &str) -> u32 {
    if words.contains(NOT_YET) { NOT_YET_TIMES } else { 1 }
}

/// The shared state of the connections, with the settings that all threads need.
pub(super) struct Roster {
    pub(super) own: Identity,
    pub(super) sockets: Sockets,
    pub(super) clocks: Arc<Clocks>,
    inbox: Inbox,
    /// Opens a connection to the store of this process.
    pub(super) enter: Enter,
    /// The version of the protocol that each node of the group has to speak.
    required: AtomicU16,
    state: Mutex<State>,
    stopped: Condvar,
}

#[derive(Default)]
struct State {
    stopping: bool,
    members: BTreeSet<NodeId>,
    /// Nodes that the host has admitted and has not set as members yet.
    admitted: BTreeSet<NodeId>,
    links: BTreeMap<NodeId, Arc<Link>>,
    peers: BTreeMap<NodeId, Peer>,
    /// Accepted connections that have not finished the greeting, or wait for the answer to a join request; by number.
    greeting: BTreeMap<u64, TcpStream>,
    /// Passages that members have dialled, by the number of the connection.
    passages: BTreeMap<u64, (NodeId, TcpStream)>,
    /// The number of the last accepted connection.
    last: u64,
    /// When the last refusal or failure was reported, ms of uptime.
    strange_ms: Option<i64>,
    /// For the words of each report: how often it has occurred, and when it was last reported.
    strange: BTreeMap<String, (u32, Option<i64>)>,
    /// Nodes that were members since this one was started, and are not any more.
    former: BTreeSet<NodeId>,
}

/// The connections with one node.
#[derive(Default)]
struct Peer {
    /// The connection that the node has dialled, and its number.
    incoming: Option<(u64, TcpStream)>,
    outgoing: bool,
    /// Whether the host was last told that the node is connected.
    told: bool,
}

/// A slot among the connections that are being greeted. Dropping it frees the slot.
pub(super) struct GreetingSlot {
    roster: Arc<Roster>,
    number: u64,
}

/// A connection on which a member sends. Dropping it ends its registration.
pub(super) struct Incoming {
    roster: Arc<Roster>,
    pub(super) node: NodeId,
    number: u64,
}

/// A passage that a member has dialled. Dropping it ends its registration.
pub(super) struct OpenPassage {
    roster: Arc<Roster>,
    pub(super) node: NodeId,
    number: u64,
}

impl Drop for OpenPassage {
    fn drop(&mut self) {
        self.roster.state().passages.remove(&self.number);
    }
}

impl Drop for GreetingSlot {
    fn drop(&mut self) {
        self.roster.state().greeting.remove(&self.number);
    }
}

impl Drop for Incoming {
    fn drop(&mut self) {
        let mut state = self.roster.state();
        let Some(peer) = state.peers.get_mut(&self.node) else { return };
        // A newer connection of the node may have replaced this one.
        if peer.incoming.take_if(|(number, _)| *number == self.number).is_some() {
            self.roster.tell(&mut state, self.node);
        }
    }
}

impl State {
    fn knows(&self, node: NodeId) -> bool {
        self.members.contains(&node) || self.admitted.contains(&node)
    }

    /// Updates the former members for a new set of members.
    fn note_former(&mut self, members: &BTreeSet<NodeId>) {
        self.former.extend(&self.members);
        self.former.retain(|node| !members.contains(node));
        while self.former.len() > FORMER_MAX {
            self.former.pop_first();
        }
    }
}

impl Roster {
    pub(super) fn new(
        own: Identity,
        (inbox, enter): (Inbox, Enter),
        sockets: Sockets,
        clocks: Arc<Clocks>,
    ) -> Roster {
        let (state, stopped) = (Mutex::default(), Condvar::new());
        let required = AtomicU16::new(own.required);
        Roster { own, sockets, clocks, inbox, enter, required, state, stopped }
    }

    /// Returns the versions of the protocol that this node speaks with others of its group.
    pub(super) fn versions(&self) -> Versions {
        Versions::from(self.required.load(Ordering::Relaxed))
    }

    /// Refuses connections from now on with nodes that do not speak this version.
    pub(super) fn require(&self, version: u16) {
        self.required.fetch_max(version, Ordering::Relaxed);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Passes a message to the host.
    pub(super) fn hand(&self, inbound: Inbound) {
        (self.inbox)(inbound);
    }

    /// Reports a refused or failed connection to the host: at most one report a second, and the same words once an
    /// hour, or again after the members have changed.
    pub(super) fn strange(&self, connection: &str, words: String) {
        let now_ms = self.sockets.clock.read().uptime_ms;
        let is_over = |before_ms: Option<i64>, pause_ms| {
            before_ms.is_none_or(|before_ms| now_ms - before_ms >= pause_ms)
        };
        let mut state = self.state();
        let is_due = is_over(state.strange_ms, STRANGE_MS);
        if state.strange.len() >= STRANGE_MAX && !state.strange.contains_key(&words) {
            state.strange.clear();
        }
        let times = times_before_told(&words);
        let (came, told_ms) = state.strange.entry(words.clone()).or_default();
        *came += 1;
        if *came >= times && is_due && is_over(*told_ms, SAME_MS) {
            *told_ms = Some(now_ms);
            state.strange_ms = Some(now_ms);
            self.hand(Inbound::Strange { text: format!("{connection}{words}") });
        }
    }

    /// Returns a slot for a new connection. None if too many are being greeted, or if this node is stopping.
    pub(super) fn place(self: &Arc<Self>, stream: &TcpStream) -> Option<GreetingSlot> {
        let copy = stream.try_clone().ok()?;
        let mut state = self.state();
        if state.stopping || state.greeting.len() >= GREETING_MAX {
            return None;
        }
        state.last += 1;
        let number = state.last;
        state.greeting.insert(number, copy);
        Some(GreetingSlot { roster: Arc::clone(self), number })
    }

    /// Registers the connection on which a member will send. An older connection of the node is closed.
    pub(super) fn arrive(
        self: &Arc<Self>,
        hello: &Hello,
        place: &GreetingSlot,
    ) -> Result<Incoming, String> {
        let node = hello.node;
        let (mut state, stream) = self.check_in(hello, place)?;
        let peer = state.peers.entry(node).or_default();
        if let Some((_, before)) = peer.incoming.replace((place.number, stream)) {
            // An error means that it has ended already.
            let _ = before.shutdown(Shutdown::Both);
        }
        self.hand(Inbound::Hello { from: node, addresses: hello.addresses.clone() });
        self.tell(&mut state, node);
        // The node is up: the link need not wait before it dials again.
        state.links.get(&node).inspect(|link| link.is_there());
        Ok(Incoming { roster: Arc::clone(self), node, number: place.number })
    }

    /// Registers a passage, by which the door of a member asks the store of this process.
    pub(super) fn pass(
        self: &Arc<Self>,
        hello: &Hello,
        place: &GreetingSlot,
    ) -> Result<OpenPassage, String> {
        let node = hello.node;
        let (mut state, stream) = self.check_in(hello, place)?;
        let theirs = state.passages.values().filter(|(other, _)| *other == node).count();
        if theirs >= PASSAGES_MAX {
            return Err(format!("node {node} has {theirs} passages: it uses those"));
        }
        state.passages.insert(place.number, (node, stream));
        Ok(OpenPassage { roster: Arc::clone(self), node, number: place.number })
    }

    /// Checks that a connection is a member's, and takes it out of those that are being greeted.
    fn check_in(
        &self,
        hello: &Hello,
        place: &GreetingSlot,
    ) -> Result<(MutexGuard<'_, State>, TcpStream), String> {
        self.check(hello)?;
        let node = hello.node;
        let mut state = self.state();
        if !state.knows(node) {
            let why = if state.former.contains(&node) {
                "it was removed".to_owned()
            } else {
                format!("{NOT_YET}, or was removed")
            };
            return Err(format!(
                "node {node} is no member of this group: {why}. A node that was removed joins again with an empty \
                 directory"
            ));
        }
        let stream = state.greeting.remove(&place.number).filter(|_| !state.stopping);
        let stream = stream.ok_or("this node stops")?;
        Ok((state, stream))
    }

    /// Checks that the dialling node is of this group and means this node.
    fn check(&self, hello: &Hello) -> Result<(), String> {
        let Identity { node, store, threads, .. } = &self.own;
        let (node, store, threads) = (*node, *store, *threads);
        if hello.node == node {
            return Err(format!(
                "node {node} has dialled itself, or two nodes have its id: an address of a node leads \
                 to another than it should, or a directory was copied"
            ));
        }
        if let Err(words) = check_store(hello.store, store) {
            let (by, at, target) = (hello.node, hello.addresses.peer, hello.target);
            // A node of the lost group is told that it is to end; this one goes on.
            if self.own.succeeds.as_ref().is_none_or(|lost| lost.store != hello.store) {
                self.hand(Inbound::Mistaken { by, at, target });
            }
            return Err(words);
        }
        if hello.target != node {
            return Err(format!(
                "this is node {node} and not node {}, which node {} has dialled: the address of that \
                 node leads here. It joins again, or the addresses are to be put right",
                hello.target, hello.node
            ));
        }
        check_threads(hello.threads, threads)
    }

    /// Lets a node connect that the host has admitted, before it is set as a member.
    pub(super) fn admit(&self, node: NodeId) {
        let mut state = self.state();
        if !state.members.contains(&node) {
            state.admitted.insert(node);
        }
    }

    /// Sets the members and the links to them. Connections of other nodes are closed.
    pub(super) fn set(&self, members: BTreeSet<NodeId>, links: BTreeMap<NodeId, Arc<Link>>) {
        self.clocks.keep_only(&members);
        let mut state = self.state();
        // A node that is a member now loses the entry that was for the time before. If it stayed, the node could still
        // connect after a removal.
        state.admitted.retain(|node| !members.contains(node));
        if state.members != members {
            state.note_former(&members);
            state.strange.clear();
            state.members = members;
        }
        let before = std::mem::replace(&mut state.links, links);
        let peers: Vec<NodeId> = state.peers.keys().copied().collect();
        for node in peers {
            let known = state.knows(node);
            let same =
                before.get(&node).map(Arc::as_ptr) == state.links.get(&node).map(Arc::as_ptr);
            let Some(peer) = state.peers.get_mut(&node) else { continue };
            if let Some((_, stream)) = peer.incoming.take_if(|_| !known) {
                // An error means that it has ended already.
                let _ = stream.shutdown(Shutdown::Both);
            }
            peer.outgoing &= same;
            self.tell(&mut state, node);
        }
        for (_, stream) in state.passages.values().filter(|(node, _)| !state.knows(*node)) {
            // An error means that it has ended already.
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    /// Notes that the connection of a link was established or has ended.
    pub(super) fn dialled(&self, link: &Link, stands: bool) {
        let mut state = self.state();
        // A newer link to the same node may have replaced this one. Its connection is not affected.
        if state.links.get(&link.node).is_some_and(|now| std::ptr::eq(&raw const **now, link)) {
            state.peers.entry(link.node).or_default().outgoing = stands;
            self.tell(&mut state, link.node);
        }
    }

    /// Tells the host whether a node is connected, if that has changed. The state stays locked meanwhile, so that the
    /// host gets these messages in the order of the events.
    fn tell(&self, state: &mut State, node: NodeId) {
        let Some(peer) = state.peers.get_mut(&node) else { return };
        let connected = peer.incoming.is_some() && peer.outgoing;
        if connected != peer.told {
            peer.told = connected;
            let tell = if connected { Inbound::Connected } else { Inbound::Lost };
            self.hand(tell(node));
        }
        if peer.incoming.is_none() && !peer.outgoing {
            state.peers.remove(&node);
        }
    }

    /// Sends this node's greeting on a socket that was dialled, and checks the answer. Returns the highest version of
    /// the protocol that both sides speak.
    pub(super) fn introduce(
        &self,
        socket: &mut Socket,
        target: NodeId,
        as_what: fn(Hello) -> Greeting,
    ) -> Result<u16, NoLink> {
        let own = &self.own;
        let (store, node, threads) = (own.store, own.node, own.threads);
        let hello = Hello { store, node, target, threads, addresses: own.addresses.clone() };
        match greet(socket, self.versions(), &as_what(hello)) {
            Ok((Answer::Welcome { store, node, threads }, version)) => {
                let same = if node == target {
                    check_store(store, own.store).and_then(|()| check_threads(threads, own.threads))
                } else {
                    Err(format!("node {node} is there, and no node {target}"))
                };
                same.map(|()| version).map_err(NoLink::Refused)
            }
            Ok((Answer::Refusal(words), _)) => Err(NoLink::Refused(words)),
            Ok((Answer::Join(_), _)) => Err(malformed("an answer to another question").into()),
            Err(Unreadable::Words(words)) => Err(NoLink::Refused(words)),
            Err(Unreadable::Io(error)) => Err(error.into()),
        }
    }

    /// Closes all accepted connections, and refuses further ones.
    pub(super) fn stop(&self) {
        let mut state = self.state();
        state.stopping = true;
        let incoming = state.peers.values().filter_map(|peer| peer.incoming.as_ref());
        let passages = state.passages.values().map(|(_, stream)| stream);
        let others = incoming.map(|(_, stream)| stream).chain(passages);
        for stream in state.greeting.values().chain(others) {
            let _ = stream.shutdown(Shutdown::Both);
        }
        self.stopped.notify_all();
    }

    pub(super) fn is_stopping(&self) -> bool {
        self.state().stopping
    }

    /// Waits, or returns at once if this node is stopping.
    pub(super) fn pause(&self, pause: Duration) {
        let state = self.state();
        let outcome = self.stopped.wait_timeout_while(state, pause, |state| !state.stopping);
        drop(outcome);
    }
}

/// Refuses a node with another store.
pub(super) fn check_store(theirs: u64, own: u64) -> Result<(), String> {
    if theirs == own {
        return Ok(());
    }
    Err(format!(
        "the other node has store {theirs:016x} and this one store {own:016x}: they are of two groups, and \
         an address leads from one to the other"
    ))
}

/// Refuses a node with another number of threads.
pub(super) fn check_threads(theirs: u16, own: u16) -> Result<(), String> {
    if theirs == own {
        return Ok(());
    }
    Err(format!(
        "the other node has {theirs} threads and this one {own}: start all nodes of a group with the same \
         --threads"
    ))
}

/// Most bytes that are queued for one node. A longer packet is accepted only by an empty queue.
const WAITING_LEN_MAX: ByteCount = ByteCount(16 << 20);
/// Least bytes of entries and snapshots that may be queued for a node behind a slow link.
const ROOM_MIN: ByteCount = ByteCount(16 << 10);
/// The room before the first write, bytes.
const ROOM_FIRST: ByteCount = ByteCount(256 << 10);
/// Most bytes of several packets that are written before the room is judged again.
const PIECE_LEN: ByteCount = ByteCount(256 << 10);
/// Least bytes of a quick write that show that there is more room.
const LONG_ENOUGH: ByteCount = ByteCount(16 << 10);
/// Most bytes that the system keeps unsent, of a link that is not slow, and of a slow one. A write into a longer buffer
/// would say nothing about the link, and bytes in a buffer cannot be left out any more.
const UNSENT: u32 = 128 << 10;
const UNSENT_SLOW: u32 = 16 << 10;
/// A write that takes longer shows how much the link carries in this time.
const WRITE_NS_LONG: u64 = 500_000_000;
/// The first pause before another attempt. Each further one is twice as long.
const PAUSE_FIRST: Duration = Duration::from_millis(20);
/// The longest pause after an attempt without an answer.
const PAUSE_MAX: Duration = Duration::from_millis(500);
/// The longest pause after a refusal.
const PAUSE_REFUSED_MAX: Duration = Duration::from_millis(750);

/// Longest time without a look whether a clock message is due.
const CLOCK_PAUSE: Duration = Duration::from_millis(500);

/// Returns the packet with the time of this node's wall clock.
fn clock_packet(time: Time) -> Packet {
    let message = time.0.to_le_bytes().to_vec();
    Packet { subject: Subject::Clock, shard: 0, message, bodies: Vec::new() }
}

/// The link to one node, shared by its thread and those that send.
pub(super) struct Link {
    pub(super) node: NodeId,
    pub(super) address: SocketAddr,
    waiting: Mutex<Waiting>,
    bell: Condvar,
}

struct Waiting {
    packets: Vec<Packet>,
    /// Bytes of the queued packets, and of those that are being written.
    len: ByteCount,
    /// Bytes of packets with frames that are queued or being written, by source. A source stays, with 0 bytes.
    queued: BTreeMap<Source, ByteCount>,
    /// Most bytes of packets with frames that are queued of one source: about what the link carries in half a second. A
    /// replica sends entries again that are not acknowledged, so behind a slow link a long queue would have most of them
    /// many times.
    room: ByteCount,
    /// The version of the protocol that the connection uses. None without a connection: packets are then refused.
    connected: Option<u16>,
    /// The other side has closed the connection, so the thread has to end it.
    over: bool,
    /// The node has just connected to this one: the thread dials it without waiting.
    there: bool,
    stopping: bool,
    /// The socket, even before it is connected, so that [`Link::stop`] can shut it down.
    socket: Option<TcpStream>,
}

impl Waiting {
    fn new() -> Waiting {
        Waiting {
            packets: Vec::new(),
            len: ByteCount(0),
            queued: BTreeMap::new(),
            room: ROOM_FIRST,
            connected: None,
            over: false,
            there: false,
            stopping: false,
            socket: None,
        }
    }

    /// Notes that packets were written. Returns their bytes.
    fn note_written(&mut self, packets: &[Packet]) -> ByteCount {
        let mut all = ByteCount(0);
        for packet in packets {
            let len = packet.len();
            all += len;
            if let Some(source) = source_of(packet)
                && let Some(queued) = self.queued.get_mut(&source)
            {
                *queued -= len;
            }
        }
        self.len -= all;
        all
    }
}

/// What packets with frames are about: entries or a snapshot, of a shard. Each has the same chance to be queued, so that
/// none waits until all others are done.
type Source = (u8, u16);

/// Returns the source of a packet with frames.
fn source_of(packet: &Packet) -> Option<Source> {
    (!packet.bodies.is_empty()).then(|| (packet.subject.number(), packet.shard))
}

/// Returns how many of the packets, at least one, are written before the room is judged again.
fn piece_of(packets: &[Packet], room: ByteCount) -> usize {
    let mut len = ByteCount(0);
    let fits = |packet: &&Packet| {
        len += packet.len();
        len <= PIECE_LEN.min(room)
    };
    packets.iter().take_while(fits).count().max(1).min(packets.len())
}

/// Returns the room for packets with frames after a write of so many bytes, from what it was before. A short write says
/// little: it may have found room in the buffers of the system.
fn room_after(room: ByteCount, written: ByteCount, took_ns: u64) -> ByteCount {
    if took_ns > WRITE_NS_LONG {
        let part = u128::from(written.0) * u128::from(WRITE_NS_LONG) / u128::from(took_ns);
        let carried = u64::try_from(part).unwrap_or(u64::MAX);
        return ByteCount(carried.clamp(ROOM_MIN.0, WAITING_LEN_MAX.0));
    }
    match written >= LONG_ENOUGH {
        true => (room + written).min(WAITING_LEN_MAX),
        false => room,
    }
}

/// Why there is no connection.
pub(super) enum NoLink {
    /// The node did not accept the connection or did not answer.
    NotReached(io::Error),
    /// One of the two sides has refused.
    Refused(String),
}

impl From<io::Error> for NoLink {
    fn from(error: io::Error) -> NoLink {
        NoLink::NotReached(error)
    }
}

impl Link {
    pub(super) fn new(node: NodeId, address: SocketAddr) -> Link {
        Link { node, address, waiting: Mutex::new(Waiting::new()), bell: Condvar::new() }
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Queues a packet. Returns false if there is no connection, or too much is queued.
    pub(super) fn send(&self, packet: Packet) -> bool {
        let len = packet.len();
        let mut waiting = self.waiting();
        let source = source_of(&packet);
        let queued = source.and_then(|source| waiting.queued.get(&source));
        let is_full = waiting.len > ByteCount(0) && waiting.len + len > WAITING_LEN_MAX
            || queued.is_some_and(|queued| *queued > ByteCount(0) && *queued + len > waiting.room);
        if waiting.connected.is_none() || is_full {
            return false;
        }
        waiting.len += len;
        if let Some(source) = source {
            *waiting.queued.entry(source).or_default() += len;
        }
        waiting.packets.push(packet);
        self.bell.notify_one();
        true
    }

    /// Returns how many bytes of frames it takes at a time.
    pub(super) fn room(&self) -> ByteCount {
        self.waiting().room
    }

    /// Returns the version of the protocol that the connection uses. None without a connection.
    pub(super) fn version(&self) -> Option<u16> {
        self.waiting().connected
    }

    /// Notes that the node is up, which ends the pause before the next attempt.
    pub(super) fn is_there(&self) {
        self.waiting().there = true;
        self.bell.notify_one();
    }

    /// Tells the thread to end. It may still be running when this returns.
    pub(super) fn stop(&self) {
        let mut waiting = self.waiting();
        waiting.stopping = true;
        if let Some(socket) = &waiting.socket {
            // An error means that it has ended already.
            let _ = socket.shutdown(Shutdown::Both);
        }
        self.bell.notify_one();
    }

    /// Dials the node, writes packets until the connection ends, and starts again, until the link is stopped.
    pub(super) fn run(&self, roster: &Roster) {
        let mut pause = PAUSE_FIRST;
        let (mut said, mut refusals) = (String::new(), 0);
        while !self.waiting().stopping {
            let longest = match self.dial(roster) {
                Ok(mut socket) => {
                    (pause, said, refusals) = (PAUSE_FIRST, String::new(), 0);
                    roster.dialled(self, true);
                    let ended = self.use_up(&mut socket, &roster.clocks, roster.sockets.clock);
                    tracing::debug!(node = %self.node, "a connection has ended: {ended:?}");
                    roster.dialled(self, false);
                    PAUSE_MAX
                }
                Err(NoLink::NotReached(error)) => {
                    tracing::debug!(node = %self.node, address = %self.address, "no connection: {error}");
                    PAUSE_MAX
                }
                Err(NoLink::Refused(words)) => {
                    refusals += 1;
                    if words != said
                        && refusals >= times_before_told(&words)
                        && !self.waiting().stopping
                    {
                        let (node, address) = (self.node, self.address);
                        tracing::warn!("no connection to node {node} at {address}: {words}");
                        said = words;
                    }
                    PAUSE_REFUSED_MAX
                }
            };
            self.hang_up();
            pause = pause.min(longest);
            let idle = |waiting: &mut Waiting| !waiting.stopping && !waiting.there;
            let waited = self.bell.wait_timeout_while(self.waiting(), pause, idle);
            waited.unwrap_or_else(PoisonError::into_inner).0.there = false;
            pause *= 2;
        }
    }

    /// Clears the socket and the queue.
    fn hang_up(&self) {
        let mut waiting = self.waiting();
        (waiting.socket, waiting.connected, waiting.over) = (None, None, false);
        (waiting.packets, waiting.len) = (Vec::new(), ByteCount(0));
        waiting.queued.clear();
    }

    fn dial(&self, roster: &Roster) -> Result<Socket, NoLink> {
        let greeting_ms = roster.sockets.greeting_ms;
        let dialling = DialledSocket::new(self.address)?;
        self.waiting().socket = Some(dialling.copy()?);
        let stream = dialling.connect(self.address, greeting_ms)?;
        // `stop` may have been called before the socket was connected, when shutting it down had no effect.
        if self.waiting().stopping {
            return Err(NoLink::NotReached(io::ErrorKind::ConnectionAborted.into()));
        }
        let mut socket = roster.sockets.dialled(stream, greeting_ms)?;
        let version = roster.introduce(&mut socket, self.node, Greeting::Hello)?;
        socket.settle()?;
        self.waiting().connected = Some(version);
        Ok(socket)
    }

    /// Writes packets until the connection ends. A second thread notices its end while there is nothing to write.
    fn use_up(&self, socket: &mut Socket, clocks: &Clocks, clock: Clock) -> io::Result<()> {
        let copy = socket.copy()?;
        thread::scope(|scope| {
            let watcher = thread::Builder::new().name(format!("at-node-{}", self.node));
            watcher.spawn_scoped(scope, || {
                // The other side sends nothing after its answer, so whatever this reads is the end.
                let said = copy.peek(&mut [0]);
                tracing::debug!(node = %self.node, "the other side has ended it: {said:?}");
                self.waiting().over = true;
                self.bell.notify_one();
            })?;
            let outcome = self.write(socket, clocks, clock);
            socket.close();
            outcome
        })
    }

    /// Writes packets and this node's clock until the connection ends or has to end.
    /// The clock is written first, so that a node which gets a vote from this one has its clock already.
    fn write(&self, socket: &mut Socket, clocks: &Clocks, clock: Clock) -> io::Result<()> {
        let mut telling = ClockSchedule::default();
        let mut is_slow = false;
        socket.keep_unsent(UNSENT)?;
        loop {
            let own = clocks.own();
            for _ in 0..telling.due(own) {
                write_packets(&[clock_packet(own.time)], socket)?;
            }
            let idle = |waiting: &mut Waiting| {
                waiting.packets.is_empty() && !waiting.stopping && !waiting.over
            };
            let waiting = self.bell.wait_timeout_while(self.waiting(), CLOCK_PAUSE, idle);
            let (mut waiting, _) = waiting.unwrap_or_else(PoisonError::into_inner);
            if waiting.stopping || waiting.over {
                return Ok(());
            }
            let packets = std::mem::take(&mut waiting.packets);
            let mut room = waiting.room;
            drop(waiting);
            if packets.is_empty() {
                continue;
            }
            let mut rest = packets.as_slice();
            while !rest.is_empty() {
                let (piece, after) = rest.split_at(piece_of(rest, room));
                if is_slow != (room < ROOM_FIRST) {
                    is_slow = !is_slow;
                    socket.keep_unsent(if is_slow { UNSENT_SLOW } else { UNSENT })?;
                }
                let begun_ns = clock.monotonic_ns();
                write_packets(piece, socket)?;
                let took_ns = clock.monotonic_ns().saturating_sub(begun_ns);
                let mut waiting = self.waiting();
                let len = waiting.note_written(piece);
                room = room_after(room, len, took_ns);
                waiting.room = room;
                rest = after;
            }
        }
    }
}

/// Starts the thread of a link.
pub(super) fn start(link: &Arc<Link>, roster: &Arc<Roster>) -> io::Result<JoinHandle<()>> {
    let (link, roster) = (Arc::clone(link), Arc::clone(roster));
    let name = format!("to-node-{}", link.node);
    thread::Builder::new().name(name).spawn(move || link.run(&roster))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Behind 512 kbit/s, 16 MiB of queued entries would take four minutes, and each of them would be sent many times.
    #[test]
    fn a_slow_link_has_room_for_what_it_carries_in_half_a_second() {
        let [second, short] = [1_000_000_000, 1_000_000];
        let room = room_after(WAITING_LEN_MAX, ByteCount(640_000), 10 * second);
        assert_eq!(room, ByteCount(32_000));
        let room = room_after(room, ByteCount(16_000), 4 * second);
        assert_eq!(room, ROOM_MIN, "2,000 bytes in half a second are less than the least");
        let room = room_after(WAITING_LEN_MAX, ByteCount(4_000_000), 2 * second);
        assert_eq!(room, ByteCount(1_000_000));
        assert_eq!(room_after(room, ByteCount(1_000), short), room, "a heartbeat says nothing");
        assert_eq!(room_after(room, ByteCount(20_000), short), ByteCount(1_020_000));
        assert_eq!(room_after(WAITING_LEN_MAX, WAITING_LEN_MAX, short), WAITING_LEN_MAX);
    }

    #[test]
    fn a_write_has_some_packets_and_one_at_least() {
        let packet = |len: usize| Packet {
            subject: Subject::Replica,
            shard: 0,
            message: vec![0; len],
            bodies: Vec::new(),
        };
        let packets = [packet(100_000), packet(100_000), packet(100_000), packet(400_000)];
        let pieces = |room| [0, 2, 3, 4].map(|at| piece_of(&packets[at..], room));
        assert_eq!(pieces(WAITING_LEN_MAX), [2, 1, 1, 0]);
        assert_eq!(pieces(ROOM_MIN), [1, 1, 1, 0]);
    }
}
