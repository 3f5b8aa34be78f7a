//! Connections that other nodes have dialled: accepted, greeted, then read, each by a thread.

use super::Inbound;
use super::greeting::{Answer, Greeting, Unreadable};
use super::join::JoinReply;
use super::packet::read_packet;
use super::roster::{Roster, Seat};
use super::socket::Socket;
use std::io::{self, BufReader};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Pause after accepting has failed.
const PAUSE: Duration = Duration::from_millis(500);
/// Bytes that are read at once; the frames of a packet are read into their place.
const READ_LEN: usize = 64 << 10;

/// The thread that accepts. It ends, and those that it has started, when the roster stops and the listener is
/// shut down.
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
                Err(words) => roster.strange(words),
            },
            Err(_) if roster.is_stopping() => {}
            Err(error) => {
                // Such as too many open files: tried again when some may have been closed.
                roster.strange(format!("cannot accept a connection of a node: {error}"));
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
        return Err(format!(
            "a connection from {address} was closed: too many have not greeted yet"
        ));
    };
    let roster = Arc::clone(roster);
    thread::Builder::new()
        .name("from-node".to_owned())
        .spawn(move || {
            if let Err(words) = serve(stream, address, place, &roster) {
                roster.strange(format!("a connection from {address} was closed: {words}"));
            }
        })
        .map_err(|error| format!("no thread for a connection from {address}: {error}"))
}

/// Greets and reads. An error has the words for the log.
fn serve(
    stream: TcpStream,
    address: SocketAddr,
    place: Seat,
    roster: &Arc<Roster>,
) -> Result<(), String> {
    let io = |error: io::Error| format!("it has not greeted: {error}");
    let mut socket = roster.sockets.accepted(stream, roster.sockets.greeting_ms).map_err(io)?;
    let hello = match Greeting::read(&mut socket) {
        Ok(Greeting::Hello(hello)) => hello,
        Ok(Greeting::Join(request)) => {
            let answer = JoinReply::new(request.node, socket, place, roster);
            roster.hand(Inbound::Join { request, answer });
            return Ok(());
        }
        Err(Unreadable::Words(words)) => return Err(refuse(&mut socket, words)),
        Err(Unreadable::Io(error)) => return Err(io(error)),
    };
    let incoming = match roster.arrive(&hello, &place) {
        Ok(incoming) => incoming,
        Err(words) => return Err(refuse(&mut socket, words)),
    };
    drop(place);
    let own = &roster.own;
    let welcome = Answer::Welcome { store: own.store, node: own.node, threads: own.threads };
    welcome.write(&mut socket).and_then(|()| socket.settle()).map_err(io)?;
    let from = incoming.node;
    tracing::debug!(node = %from, %address, "a node has connected");
    let mut reader = BufReader::with_capacity(READ_LEN, &mut socket);
    let outcome = loop {
        match read_packet(&mut reader) {
            Ok(Some(packet)) => roster.hand(Inbound::Packet { from, packet }),
            Ok(None) => break Ok(()),
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                break Err(format!("node {from} sent {error}"));
            }
            // Such as a node that was killed.
            Err(error) => {
                tracing::debug!(node = %from, "a connection has ended: {error}");
                break Ok(());
            }
        }
    };
    socket.close();
    outcome
}

/// Says why, where the other side still listens.
fn refuse(socket: &mut Socket, words: String) -> String {
    if let Err(error) = Answer::Refusal(words.clone()).write(socket) {
        tracing::debug!("a refusal did not arrive: {error}");
    }
    words
}
