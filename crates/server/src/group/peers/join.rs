//! Admission of a node that has no log yet: it asks a member, which asks its host, or names the leader.

use super::admission::{Accepted, JoinAnswer, JoinRequest};
use super::greeting::{Answer, Greeting, Unreadable, greet};
use super::roster::{Roster, Seat};
use super::socket::{Dialling, Socket, Sockets};
use scurry_replica::NodeId;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

/// How long a member has for its answer, ms: it may have to agree with others.
const ANSWER_MS: i64 = 10_000;
/// Pause before all are asked once more.
const PAUSE: Duration = Duration::from_millis(200);
/// Members that are asked one behind another because each names the next.
const ELSEWHERE_MAX: usize = 8;

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
    let mut why = "no address of a member was given".to_owned();
    loop {
        for address in addresses {
            let mut address = *address;
            for _ in 0..ELSEWHERE_MAX {
                let left_ms = left_ms();
                if left_ms <= 0 {
                    let seconds = within.as_secs();
                    return Err(format!(
                        "no group has admitted this node within {seconds} s: {why}"
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
                        why = format!("{address} says that {leader} leads");
                        address = leader;
                    }
                    Ok(JoinAnswer::Later(words)) => {
                        why = format!("{address} says: {words}");
                        break;
                    }
                    Err(Unreadable::Io(error)) => {
                        why = format!("{address} does not answer: {error}");
                        break;
                    }
                    Err(Unreadable::Words(words)) => {
                        return Err(format!("{address}: {words}"));
                    }
                }
            }
        }
        let pause = u64::try_from(left_ms()).unwrap_or(0);
        // tidy: allow (nobody says when a node leads)
        std::thread::sleep(PAUSE.min(Duration::from_millis(pause))); // tidy: allow (nobody says when a node leads)
    }
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
    match greet(&mut socket, &Greeting::Join(request.clone()))? {
        Answer::Join(answer) => Ok(answer),
        Answer::Refusal(words) => Err(Unreadable::Words(words)),
        Answer::Welcome { .. } => {
            Err(Unreadable::Words("an answer to another question".to_owned()))
        }
    }
}
