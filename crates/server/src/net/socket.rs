//! The socket of a connection: TCP, TLS over it, or an adapter such as RDMA's.

use crate::adapter::Arrival;
use crate::net::adapted::Adapted;
use crate::net::buffer::Buffers;
use crate::net::fault::Fault;
use crate::net::port::Port;
use crate::net::tcp::Tcp;
use crate::net::tls::Tls;
use crate::net::transport::Transport;
use mio::net::TcpStream;
use std::io;

/// One of the transports. TLS and adapters are large; boxes keep them from enlarging other connections.
pub(crate) enum Socket {
    Tcp(Tcp),
    Tls(Box<Tls>),
    Adapted(Adapted),
}

impl Socket {
    /// Creates the transport of a connection to this port.
    pub(crate) fn accept(stream: TcpStream, port: &Port) -> io::Result<Socket> {
        match &port.tls {
            None => Ok(Socket::Tcp(Tcp::new(stream))),
            Some(tls) => Ok(Socket::Tls(Box::new(tls.begin(stream)?))),
        }
    }

    /// Returns the stream that the poller watches. None for a connection that a completion queue serves.
    pub(crate) fn stream(&mut self) -> Option<&mut TcpStream> {
        match self {
            Socket::Tcp(tcp) => Some(&mut tcp.stream),
            Socket::Tls(tls) => Some(&mut tls.stream),
            Socket::Adapted(_) => None,
        }
    }

    /// Returns, once, why the transport has failed.
    pub(crate) fn take_fault(&mut self) -> Option<Fault> {
        match self {
            Socket::Tcp(_) => None,
            Socket::Tls(tls) => tls.take_fault(),
            Socket::Adapted(adapted) => adapted.0.take_fault().map(Fault::Adapter),
        }
    }
}

/// Calls the same method of whichever transport it is.
macro_rules! any {
    ($socket:expr, $transport:ident => $call:expr) => {
        match $socket {
            Socket::Tcp($transport) => $call,
            Socket::Tls($transport) => $call,
            Socket::Adapted($transport) => $call,
        }
    };
}

impl Transport for Socket {
    #[inline]
    fn is_handshaking(&self) -> bool {
        any!(self, transport => transport.is_handshaking())
    }

    #[inline]
    fn progress(&mut self, buffers: &mut Buffers, len_max: usize) -> io::Result<Arrival> {
        any!(self, transport => transport.progress(buffers, len_max))
    }

    #[inline]
    fn input(&self) -> &[u8] {
        any!(self, transport => transport.input())
    }

    #[inline]
    fn parts(&mut self, buffers: &mut Buffers) -> (&[u8], &mut Vec<u8>) {
        any!(self, transport => transport.parts(buffers))
    }

    #[inline]
    fn consume(&mut self, len: usize) {
        any!(self, transport => transport.consume(len));
    }

    #[inline]
    fn commit(&mut self) {
        any!(self, transport => transport.commit());
    }

    #[inline]
    fn publish(&mut self) -> io::Result<bool> {
        any!(self, transport => transport.publish())
    }

    #[inline]
    fn unsent(&self) -> usize {
        any!(self, transport => transport.unsent())
    }

    #[inline]
    fn memory_bytes(&self) -> u64 {
        any!(self, transport => transport.memory_bytes())
    }

    fn shrink_buffers(&mut self, buffers: &mut Buffers) {
        any!(self, transport => transport.shrink_buffers(buffers));
    }

    #[inline]
    fn release(&mut self, buffers: &mut Buffers) {
        any!(self, transport => transport.release(buffers));
    }

    fn release_idle_memory(&mut self, buffers: &mut Buffers) {
        any!(self, transport => transport.release_idle_memory(buffers));
    }

    fn finish(&mut self) {
        any!(self, transport => transport.finish());
    }
}
