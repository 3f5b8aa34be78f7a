//! How a node without a log joins a group: it asks a member, which passes the request to its host or names the leader.

use super::admission::{Accepted, JoinAnswer, JoinRequest};
use super::greeting::{Answer, Greeting, Hello, Unreadable, greet};
use super::roster::{GreetingSlot, NOT_YET, Roster};
use super::socket::{DialledSocket, Socket, Sockets};
use super::succession::LostGroup;
use super::versions::Versions;
use scurry_consensus::replica::NodeId;
use std::collections::BTreeMap;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

/// How long a member may take to answer, ms. The change has to be committed first.
const ANSWER_MS: i64 = 10_000;
/// Pause before all addresses are asked again.
const PAUSE: Duration = Duration::from_millis(200);
/// The reasons why no node has admitted this one are logged at once, again after this time, ms, and then at intervals
/// that double up to [`TELL_EVERY_MS_MAX`].
const TELL_AFTER_MS: i64 = 2_000;
const TELL_EVERY_MS_MAX: i64 = 60_000;
/// Most addresses that are asked in a row because each answer names the next as the leader.
const ELSEWHERE_MAX: usize = 8;

/// How long a node without a group waits for the greeting of a connection, ms.
const LOOK_MS: i64 = 500;
/// Pause between two attempts to accept a connection.
const LOOK_PAUSE: Duration = Duration::from_millis(20);

/// Answers a node that has asked to join. Dropping it closes the connection, and the node asks again.
pub(crate) struct JoinReply {
    node: NodeId,
    socket: Box<Socket>,
    _place: GreetingSlot,
    roster: Arc<Roster>,
}

impl JoinReply {
    pub(super) fn new(
        node: NodeId,
        socket: Socket,
        place: GreetingSlot,
        roster: &Arc<Roster>,
    ) -> JoinReply {
        let roster = Arc::clone(roster);
        JoinReply { node, socket: Box::new(socket), _place: place, roster }
    }

    /// Sends the answer. An admitted node may connect from now on, before it is set as a member.
    pub(crate) fn send(mut self, answer: JoinAnswer) {
        if matches!(answer, JoinAnswer::Accepted(_)) {
            self.roster.admit(self.node);
        }
        // The few bytes fit into the empty send buffer, so this does not block.
        self.socket.allow(self.roster.sockets.greeting_ms);
        let own = self.roster.versions();
        if let Err(error) = Answer::Join(answer).write(own, &mut *self.socket) {
            tracing::debug!(node = %self.node, "an answer to a join did not arrive: {error}");
        }
        self.socket.close();
    }
}

impl std::fmt::Debug for JoinReply {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "(answer to node {})", self.node)
    }
}

/// Answers connections to a node that is in no group yet, while `goes_on` returns true. Returns a message if a member
/// of a group looks for one of its nodes here: then this node has lost its directory. None if that did not happen. A
/// node that asks to join is told to ask again later. Members of `lost`, a group that is ended by the one that begins
/// here, are refused and nothing more. `joins` is the id under which this node asks to join: a member that looks for it
/// has admitted it, before the answer has arrived.
///
/// # Errors
///
/// If the mode of the listener cannot be changed.
pub fn find_seeking_member(
    listener: &TcpListener,
    sockets: &Sockets,
    lost: Option<&LostGroup>,
    joins: Option<NodeId>,
    goes_on: &dyn Fn() -> bool,
) -> io::Result<Option<String>> {
    listener.set_nonblocking(true)?;
    let mut found = None;
    while found.is_none() && goes_on() {
        match listener.accept() {
            // A connection that fails before its greeting is ignored.
            Ok((stream, _)) => {
                found = stream
                    .set_nonblocking(false)
                    .and_then(|()| sockets.accepted(stream, LOOK_MS))
                    .ok()
                    .and_then(|mut socket| look(&mut socket, lost, joins));
            }
            // No connection is waiting, or it cannot be accepted now.
            Err(_) => std::thread::sleep(LOOK_PAUSE), // tidy: allow (a listener has no time-out)
        }
    }
    listener.set_nonblocking(false)?;
    Ok(found)
}

