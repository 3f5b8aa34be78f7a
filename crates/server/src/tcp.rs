//! The transport over TCP.

use crate::buffer::Buffer;
use crate::buffers::Buffers;
use crate::transport::{Arrival, Transport};
use mio::net::TcpStream;
use std::io::{self, Read, Write};
use std::net::Shutdown;

/// A buffer that is filled less than this part is exchanged for a small one while it waits.
const SHELVED_SHARE: usize = 16;

/// A socket and the bytes on their way in and out.
#[derive(Debug)]
pub(crate) struct Tcp {
    pub(crate) stream: TcpStream,
    input: Buffer,
    output: Vec<u8>,
    committed: usize,
    sent: usize,
}

impl Tcp {
    pub(crate) fn new(stream: TcpStream) -> Tcp {
        Tcp { stream, input: Buffer::default(), output: Vec::new(), committed: 0, sent: 0 }
    }
}

impl Transport for Tcp {
    fn progress(&mut self, buffers: &mut Buffers, len_max: usize) -> io::Result<Arrival> {
        let room = self.input.room(buffers);
        let most = room.len().min(len_max);
        let room = &mut room[..most];
        loop {
            match self.stream.read(room) {
                Ok(0) => return Ok(Arrival::End),
                Ok(len) => {
                    let full = len == room.len();
                    self.input.fill(len);
                    // A short read has emptied the socket: the next arrival is a new event.
                    return Ok(if full { Arrival::More(len) } else { Arrival::Drained(len) });
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    return Ok(Arrival::Drained(0));
                }
                Err(error) => return Err(error),
            }
        }
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
        while self.sent < self.committed {
            match self.stream.write(&self.output[self.sent..self.committed]) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(len) => self.sent += len,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        if self.sent == self.output.len() {
            self.output.clear();
            (self.sent, self.committed) = (0, 0);
        }
        Ok(true)
    }

    fn unsent(&self) -> usize {
        self.committed - self.sent
    }

    fn memory_bytes(&self) -> u64 {
        (self.input.capacity() + self.output.capacity()) as u64
    }

    fn shelve(&mut self, buffers: &mut Buffers) {
        self.settle(buffers);
        if self.output.len() < self.output.capacity() / SHELVED_SHARE {
            let few = self.output.as_slice().to_vec();
            buffers.give_output(std::mem::replace(&mut self.output, few));
        }
    }

    fn economize(&mut self, buffers: &mut Buffers) {
        self.shelve(buffers);
        self.input.shelve(buffers);
    }

    fn settle(&mut self, buffers: &mut Buffers) {
        self.input.settle(buffers);
        if self.output.is_empty() && self.output.capacity() > 0 {
            buffers.give_output(std::mem::take(&mut self.output));
        } else if self.sent > self.output.len() / 2 {
            // What is sent makes room, so that a slow reader does not make the buffer grow.
            self.output.drain(..self.sent);
            self.committed -= self.sent;
            self.sent = 0;
        }
    }

    fn finish(&mut self) {
        // A peer that is gone already needs no telling.
        let _ = self.stream.shutdown(Shutdown::Write);
    }
}
