//! Attempts to connect, one after another, without waiting for them.

use std::io;
use std::net::{SocketAddr, TcpStream};
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::thread;
use std::time::Duration;

/// Timeout of an attempt.
const CONNECT: Duration = Duration::from_secs(2);
/// Pause after one, ms.
const PAUSE_MS: u64 = 200;

/// The attempts to connect to an address.
pub(super) struct Connecting {
    address: SocketAddr,
    attempt: Option<Receiver<io::Result<TcpStream>>>,
    /// When the next one begins.
    next_ms: u64,
}

impl Connecting {
    pub(super) fn to(address: SocketAddr) -> Connecting {
        Connecting { address, attempt: None, next_ms: 0 }
    }

    /// Lets no attempt begin before this time.
    pub(super) fn pause_until(&mut self, next_ms: u64) {
        self.next_ms = next_ms;
    }

    /// Returns a connection, if one was made. Begins the next attempt when it is time.
    pub(super) fn stream(&mut self, now_ms: u64) -> Option<TcpStream> {
        let Some(told) = &self.attempt else {
            if self.next_ms <= now_ms {
                let (address, (tell, told)) = (self.address, channel());
                thread::spawn(move || tell.send(TcpStream::connect_timeout(&address, CONNECT)));
                self.attempt = Some(told);
            }
            return None;
        };
        let outcome = told.try_recv();
        if matches!(outcome, Err(TryRecvError::Empty)) {
            return None;
        }
        self.attempt = None;
        self.next_ms = now_ms + PAUSE_MS;
        outcome.ok()?.ok()
    }
}