fn look(socket: &mut Socket, lost: Option<&LostGroup>, joins: Option<NodeId>) -> Option<String> {
    let (answer, found) = match Greeting::read(Versions::ALL, socket).ok()? {
        Greeting::Hello(hello) | Greeting::Passage(hello) if joins == Some(hello.target) => {
            (Answer::Refusal(format!("node {} joins, and {NOT_YET}", hello.target)), None)
        }
        Greeting::Hello(hello) | Greeting::Passage(hello) => {
            let Hello { store, node, target, addresses, .. } = hello;
            let peer = addresses.peer;
            let refusal = "this node has no directory of a node, or has lost it".to_owned();
            let is_lost = lost.is_some_and(|lost| lost.store == store);
            let found = format!(
                "node {node} of a group, at {peer}, looks for node {target} here: its directory is lost, or another \
                 one was given. To let a new node take its place, start this one with an empty directory, --join \
                 {peer} and --replaces {target}"
            );
            (Answer::Refusal(refusal), Some(found).filter(|_| !is_lost))
        }
        Greeting::Succession(_) => {
            let words = "this node is in no group".to_owned();
            (Answer::Refusal(words), None)
        }
        Greeting::Join(_) => {
            let later = "this node is in no group yet".to_owned();
            (Answer::Join(JoinAnswer::Later(later)), None)
        }
    };
    if let Err(error) = answer.write(Versions::ALL, socket) {
        tracing::debug!("an answer did not arrive: {error}");
    }
    socket.close();
    found
}

/// Asks these addresses in turn to admit this node, until one does. Returns None if this node is to begin a group
/// itself, which `is_to_begin` reports; it is called before each attempt.
///
/// # Errors
///
/// If a node refuses this one, or its answer is not valid.
pub fn ask_to_join(
    addresses: &[SocketAddr],
    request: &JoinRequest,
    is_to_begin: &dyn Fn() -> bool,
    sockets: &Sockets,
) -> Result<Option<Accepted>, String> {
    let now_ms = || sockets.clock.read().uptime_ms;
    // The last reason of each address: an address that was asked later may have a different one.
    let mut whys = BTreeMap::new();
    let asked = addresses.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    tracing::info!("this node asks to be admitted to the group of {asked}");
    let mut pause_ms = TELL_AFTER_MS;
    let mut tell_ms = now_ms();
    loop {
        for address in addresses {
            if is_to_begin() {
                return Ok(None);
            }
            if let Some(accepted) = ask_one(*address, request, &mut whys, sockets)? {
                return Ok(Some(accepted));
            }
            if now_ms() >= tell_ms {
                tracing::info!("not admitted yet, and asks again: {}", all(&whys));
                tell_ms = now_ms() + pause_ms;
                pause_ms = (2 * pause_ms).min(TELL_EVERY_MS_MAX);
            }
        }
        std::thread::sleep(PAUSE); // tidy: allow (no event tells when a node leads)
    }
}

/// Asks at an address, and follows answers that name the leader. None if no node has admitted this one yet.
fn ask_one(
    mut address: SocketAddr,
    request: &JoinRequest,
    whys: &mut BTreeMap<SocketAddr, String>,
    sockets: &Sockets,
) -> Result<Option<Accepted>, String> {
    for _ in 0..ELSEWHERE_MAX {
        match ask(address, request, sockets) {
            Ok(JoinAnswer::Accepted(accepted)) => return Ok(Some(*accepted)),
            Ok(JoinAnswer::Refused(words)) => {
                return Err(format!("the group at {address} does not admit this node: {words}"));
            }
            Ok(JoinAnswer::Elsewhere(leader)) => {
                whys.insert(address, format!("{address} says that {leader} leads"));
                address = leader;
            }
            Ok(JoinAnswer::Later(words)) => {
                whys.insert(address, format!("{address} says: {words}"));
                break;
            }
            Err(Unreadable::Io(error)) => {
                whys.insert(address, format!("{address} does not answer: {error}"));
                break;
            }
            Err(Unreadable::Words(words)) => return Err(format!("{address}: {words}")),
        }
    }
    Ok(None)
}

/// Returns the reasons of all addresses as one text.
fn all(whys: &BTreeMap<SocketAddr, String>) -> String {
    whys.values().map(String::as_str).collect::<Vec<_>>().join("; ")
}

/// Sends the request to one node and returns its answer.
fn ask(
    address: SocketAddr,
    request: &JoinRequest,
    sockets: &Sockets,
) -> Result<JoinAnswer, Unreadable> {
    let stream = DialledSocket::new(address)?.connect(address, sockets.greeting_ms)?;
    let mut socket = sockets.dialled(stream, ANSWER_MS)?;
    let (answer, _) = greet(&mut socket, Versions::ALL, &Greeting::Join(request.clone()))?;
    match answer {
        Answer::Join(answer) => Ok(answer),
        Answer::Refusal(words) => Err(Unreadable::Words(words)),
        Answer::Welcome { .. } => {
            Err(Unreadable::Words("an answer to another question".to_owned()))
        }
    }
}
