//! Accepts connections that other nodes have dialled. A thread of each connection answers the greeting, and then reads
//! packets or carries a passage.

use super::Inbound;
use super::admission::{JoinRequest, Succession};
use super::greeting::{Answer, Greeting, Hello, Unreadable};
use super::join::JoinReply;
use super::packet::{Subject, read_packet};
use super::passage::carry;
use super::roster::{GreetingSlot, Incoming, OpenPassage, Roster, check_store};
use super::socket::Socket;
use super::succession::SuccessionReply;
use scurry_ledger::Time;
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Pause after accepting a connection has failed.
const PAUSE: Duration = Duration::from_millis(500);

/// Starts the thread that accepts connections. It ends, together with the threads that it has started, when the roster
/// stops and the listener is shut down.
pub(super) fn start(listener: TcpListener, roster: Arc<Roster>) -> io::Result<JoinHandle<()>> {
    thread::Builder::new().name("nodes".to_owned()).spawn(move || accept(&listener, &roster))
}

fn accept(listener: &TcpListener, roster: &Arc<Roster>) {
    let mut readers: Vec<JoinHandle<()>> = Vec::new();
    while !roster.is_stopping() {
        readers.retain(|reader| !reader.is_finished());
        match listener.accept() {
            Ok((stream, address)) => match begin(stream, address, roster) {
                Ok(reader) => readers.push(reader),
                Err(words) => roster.strange("", words),
            },
            Err(_) if roster.is_stopping() => {}
            Err(error) => {
                // For example, too many files are open: some may be closed by the next attempt.
                roster.strange("", format!("cannot accept a connection of a node: {error}"));
                roster.pause(PAUSE);
            }
        }
    }
    for reader in readers {
        if reader.join().is_err() {
            tracing::error!("the thread of a connection between nodes has panicked");
        }
    }
}

fn begin(
    stream: TcpStream,
    address: SocketAddr,
    roster: &Arc<Roster>,
) -> Result<JoinHandle<()>, String> {
    let Some(place) = roster.place(&stream) else {
        return Err("a connection was closed: too many have not greeted yet".to_owned());
    };
    let roster = Arc::clone(roster);
    thread::Builder::new()
        .name("from-node".to_owned())
        .spawn(move || serve(stream, address, place, &roster))
        .map_err(|error| format!("no thread for a connection from {address}: {error}"))
}

/// Answers the greeting and reads packets until the connection ends. A refusal is sent to the other side and reported
/// to the host.
fn serve(stream: TcpStream, address: SocketAddr, place: GreetingSlot, roster: &Arc<Roster>) {
    let connection = format!("a connection from {address} was closed: ");
    let tell = |words| roster.strange(&connection, words);
    let silent = |error| tell(format!("it has not greeted: {error}"));
    let mut socket = match roster.sockets.accepted(stream, roster.sockets.greeting_ms) {
        Ok(socket) => socket,
        Err(error) => return silent(error),
    };
    let incoming = match meet(&mut socket, &place, roster) {
        Ok(AcceptedPeer::Member(incoming)) => incoming,
        Ok(AcceptedPeer::Passing(passing, near)) => {
            drop(place);
            return let_pass(socket, near, &passing, roster);
        }
        Ok(AcceptedPeer::Joiner(request)) => {
            let answer = JoinReply::new(request.node, socket, place, roster);
            return roster.hand(Inbound::Join { request, answer });
        }
        Ok(AcceptedPeer::Successor(Succession { store, addresses, .. })) => {
            let ms = roster.sockets.greeting_ms;
            let answer = SuccessionReply::new(socket, welcome(roster), place, ms);
            return roster.hand(Inbound::Succeeded { by: store, at: addresses.peer, answer });
        }
        Err(Unreadable::Words(words)) => {
            if let Err(error) = Answer::Refusal(words.clone()).write(roster.versions(), &mut socket)
            {
                tracing::debug!("a refusal did not arrive: {error}");
            }
            tell(words);
            return socket.close_gracefully();
        }
        Err(Unreadable::Io(error)) => return silent(error),
    };
    // The slot is for the greeting alone: it must be free for others while this connection lives.
    drop(place);
    let welcomed = welcome(roster).write(roster.versions(), &mut socket);
    if let Err(error) = welcomed.and_then(|()| socket.settle()) {
        return silent(error);
    }
    let from = incoming.node;
    tracing::debug!(node = %from, %address, "a node has connected");
    loop {
        match read_packet(&mut socket) {
            Ok(Some(packet)) if packet.subject == Subject::Clock => {
                let Ok(ms) = packet.message.try_into() else {
                    tell(format!("node {from} sent a clock that is none"));
                    break;
                };
                roster.clocks.note(from, Time(i64::from_le_bytes(ms)));
            }
            Ok(Some(packet)) => roster.hand(Inbound::Packet { from, packet }),
            Ok(None) => break,
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                tell(format!("node {from} sent {error}"));
                break;
            }
            // For example, the other node was killed.
            Err(error) => {
                tracing::debug!(node = %from, "a connection has ended: {error}");
                break;
            }
        }
    }
    socket.close();
}

fn welcome(roster: &Roster) -> Answer {
    let own = &roster.own;
    Answer::Welcome { store: own.store, node: own.node, threads: own.threads }
}

/// Carries the requests of a member's door to the store of this process, and the replies back.
fn let_pass(mut socket: Socket, near: UnixStream, passing: &OpenPassage, roster: &Roster) {
    let node = passing.node;
    tracing::debug!(%node, "the door of a node has connected");
    let welcomed = welcome(roster).write(roster.versions(), &mut socket);
    let outcome = welcomed.and_then(|()| carry(&mut socket, near));
    tracing::debug!(%node, "the door of a node has gone: {outcome:?}");
    socket.close();
}

/// What an accepted connection is for.
enum AcceptedPeer {
    Member(Incoming),
    Joiner(JoinRequest),
    /// A node of the group that has taken the place of this one.
    Successor(Succession),
    /// A passage, with a connection to the store of this process.
    Passing(OpenPassage, UnixStream),
}

/// Reads the greeting, and checks who has sent it. An error has the words of the refusal.
fn meet(
    socket: &mut Socket,
    place: &GreetingSlot,
    roster: &Arc<Roster>,
) -> Result<AcceptedPeer, Unreadable> {
    let greeting = Greeting::read(roster.versions(), socket)?;
    let (Greeting::Hello(Hello { addresses, .. })
    | Greeting::Passage(Hello { addresses, .. })
    | Greeting::Join(JoinRequest { addresses, .. })
    | Greeting::Succession(Succession { addresses, .. })) = &greeting;
    socket.check_certificate_ip(addresses.peer.ip()).map_err(Unreadable::Words)?;
    match greeting {
        Greeting::Join(request) => Ok(AcceptedPeer::Joiner(request)),
        Greeting::Hello(hello) => {
            roster.arrive(&hello, place).map(AcceptedPeer::Member).map_err(Unreadable::Words)
        }
        Greeting::Passage(hello) => {
            let passing = roster.pass(&hello, place).map_err(Unreadable::Words)?;
            let near = (roster.enter)().map_err(|error| Unreadable::Words(error.to_string()))?;
            Ok(AcceptedPeer::Passing(passing, near))
        }
        Greeting::Succession(succession) => {
            check_store(succession.lost, roster.own.store).map_err(Unreadable::Words)?;
            if succession.store == succession.lost {
                let words = "it is of this group, and says that this group has taken its own place: --succeeds names \
                             another group, which is lost";
                return Err(Unreadable::Words(words.to_owned()));
            }
            Ok(AcceptedPeer::Successor(succession))
        }
    }
}
