//! Sockets: listening, the transports and their buffers. It knows no requests and no commands.

pub(crate) mod acceptor;
pub(crate) mod adapted;
pub(crate) mod buffer;
pub(crate) mod fault;
pub(crate) mod listener;
pub(crate) mod output;
pub(crate) mod port;
pub(crate) mod ports;
pub(crate) mod socket;
pub(crate) mod tcp;
pub(crate) mod tls;
pub(crate) mod transport;
