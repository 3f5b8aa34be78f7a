//! The transport over TCP.

use crate::adapter::Arrival;
use crate::net::buffer::{Buffer, Buffers};
use crate::net::output::Output;
use crate::net::transport::{Transport, attempt};
use mio::net::TcpStream;
use std::io::{self, Read, Write};
use std::net::Shutdown;

/// A socket and the bytes on their way in and out.
#[derive(Debug)]
pub(crate) struct Tcp {
    pub(crate) stream: TcpStream,
    input: Buffer,
    output: Output,
}

impl Tcp {
    pub(crate) fn new(stream: TcpStream) -> Tcp {
        Tcp { stream, input: Buffer::default(), output: Output::default() }
    }
}

impl Transport for Tcp {
    fn progress(&mut self, buffers: &mut Buffers, len_max: usize) -> io::Result<Arrival> {
        let room = self.input.room(buffers);
        let most = room.len().min(len_max);
        let room = &mut room[..most];
        let Some(len) = attempt(|| self.stream.read(room))? else {
            return Ok(Arrival::Drained(0));
        };
        if len == 0 {
            return Ok(Arrival::End);
        }
        let full = len == room.len();
        self.input.fill(len);
        // A short read has emptied the socket: more input causes a new event.
        Ok(if full { Arrival::More(len) } else { Arrival::Drained(len) })
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
        while !self.output.leaving().is_empty() {
            match attempt(|| self.stream.write(self.output.leaving()))? {
                None => return Ok(false),
                Some(0) => return Err(io::ErrorKind::WriteZero.into()),
                Some(len) => self.output.leave(len),
            }
        }
        Ok(true)
    }

    fn unsent(&self) -> usize {
        self.output.leaving().len()
    }

    fn memory_bytes(&self) -> u64 {
        (self.input.capacity() + self.output.capacity()) as u64
    }

    fn shrink_buffers(&mut self, buffers: &mut Buffers) {
        self.release(buffers);
        self.output.shrink_buffers(buffers);
    }

    fn release_idle_memory(&mut self, buffers: &mut Buffers) {
        self.shrink_buffers(buffers);
        self.input.shrink_buffers(buffers);
    }

    fn release(&mut self, buffers: &mut Buffers) {
        self.input.release(buffers);
        self.output.release(buffers);
    }

    fn finish(&mut self) {
        // If the peer is gone, the failure does not matter.
        let _ = self.stream.shutdown(Shutdown::Write);
    }
}
