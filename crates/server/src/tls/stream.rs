//! The transport over TLS. Like TCP it reads once and writes once per turn where it can: what
//! was read goes through the session from a borrowed buffer, and replies leave in one call with
//! as many records as they need, up to 64 KiB; longer ones take a call for each 64 KiB.

use crate::buffer::Buffer;
use crate::buffers::Buffers;
use crate::fault::Fault;
use crate::transport::{Arrival, Transport};
use mio::net::TcpStream;
use rustls::ServerConnection;
use std::io::{self, Read, Write};
use std::net::Shutdown;

/// Records that wait within the session to be sent, at most, bytes.
const RECORDS_LEN_MAX: usize = 64 * 1024;

/// What a session holds, bytes, as measured over a thousand of them.
const SESSION_LEN: usize = 8 * 1024;

/// A socket, a session, and the plain bytes on their way in and out.
pub(crate) struct Tls {
    pub(crate) stream: TcpStream,
    session: ServerConnection,
    input: Buffer,
    output: Vec<u8>,
    committed: usize,
    /// Handed to the session, of `output`.
    encrypted: usize,
    /// Nothing more will come: the peer said so, or the session has failed.
    ended: bool,
    failed: bool,
    /// Why it has failed, until somebody asks.
    fault: Option<Fault>,
}

impl Tls {
    pub(crate) fn new(stream: TcpStream, mut session: ServerConnection) -> Tls {
        session.set_buffer_limit(Some(RECORDS_LEN_MAX));
        Tls {
            stream,
            session,
            input: Buffer::default(),
            output: Vec::new(),
            committed: 0,
            encrypted: 0,
            ended: false,
            failed: false,
            fault: None,
        }
    }

    /// Why the session has failed; told once.
    pub(crate) fn take_fault(&mut self) -> Option<Fault> {
        self.fault.take()
    }

    fn receive(&mut self, wire: &mut [u8], buffers: &mut Buffers) -> io::Result<Arrival> {
        let Some(len) = read_some(&mut self.stream, wire)? else {
            return Ok(Arrival::Drained(0));
        };
        if len == 0 {
            self.ended = true;
            return Ok(Arrival::End);
        }
        let mut rest = &wire[..len];
        while !rest.is_empty() && !self.ended {
            self.session.read_tls(&mut rest)?;
            match self.session.process_new_packets() {
                Ok(state) => {
                    self.ended = state.peer_has_closed();
                    self.take_plain(state.plaintext_bytes_to_read(), buffers)?;
                }
                Err(error) => self.fail(error),
            }
        }
        // The length on the wire, so that it is 0 only when the socket was empty. After the
        // peer's last word there is one more thing to tell: the end.
        let more = len == wire.len() || self.ended;
        Ok(if more { Arrival::More(len) } else { Arrival::Drained(len) })
    }

    /// Moves what is decrypted to the input. It is never longer than what was read.
    fn take_plain(&mut self, mut len: usize, buffers: &mut Buffers) -> io::Result<()> {
        while len > 0 {
            let room = self.input.room(buffers);
            let most = room.len().min(len);
            let taken = self.session.reader().read(&mut room[..most])?;
            self.input.fill(taken);
            len -= taken.max(1);
        }
        Ok(())
    }

    /// The session is over. The alert that tells the peer why waits to be published.
    fn fail(&mut self, error: rustls::Error) {
        let fault = if self.is_handshaking() { Fault::Handshake } else { Fault::Session };
        self.fault = Some(fault(error));
        self.ended = true;
        self.failed = true;
    }
}

/// What was read; none when there is nothing for now.
fn read_some(stream: &mut TcpStream, into: &mut [u8]) -> io::Result<Option<usize>> {
    loop {
        match stream.read(into) {
            Ok(len) => return Ok(Some(len)),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
            Err(error) => return Err(error),
        }
    }
}

impl Transport for Tls {
    fn is_handshaking(&self) -> bool {
        self.session.is_handshaking()
    }

    fn progress(&mut self, buffers: &mut Buffers, len_max: usize) -> io::Result<Arrival> {
        if self.ended {
            return Ok(Arrival::End);
        }
        let mut wire = buffers.take_input();
        let most = wire.len().min(len_max);
        let arrival = self.receive(&mut wire[..most], buffers);
        buffers.give_input(wire);
        arrival
    }

    fn input(&self) -> &[u8] {
        self.input.filled()
    }

    fn parts(&mut self, buffers: &mut Buffers) -> (&[u8], &mut Vec<u8>) {
        if self.output.capacity() == 0 {
            self.output = buffers.take_output();
        }
        (self.input.filled(), &mut self.output)
    }

    fn consume(&mut self, len: usize) {
        self.input.consume(len);
    }

    fn commit(&mut self) {
        self.committed = self.output.len();
    }

    fn publish(&mut self) -> io::Result<bool> {
        loop {
            let plain = &self.output[self.encrypted..self.committed];
            if !plain.is_empty() {
                self.encrypted += self.session.writer().write(plain)?;
            }
            if !self.session.wants_write() {
                break;
            }
            match self.session.write_tls(&mut self.stream) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        if self.encrypted == self.output.len() {
            self.output.clear();
            (self.encrypted, self.committed) = (0, 0);
        }
        Ok(true)
    }

    /// Plain bytes that are not encrypted yet, and 1 for the records that the session holds: those
    /// have a bound of their own. Publishing never makes it more.
    fn unsent(&self) -> usize {
        self.committed - self.encrypted + usize::from(self.session.wants_write())
    }

    fn memory_bytes(&self) -> u64 {
        (SESSION_LEN + self.input.capacity() + self.output.capacity()) as u64
    }

    fn settle(&mut self, buffers: &mut Buffers) {
        self.input.settle(buffers);
        if self.output.is_empty() && self.output.capacity() > 0 {
            buffers.give_output(std::mem::take(&mut self.output));
        } else if self.encrypted > self.output.len() / 2 {
            // What is encrypted makes room, so that a slow reader does not make the buffer grow.
            self.output.drain(..self.encrypted);
            self.committed -= self.encrypted;
            self.encrypted = 0;
        }
    }

    fn economize(&mut self, buffers: &mut Buffers) {
        // The first may only empty a buffer, which the second then gives back.
        self.settle(buffers);
        self.settle(buffers);
        self.input.shelve(buffers);
    }

    fn finish(&mut self) {
        self.session.send_close_notify();
        // A peer that is gone already needs no telling.
        let _ = self.session.write_tls(&mut self.stream);
        let _ = self.stream.shutdown(Shutdown::Write);
    }
}

impl Drop for Tls {
    /// A peer that waits for our end must be able to tell it from one that was cut off.
    fn drop(&mut self) {
        if !self.failed && !self.is_handshaking() {
            self.session.send_close_notify();
            let _ = self.session.write_tls(&mut self.stream);
        }
    }
}
