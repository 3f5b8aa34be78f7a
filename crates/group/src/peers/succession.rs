//! Ends the nodes of a lost group whose place another group has taken: each node of the new one dials the addresses of
//! the lost one, until one of them has told each. A node that is told so is retired and never serves again.

use super::admission::Succession;
use super::greeting::{Answer, Greeting, Unreadable, greet};
use super::roster::{GreetingSlot, Roster};
use super::socket::{DialledSocket, Socket};
use super::versions::Versions;
use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Pause before the addresses that have not answered are dialled again.
const PAUSE: Duration = Duration::from_secs(1);
/// Rounds after which the log names again the addresses that have not answered: an hour.
const ROUNDS_BETWEEN_WORDS: u32 = 3600;

/// A lost group, whose place the group of this node takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LostGroup {
    /// The id of its store, as `scurry restore` shows it.
    pub store: u64,
    /// The addresses for nodes of its members.
    pub nodes: Vec<SocketAddr>,
}

/// Answers a node of the new group, once this one is retired.
pub(crate) struct SuccessionReply {
    socket: Box<Socket>,
    answer: Answer,
    greeting_ms: i64,
    _place: GreetingSlot,
}

impl SuccessionReply {
    pub(super) fn new(
        socket: Socket,
        answer: Answer,
        place: GreetingSlot,
        greeting_ms: i64,
    ) -> SuccessionReply {
        SuccessionReply { socket: Box::new(socket), answer, greeting_ms, _place: place }
    }

    /// Says that this node is retired.
    pub(crate) fn send(mut self) {
        self.socket.allow(self.greeting_ms);
        if let Err(error) = self.answer.write(Versions::ALL, &mut *self.socket) {
            tracing::debug!("an answer to a node of another group did not arrive: {error}");
        }
        self.socket.close();
    }
}

impl std::fmt::Debug for SuccessionReply {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "(answer to a node of another group)")
    }
}

/// Starts the thread that tells the nodes of the lost group. It ends when all are told or the roster stops.
pub(super) fn start(lost: LostGroup, roster: Arc<Roster>) -> io::Result<JoinHandle<()>> {
    thread::Builder::new().name("succession".to_owned()).spawn(move || run(&lost, &roster))
}

fn run(lost: &LostGroup, roster: &Roster) {
    // Why each address has not been told yet.
    let mut left: BTreeMap<SocketAddr, String> =
        lost.nodes.iter().map(|address| (*address, String::new())).collect();
    let mut round = 0_u32;
    while !left.is_empty() && !roster.is_stopping() {
        left.retain(|address, why| match tell(*address, lost.store, roster) {
            Ok(()) => {
                tracing::warn!(
                    "the node of the lost group at {address} is told, and has ended for good"
                );
                false
            }
            Err(words) => {
                *why = words;
                true
            }
        });
        if !left.is_empty() && round.is_multiple_of(ROUNDS_BETWEEN_WORDS) {
            let whys: Vec<String> =
                left.iter().map(|(address, why)| format!("{address} ({why})")).collect();
            tracing::warn!(
                "this node has not reached nodes of the lost group {:016x}, and tries each second to tell them that this \
                 group has its place. Keep clients away from those that no node has told: {}",
                lost.store,
                whys.join(", ")
            );
        }
        round = round.wrapping_add(1);
        roster.pause(PAUSE);
    }
}

/// Tells the node at an address. An error has the reason why it is not told.
fn tell(address: SocketAddr, lost: u64, roster: &Roster) -> Result<(), String> {
    let greeting_ms = roster.sockets.greeting_ms;
    let (store, addresses) = (roster.own.store, roster.own.addresses.clone());
    let greeting = Greeting::Succession(Succession { lost, store, addresses });
    let dial = || {
        let stream = DialledSocket::new(address)?.connect(address, greeting_ms)?;
        roster.sockets.dialled(stream, greeting_ms)
    };
    let mut socket = dial().map_err(|error| error.to_string())?;
    match greet(&mut socket, Versions::ALL, &greeting) {
        Ok((Answer::Welcome { store, .. }, _)) if store == lost => Ok(()),
        Ok((Answer::Refusal(words), _)) | Err(Unreadable::Words(words)) => Err(words),
        Ok(_) => Err("an answer to another question".to_owned()),
        Err(Unreadable::Io(error)) => Err(error.to_string()),
    }
}
