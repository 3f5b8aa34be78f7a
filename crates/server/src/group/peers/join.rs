//! Admission of a node that has no log yet: it asks a member, which asks its host, or names the leader.

use super::admission::{Accepted, JoinAnswer, JoinRequest};
use super::greeting::{Answer, Greeting, Hello, Unreadable, greet};
use super::roster::{Roster, Seat};
use super::socket::{Dialling, Socket, Sockets};
use scurry_replica::NodeId;
use std::collections::BTreeMap;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

/// How long a member has for its answer, ms: it may have to agree with others.
const ANSWER_MS: i64 = 10_000;
/// Pause before all are asked once more.
const PAUSE: Duration = Duration::from_millis(200);
/// How often it is said why nobody has admitted the node, ms.
const TELL_EVERY_MS: i64 = 2_000;
/// Members that are asked one behind another because each names the next.
const ELSEWHERE_MAX: usize = 8;

/// How long a greeting is waited for before a group begins, ms.
const LOOK_MS: i64 = 500;
/// Between two looks.
const LOOK_PAUSE: Duration = Duration::from_millis(20);

/// The way back to a node that asks to be admitted. Dropped, it lets the node ask again.
pub(crate) struct JoinReply {
    node: NodeId,
    socket: Box<Socket>,
    _place: Seat,
    roster: Arc<Roster>,
}

impl JoinReply {
    pub(super) fn new(
        node: NodeId,
        socket: Socket,
        place: Seat,
        roster: &Arc<Roster>,
    ) -> JoinReply {
        let roster = Arc::clone(roster);
        JoinReply { node, socket: Box::new(socket), _place: place, roster }
    }

    /// Answers. A node that is accepted may connect from now on, before it is set as a member.
    pub(crate) fn send(mut self, answer: JoinAnswer) {
        if matches!(answer, JoinAnswer::Accepted(_)) {
            self.roster.admit(self.node);
        }
        // A few bytes into an empty socket: this does not wait.
        self.socket.allow(self.roster.sockets.greeting_ms);
        if let Err(error) = Answer::Join(answer).write(&mut *self.socket) {
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

/// Listens whether nodes of a group look for one at this address, which has lost its directory then. Returns their
/// words, or none after this time. Whoever asks to be admitted is told to ask again.
pub(crate) fn is_looked_for(
    listener: &TcpListener,
    sockets: &Sockets,
    within: Duration,
) -> io::Result<Option<String>> {
    let now_ms = || sockets.clock.read().uptime_ms;
    let until_ms = now_ms() + i64::try_from(within.as_millis()).unwrap_or(i64::MAX);
    listener.set_nonblocking(true)?;
    let mut found = None;
    while found.is_none() && now_ms() < until_ms {
        match listener.accept() {
            Ok((stream, _)) => {
                stream.set_nonblocking(false)?;
                // Whoever breaks off looks for nobody.
                found =
                    sockets.accepted(stream, LOOK_MS).ok().and_then(|mut socket| look(&mut socket));
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                std::thread::sleep(LOOK_PAUSE); // tidy: allow (a listener has no time-out)
            }
            Err(error) => return Err(error),
        }
    }
    listener.set_nonblocking(false)?;
    Ok(found)
}

fn look(socket: &mut Socket) -> Option<String> {
    let (answer, found) = match Greeting::read(socket).ok()? {
        Greeting::Hello(hello) | Greeting::Passage(hello) => {
            let Hello { node, target, addresses, .. } = hello;
            let peer = addresses.peer;
            let refusal = Answer::Refusal("this node has lost its directory".to_owned());
            let found = format!(
                "the directory is empty, and node {node} of a group, at {peer}, looks for node {target} here: \
                 its directory is lost, or another one was given. To let a new node take its place, start this \
                 one with --join {peer} --replaces {target}"
            );
            (refusal, Some(found))
        }
        Greeting::Join(_) => {
            let later = "this node is about to begin a group".to_owned();
            (Answer::Join(JoinAnswer::Later(later)), None)
        }
    };
    if let Err(error) = answer.write(socket) {
        tracing::debug!("an answer did not arrive: {error}");
    }
    socket.close();
    found
}

/// Asks to be admitted, at any of these addresses, until there is an answer or the time is over.
pub(crate) fn ask_to_join(
    addresses: &[SocketAddr],
    request: &JoinRequest,
    within: Duration,
    sockets: &Sockets,
) -> Result<Accepted, String> {
    let within_ms = i64::try_from(within.as_millis()).unwrap_or(i64::MAX);
    let until_ms = sockets.clock.read().uptime_ms.saturating_add(within_ms);
    let left_ms = || until_ms - sockets.clock.read().uptime_ms;
    // The reason of each address, since the next one may keep this node waiting for another.
    let mut whys = BTreeMap::new();
    let asked = addresses.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    tracing::info!("this node asks to be admitted to the group of {asked}");
    let mut tell_ms = left_ms();
    loop {
        for address in addresses {
            let mut address = *address;
            for _ in 0..ELSEWHERE_MAX {
                let left_ms = left_ms();
                if left_ms <= 0 {
                    let seconds = within.as_secs();
                    return Err(format!(
                        "no group has admitted this node within {seconds} s: {}",
                        all(&whys)
                    ));
                }
                match ask(address, request, left_ms, sockets) {
                    Ok(JoinAnswer::Accepted(accepted)) => return Ok(*accepted),
                    Ok(JoinAnswer::Refused(words)) => {
                        return Err(format!(
                            "the group at {address} does not admit this node: {words}"
                        ));
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
                    Err(Unreadable::Words(words)) => {
                        return Err(format!("{address}: {words}"));
                    }
                }
            }
            let left_ms = left_ms();
            if left_ms <= tell_ms {
                let seconds = left_ms.max(0) / 1_000;
                tracing::info!("not admitted yet, and asks for {seconds} s more: {}", all(&whys));
                tell_ms = left_ms - TELL_EVERY_MS;
            }
        }
        let pause = u64::try_from(left_ms()).unwrap_or(0);
        // tidy: allow (nobody says when a node leads)
        std::thread::sleep(PAUSE.min(Duration::from_millis(pause))); // tidy: allow (nobody says when a node leads)
    }
}

/// The words about all addresses.
fn all(whys: &BTreeMap<SocketAddr, String>) -> String {
    if whys.is_empty() {
        return "no address of a member was given".to_owned();
    }
    whys.values().map(String::as_str).collect::<Vec<_>>().join("; ")
}

/// Asks one member.
fn ask(
    address: SocketAddr,
    request: &JoinRequest,
    left_ms: i64,
    sockets: &Sockets,
) -> Result<JoinAnswer, Unreadable> {
    let stream = Dialling::new(address)?.connect(address, left_ms.min(sockets.greeting_ms))?;
    let mut socket = sockets.dialled(stream, left_ms.min(ANSWER_MS))?;
    match greet(&mut socket, &Greeting::Join(request.clone()))?.0 {
        Answer::Join(answer) => Ok(answer),
        Answer::Refusal(words) => Err(Unreadable::Words(words)),
        Answer::Welcome { .. } => {
            Err(Unreadable::Words("an answer to another question".to_owned()))
        }
    }
}
