//! What a connection of this server speaks over: TCP, or TLS over it.

use crate::pool::Pool;
use crate::tcp::Tcp;
use crate::tls::{Fault, Tls};
use crate::transport::{Arrival, Transport};
use mio::net::TcpStream;
use std::io;

/// Either transport. The session of TLS is large, and connections without it do not pay for it.
pub(crate) enum Socket {
    Tcp(Tcp),
    Tls(Box<Tls>),
}

impl Socket {
    pub(crate) fn stream(&mut self) -> &mut TcpStream {
        match self {
            Socket::Tcp(tcp) => &mut tcp.stream,
            Socket::Tls(tls) => &mut tls.stream,
        }
    }

    /// Why TLS has failed; told once.
    pub(crate) fn take_fault(&mut self) -> Option<Fault> {
        match self {
            Socket::Tcp(_) => None,
            Socket::Tls(tls) => tls.take_fault(),
        }
    }

    /// True while the peer cannot send a command yet.
    pub(crate) fn is_handshaking(&self) -> bool {
        match self {
            Socket::Tcp(_) => false,
            Socket::Tls(tls) => tls.is_handshaking(),
        }
    }
}

/// Calls the same of whichever it is.
macro_rules! either {
    ($socket:expr, $transport:ident => $call:expr) => {
        match $socket {
            Socket::Tcp($transport) => $call,
            Socket::Tls($transport) => $call,
        }
    };
}

impl Transport for Socket {
    #[inline]
    fn progress(&mut self, pool: &mut Pool) -> io::Result<Arrival> {
        either!(self, transport => transport.progress(pool))
    }

    #[inline]
    fn input(&self) -> &[u8] {
        either!(self, transport => transport.input())
    }

    #[inline]
    fn parts(&mut self, pool: &mut Pool) -> (&[u8], &mut Vec<u8>) {
        either!(self, transport => transport.parts(pool))
    }

    #[inline]
    fn consume(&mut self, len: usize) {
        either!(self, transport => transport.consume(len));
    }

    #[inline]
    fn commit(&mut self) {
        either!(self, transport => transport.commit());
    }

    #[inline]
    fn publish(&mut self) -> io::Result<bool> {
        either!(self, transport => transport.publish())
    }

    #[inline]
    fn unsent(&self) -> usize {
        either!(self, transport => transport.unsent())
    }

    #[inline]
    fn memory_bytes(&self) -> u64 {
        either!(self, transport => transport.memory_bytes())
    }

    fn shelve(&mut self, pool: &mut Pool) {
        either!(self, transport => transport.shelve(pool));
    }

    #[inline]
    fn settle(&mut self, pool: &mut Pool) {
        either!(self, transport => transport.settle(pool));
    }

    fn finish(&mut self) {
        either!(self, transport => transport.finish());
    }
}
