//! A client's connection to a door: a socket and the product's peer machine, as the initiator.

use scurry_diameter::peer::{Admission, Event, Peer, PeerSettings, Start, Token};
use scurry_diameter::{Frame, MESSAGE_LEN_MAX, MessageIds, frame};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::thread;
use std::time::Duration;

/// Timeout of connecting.
const CONNECT: Duration = Duration::from_secs(2);

/// A connection that is being opened.
pub(super) struct Connecting(Receiver<io::Result<TcpStream>>);

impl Connecting {
    pub(super) fn to(address: SocketAddr) -> Connecting {
        let (tell, told) = channel();
        thread::spawn(move || tell.send(TcpStream::connect_timeout(&address, CONNECT)));
        Connecting(told)
    }

    /// Returns the outcome, if there is one.
    pub(super) fn outcome(&self) -> Option<io::Result<TcpStream>> {
        match self.0.try_recv() {
            Ok(outcome) => Some(outcome),
            Err(TryRecvError::Empty) => None,
            Err(TryRecvError::Disconnected) => Some(Err(ErrorKind::NotConnected.into())),
        }
    }
}

/// An event, with the message that has caused it.
pub(super) type Told = (Event, Option<Vec<u8>>);

pub(super) struct Connection {
    stream: TcpStream,
    peer: Peer,
    input: Vec<u8>,
    out: Vec<u8>,
    /// True once the machine does not answer for the other side.
    is_suspect: bool,
}

impl Connection {
    pub(super) fn begin(
        stream: TcpStream,
        settings: &Arc<PeerSettings>,
        start: &Start,
    ) -> io::Result<Connection> {
        stream.set_nonblocking(true)?;
        stream.set_nodelay(true)?;
        let mut out = Vec::new();
        let peer = Peer::connect(Arc::clone(settings), start, &mut out);
        Ok(Connection { stream, peer, input: Vec::new(), out, is_suspect: false })
    }

    pub(super) fn socket(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }

    pub(super) fn is_usable(&self) -> bool {
        self.peer.is_open() && !self.is_suspect
    }

    /// Reads and writes what can be. An error is the end of the connection.
    pub(super) fn work(&mut self, now_ms: u64, told: &mut Vec<Told>) -> io::Result<()> {
        let mut part = [0; 65_536];
        loop {
            match self.stream.read(&mut part) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(len) => self.input.extend_from_slice(&part[..len]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        let mut start = 0;
        while let Ok(Frame::Message(len)) = frame(&self.input[start..], MESSAGE_LEN_MAX) {
            let message = &self.input[start..start + len];
            let mut events = Vec::new();
            let mut admit = |_: &_| Admission::Admit;
            self.peer.on_message(message, now_ms, &mut admit, &mut self.out, &mut events);
            told.extend(events.into_iter().map(|event| (event, Some(message.to_vec()))));
            start += len;
        }
        self.input.drain(..start);
        let mut events = Vec::new();
        self.peer.tick(now_ms, 0, &mut self.out, &mut events);
        told.extend(events.into_iter().map(|event| (event, None)));
        while !self.out.is_empty() {
            match self.stream.write(&self.out) {
                Ok(len) => drop(self.out.drain(..len)),
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    pub(super) fn suspect(&mut self, is_suspect: bool) {
        self.is_suspect = is_suspect;
    }

    /// Sends a request. Returns false if the machine refuses it.
    pub(super) fn request(
        &mut self,
        number: u64,
        now_ms: u64,
        write: impl FnOnce(&mut Vec<u8>, MessageIds),
    ) -> bool {
        self.peer.request(now_ms, Token(number), &mut self.out, write).is_ok()
    }

    /// Notes the end. The events are the requests that get no answers.
    pub(super) fn end(mut self) -> Vec<Told> {
        let mut events = Vec::new();
        self.peer.closed(&mut events);
        events.into_iter().map(|event| (event, None)).collect()
    }
}
