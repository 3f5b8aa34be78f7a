//! A listener in the event loop: accepts a bounded number of connections at once, and pauses when the system has no
//! resources.

use crate::net::listener;
use crate::net::port::Port;
use crate::settings::{Settings, StartError};
use mio::net::{TcpListener, TcpStream};
use mio::{Interest, Registry, Token};
use std::io;
use std::net::SocketAddr;

/// Connections accepted at once.
const ACCEPTS_MAX: usize = 16;
/// Pause after accepting has failed, ms.
const PAUSE_MS: i64 = 1_000;

/// A listener and its state.
pub(crate) struct Acceptor {
    pub(crate) port: Port,
    /// Where it listens, with the port that was chosen.
    pub(crate) address: SocketAddr,
    listener: TcpListener,
    /// True while more connections may be waiting to be accepted.
    ready: bool,
    /// When to try again after accepting has failed, ms of uptime.
    again_ms: Option<i64>,
}

impl Acceptor {
    /// Listens on an address, if that is safe.
    pub(crate) fn open(
        address: SocketAddr,
        port: Port,
        settings: &Settings,
    ) -> Result<Acceptor, StartError> {
        port.check_access(address, settings)?;
        let listener = listener::listen(address)?;
        let address = listener.local_addr().map_err(StartError::system("the listener"))?;
        Ok(Acceptor { port, address, listener, ready: true, again_ms: None })
    }

    /// Registers the listener with the poller.
    pub(crate) fn register(&mut self, registry: &Registry, token: Token) -> io::Result<()> {
        registry.register(&mut self.listener, token, Interest::READABLE)
    }

    /// Notes that connections wait.
    pub(crate) fn notice(&mut self) {
        self.ready = true;
    }

    /// Reports whether the loop has connections to accept and should not wait.
    pub(crate) fn is_ready(&self) -> bool {
        self.ready
    }

    /// Accepts the next batch of connections.
    pub(crate) fn accept(&mut self, uptime_ms: i64) -> Vec<(TcpStream, SocketAddr)> {
        if self.again_ms.is_some_and(|again_ms| again_ms <= uptime_ms) {
            self.again_ms = None;
            self.ready = true;
        }
        let mut accepted = Vec::new();
        while self.ready && accepted.len() < ACCEPTS_MAX {
            match listener::accept(&self.listener) {
                Ok(Some(connection)) => accepted.push(connection),
                Ok(None) => self.ready = false,
                Err(error) => {
                    // Such as too many open files: tried again when some may have been closed.
                    tracing::warn!("cannot accept a connection: {error}");
                    self.ready = false;
                    self.again_ms = Some(uptime_ms + PAUSE_MS);
                }
            }
        }
        accepted
    }
}
