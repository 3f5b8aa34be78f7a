//! epoll by mio, as the product's server uses it: edge-triggered, one read and one write per
//! connection and turn, a short read means that the socket is empty.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpListener;
use std::time::Duration;

use mio::net::TcpStream;
use mio::{Events, Interest, Poll, Token};
use slab::Slab;

use crate::answer::Responder;
use crate::limits::{EVENTS_MAX, READ_LEN, WAIT_MAX};

const LISTENER: Token = Token(usize::MAX);

/// How to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Readiness {
    /// Never sleep: ask again at once.
    pub(crate) busy: bool,
}

struct Connection {
    stream: TcpStream,
    pending: Vec<u8>,
    output: Vec<u8>,
    sent: usize,
    readable: bool,
    queued: bool,
}

/// Serves until it is killed.
pub(crate) fn serve(listener: TcpListener, plan: Readiness) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    let mut listener = mio::net::TcpListener::from_std(listener);
    let mut poll = Poll::new()?;
    poll.registry().register(&mut listener, LISTENER, Interest::READABLE)?;
    let mut server = Server {
        connections: Slab::new(),
        queue: VecDeque::new(),
        responder: Responder::default(),
        scratch: vec![0; READ_LEN],
    };
    let mut events = Events::with_capacity(EVENTS_MAX);
    loop {
        let idle = server.queue.is_empty() && !plan.busy;
        let timeout = if idle { WAIT_MAX } else { Duration::ZERO };
        match poll.poll(&mut events, Some(timeout)) {
            Err(error) if error.kind() != ErrorKind::Interrupted => return Err(error),
            _ => server.responder.count_system_calls(1),
        }
        server.responder.count_turn();
        for event in &events {
            match event.token() {
                LISTENER => server.accept(&listener, &poll)?,
                Token(key) => server.enqueue(key, event.is_readable()),
            }
        }
        for _ in 0..server.queue.len() {
            let Some(key) = server.queue.pop_front() else { break };
            server.turn(key);
        }
    }
}

struct Server {
    connections: Slab<Connection>,
    queue: VecDeque<usize>,
    responder: Responder,
    scratch: Vec<u8>,
}

impl Server {
    fn accept(&mut self, listener: &mio::net::TcpListener, poll: &Poll) -> io::Result<()> {
        loop {
            self.responder.count_system_calls(1);
            let mut stream = match listener.accept() {
                Ok((stream, _)) => stream,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            };
            let entry = self.connections.vacant_entry();
            let interest = Interest::READABLE | Interest::WRITABLE;
            poll.registry().register(&mut stream, Token(entry.key()), interest)?;
            self.responder.count_system_calls(1);
            entry.insert(Connection {
                stream,
                pending: Vec::new(),
                output: Vec::new(),
                sent: 0,
                readable: false,
                queued: false,
            });
        }
    }

    fn enqueue(&mut self, key: usize, readable: bool) {
        let Some(connection) = self.connections.get_mut(key) else { return };
        connection.readable |= readable;
        if !connection.queued {
            connection.queued = true;
            self.queue.push_back(key);
        }
    }

    fn turn(&mut self, key: usize) {
        let Some(connection) = self.connections.get_mut(key) else { return };
        connection.queued = false;
        match connection.turn(&mut self.responder, &mut self.scratch) {
            Ok(true) => self.enqueue(key, false),
            Ok(false) => {}
            // The peer has gone or sent nonsense: its connection ends, nothing else.
            Err(_) => drop(self.connections.remove(key)),
        }
    }
}

impl Connection {
    /// True when there may be more to read at once.
    fn turn(&mut self, responder: &mut Responder, scratch: &mut [u8]) -> io::Result<bool> {
        // A peer that does not take its replies is not read.
        if self.readable && self.sent == self.output.len() {
            self.receive(responder, scratch)?;
        }
        self.send(responder)?;
        Ok(self.readable && self.output.is_empty())
    }

    fn receive(&mut self, responder: &mut Responder, scratch: &mut [u8]) -> io::Result<()> {
        responder.count_system_calls(1);
        let count = match self.stream.read(scratch) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(count) => count,
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                self.readable = false;
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        // The end of the peer is a second event here, which the product must remember instead.
        self.readable = count == scratch.len();
        let bytes = &scratch[..count];
        if self.pending.is_empty() {
            let done = responder.answer(bytes, &mut self.output).map_err(|_| invalid())?;
            self.pending.extend_from_slice(&bytes[done..]);
        } else {
            self.pending.extend_from_slice(bytes);
            let done = responder.answer(&self.pending, &mut self.output).map_err(|_| invalid())?;
            self.pending.drain(..done);
        }
        Ok(())
    }

    fn send(&mut self, responder: &mut Responder) -> io::Result<()> {
        while self.sent < self.output.len() {
            responder.count_system_calls(1);
            match self.stream.write(&self.output[self.sent..]) {
                Ok(count) => self.sent += count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        self.output.clear();
        self.sent = 0;
        Ok(())
    }
}

fn invalid() -> io::Error {
    ErrorKind::InvalidData.into()
}
