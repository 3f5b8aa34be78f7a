//! What every neighbour needs: where the server is, and when to leave.

use std::io::{ErrorKind, Read};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, Result};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::Scale;
use crate::clock::Clock;

/// No single write or read of a neighbour waits longer.
const PATIENCE: Duration = Duration::from_secs(20);

/// One neighbour's stay.
#[derive(Debug)]
pub(super) struct Visit {
    pub(super) address: SocketAddr,
    pub(super) scale: Scale,
    clock: Clock,
    interrupted: Arc<AtomicBool>,
}

/// State of a connection, as a look without waiting shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Open connection, from which these bytes were read.
    Open(usize),
    /// The server has closed it in order.
    Closed,
    /// The server, or the kernel, has broken it off.
    Reset,
}

impl Visit {
    pub(super) fn new(address: SocketAddr, scale: Scale, flag: &Arc<AtomicBool>) -> Visit {
        Visit { address, scale, clock: Clock::start(), interrupted: Arc::clone(flag) }
    }

    /// Whether the time of the visit is over.
    pub(super) fn is_over(&self) -> bool {
        self.clock.elapsed().as_secs_f64() >= self.scale.seconds || self.is_interrupted()
    }

    pub(super) fn is_interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed)
    }

    pub(super) fn elapsed(&self) -> Duration {
        self.clock.elapsed()
    }

    /// Does nothing until its time is over.
    pub(super) fn stay(&self) {
        while !self.is_over() {
            self.rest(Duration::from_millis(20));
        }
    }

    /// Does nothing for a while.
    pub(super) fn rest(&self, time: Duration) {
        if let Ok(time) = Timespec::try_from(time) {
            // Waiting for no event is a pause; that it ends early on a signal does no harm.
            let _ = poll(&mut [], Some(&time));
        }
    }

    /// Waits a short while until one of these can be read or, if asked, written.
    pub(super) fn wait(&self, streams: &[&TcpStream], writing: bool) {
        let flags = if writing { PollFlags::IN | PollFlags::OUT } else { PollFlags::IN };
        let mut all: Vec<PollFd<'_>> =
            streams.iter().map(|stream| PollFd::new(*stream, flags)).collect();
        if let Ok(time) = Timespec::try_from(Duration::from_millis(20)) {
            let _ = poll(&mut all, Some(&time));
        }
    }

    /// A connection that waits for its reads and writes, though not for ever.
    pub(super) fn connect(&self) -> Result<TcpStream> {
        let stream = TcpStream::connect_timeout(&self.address, PATIENCE)
            .with_context(|| format!("connecting to {}", self.address))?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        Ok(stream)
    }

    /// A number of connections that never wait.
    pub(super) fn connect_many(&self, count: u32) -> Result<Vec<TcpStream>> {
        let mut streams = Vec::new();
        for _ in 0..count {
            let stream = self.connect()?;
            stream.set_nonblocking(true)?;
            streams.push(stream);
            if self.is_interrupted() {
                break;
            }
        }
        Ok(streams)
    }
}

/// Reads once what has come, without waiting.
pub(super) fn look(mut stream: &TcpStream, buffer: &mut [u8]) -> State {
    match stream.read(buffer) {
        Ok(0) => State::Closed,
        Ok(count) => State::Open(count),
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {
            State::Open(0)
        }
        Err(_) => State::Reset,
    }
}

/// How many connections are still open, how many were closed, and how many broken off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Fates {
    pub(super) open: usize,
    pub(super) closed: usize,
    pub(super) reset: usize,
}

impl Fates {
    pub(super) fn count(&mut self, state: State) {
        match state {
            State::Open(_) => self.open += 1,
            State::Closed => self.closed += 1,
            State::Reset => self.reset += 1,
        }
    }
}

impl std::fmt::Display for Fates {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{} open, {} closed, {} reset at the end", self.open, self.closed, self.reset)
    }
}
