//! The transport over TLS. Like TCP it reads once and writes once per turn where it can. Input is read into a borrowed
//! buffer and passed through the session. Replies are sent in one call with as many records as they need, up to 64 KiB;
//! longer ones take a call for each 64 KiB.

use crate::adapter::Arrival;
use crate::net::buffer::{Buffer, Buffers};
use crate::net::fault::Fault;
use crate::net::output::Output;
use crate::net::transport::{Transport, attempt};
use mio::net::TcpStream;
use rustls::ServerConnection;
use std::io::{self, Read, Write};
use std::net::Shutdown;

/// Maximum length of records that wait in the session to be sent, bytes.
const RECORDS_LEN_MAX: usize = 64 * 1024;

/// Memory of a session, bytes, as measured over a thousand of them.
const SESSION_LEN: usize = 8 * 1024;

/// A socket, a session, and the plain bytes on their way in and out.
pub(crate) struct Tls {
    pub(crate) stream: TcpStream,
    session: ServerConnection,
    input: Buffer,
    /// Plain replies; bytes leave it when they are handed to the session.
    output: Output,
    /// Whether the input has ended: the peer has closed, or the session has failed.
    ended: bool,
    failed: bool,
    /// Why the session has failed, until it is taken.
    fault: Option<Fault>,
}

impl Tls {
    pub(crate) fn new(stream: TcpStream, mut session: ServerConnection) -> Tls {
        session.set_buffer_limit(Some(RECORDS_LEN_MAX));
        Tls {
            stream,
            session,
            input: Buffer::default(),
            output: Output::default(),
            ended: false,
            failed: false,
            fault: None,
        }
    }

    /// Returns, once, why the session has failed.
    pub(crate) fn take_fault(&mut self) -> Option<Fault> {
        self.fault.take()
    }

    fn receive(&mut self, wire: &mut [u8], buffers: &mut Buffers) -> io::Result<Arrival> {
        let Some(len) = attempt(|| self.stream.read(wire))? else {
            return Ok(Arrival::Drained(0));
        };
        if len == 0 {
            self.ended = true;
            return Ok(Arrival::End);
        }
        let mut rest = &wire[..len];
        // One read may hold several records. Nothing after the end of the session is processed.
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
        // The length on the wire, so that it is 0 only when the socket was empty. After the peer's last bytes one more
        // result remains to be returned: the end.
        let more = len == wire.len() || self.ended;
        Ok(if more { Arrival::More(len) } else { Arrival::Drained(len) })
    }

    /// Moves decrypted bytes to the input. They are never longer than the encrypted bytes.
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

    /// Ends the session with an error. The alert that tells the peer why waits to be published.
    fn fail(&mut self, error: rustls::Error) {
        let fault = if self.is_handshaking() { Fault::Handshake } else { Fault::Session };
        self.fault = Some(fault(error));
        self.ended = true;
        self.failed = true;
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
        (self.input.filled(), self.output.staging(buffers))
    }

    fn consume(&mut self, len: usize) {
        self.input.consume(len);
    }

    fn commit(&mut self) {
        self.output.commit();
    }

    fn publish(&mut self) -> io::Result<bool> {
        loop {
            if !self.output.leaving().is_empty() {
                let len = self.session.writer().write(self.output.leaving())?;
                self.output.leave(len);
            }
            if !self.session.wants_write() {
                return Ok(true);
            }
            match attempt(|| self.session.write_tls(&mut self.stream))? {
                None => return Ok(false),
                Some(0) => return Err(io::ErrorKind::WriteZero.into()),
                Some(_) => {}
            }
        }
    }

    /// Plain bytes that are not encrypted yet, and 1 for the records that the session holds: those have a bound of
    /// their own. Publishing never increases the result.
    fn unsent(&self) -> usize {
        self.output.leaving().len() + usize::from(self.session.wants_write())
    }

    fn memory_bytes(&self) -> u64 {
        (SESSION_LEN + self.input.capacity() + self.output.capacity()) as u64
    }

    fn release(&mut self, buffers: &mut Buffers) {
        self.input.release(buffers);
        self.output.release(buffers);
    }

    fn release_idle_memory(&mut self, buffers: &mut Buffers) {
        // The first call may only empty a buffer, which the second then returns to the pool.
        self.release(buffers);
        self.release(buffers);
        self.input.shrink_buffers(buffers);
    }

    fn finish(&mut self) {
        self.session.send_close_notify();
        // If the peer is gone, the failure does not matter.
        let _ = self.session.write_tls(&mut self.stream);
        let _ = self.stream.shutdown(Shutdown::Write);
    }
}

impl Drop for Tls {
    /// Sends close_notify, so that a peer can tell the end of the connection from one that was cut off.
    fn drop(&mut self) {
        if !self.failed && !self.is_handshaking() {
            self.session.send_close_notify();
            let _ = self.session.write_tls(&mut self.stream);
        }
    }
}
