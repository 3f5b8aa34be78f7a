//! A client's connection to a door: a socket and the product's peer machine, as the initiator.

use crate::group::door_faults::protocol::{Answered, Connection, Copy, Ended, Told};
use scurry_diameter::peer::{Admission, Event, Peer, PeerSettings, Start, Token, WatchdogState};
use scurry_diameter::{Frame, MESSAGE_LEN_MAX, frame};
use scurry_diameter_sim::load::{read_answer, write_copy};
use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

pub(in crate::group::door_faults) struct DiameterConnection {
    stream: TcpStream,
    peer: Peer,
    input: Vec<u8>,
    out: Vec<u8>,
    /// True once the machine does not answer for the other side.
    is_suspect: bool,
    /// True once the machine wants no more of it.
    is_closed: bool,
}

impl DiameterConnection {
    pub(super) fn begin(
        stream: TcpStream,
        settings: &Arc<PeerSettings>,
        start: &Start,
    ) -> io::Result<DiameterConnection> {
        stream.set_nonblocking(true)?;
        stream.set_nodelay(true)?;
        let mut out = Vec::new();
        let peer = Peer::connect(Arc::clone(settings), start, &mut out);
        Ok(DiameterConnection {
            stream,
            peer,
            input: Vec::new(),
            out,
            is_suspect: false,
            is_closed: false,
        })
    }

    pub(super) fn socket(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }

    /// Takes an event, with the message that has caused it.
    fn take(&mut self, event: Event, message: Option<&[u8]>, told: &mut Vec<Told>) {
        match (event, message) {
            (Event::Answer { token, .. }, Some(message)) => {
                let answer = read_answer(message);
                let label = answer.result.to_string();
                told.push(Told::Answer(token.0, Answered { answer, label, place: None }));
            }
            (Event::Unanswered { token }, _) => told.push(Told::Unanswered(token.0)),
            (Event::Watchdog(state), _) => {
                self.is_suspect = state != WatchdogState::Okay;
                told.push(Told::Suspect(self.is_suspect));
            }
            (Event::Close(_), _) => self.is_closed = true,
            _ => {}
        }
    }
}

impl Connection for DiameterConnection {
    type Message = Vec<u8>;

    fn is_usable(&self) -> bool {
        self.peer.is_open() && !self.is_suspect
    }

    fn work(&mut self, now_ms: u64, told: &mut Vec<Told>) -> io::Result<()> {
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
        let input = std::mem::take(&mut self.input);
        while let Ok(Frame::Message(len)) = frame(&input[start..], MESSAGE_LEN_MAX) {
            let message = &input[start..start + len];
            let mut events = Vec::new();
            let mut admit = |_: &_| Admission::Admit;
            self.peer.on_message(message, now_ms, &mut admit, &mut self.out, &mut events);
            for event in events {
                self.take(event, Some(message), told);
            }
            start += len;
        }
        self.input = input[start..].to_vec();
        let mut events = Vec::new();
        self.peer.tick(now_ms, 0, &mut self.out, &mut events);
        for event in events {
            self.take(event, None, told);
        }
        while !self.out.is_empty() {
            match self.stream.write(&self.out) {
                Ok(len) => drop(self.out.drain(..len)),
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        if self.is_closed { Err(ErrorKind::ConnectionAborted.into()) } else { Ok(()) }
    }

    fn send(&mut self, copy: Copy, message: &mut Vec<u8>, now_ms: u64) -> bool {
        let write = |out: &mut Vec<u8>, ids: scurry_diameter::MessageIds| {
            write_copy(message, ids.hop_by_hop, copy.is_marked, out);
        };
        self.peer.request(now_ms, Token(copy.number), &mut self.out, write).is_ok()
    }

    fn end(mut self) -> Ended {
        let mut events = Vec::new();
        self.peer.closed(&mut events);
        let unanswered = events.into_iter().filter_map(|event| match event {
            Event::Unanswered { token } => Some(token.0),
            _ => None,
        });
        Ended { unanswered: unanswered.collect(), cut_off: None }
    }
}
