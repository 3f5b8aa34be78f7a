//! One connection of the loader: its sessions, its requests in flight, and bytes of partial reads and writes.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::OwnedFd;
use std::time::Duration;

use anyhow::{Context, Result};
use rustix::event::epoll::{self, EventData, EventFlags};

use scurry_rdma_proto::{Endpoint, Progress};

use crate::wire::{Translator, Wire};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Request that has no reply yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct RequestInFlight {
    /// When it was due in an open loop; when it was written in a closed one.
    pub(super) sent: u64,
    /// When it was written.
    pub(super) written: u64,
    pub(super) session: u32,
    pub(super) operation: u8,
}

/// Session number of a WAIT, which asks for the number of copies of the requests before it.
pub(super) const COPIES: u32 = u32::MAX;

/// Transport of a connection.
#[derive(Debug)]
enum Carrier {
    Tcp(TcpStream),
    Rdma(Box<Endpoint<scurry_rdma::Connection>>),
}

/// One connection.
#[derive(Debug)]
pub(super) struct Connection {
    carrier: Carrier,
    number: u64,
    ready: VecDeque<u32>,
    in_flight: VecDeque<RequestInFlight>,
    /// Requests that were answered but not yet confirmed to be on enough copies.
    held: VecDeque<RequestInFlight>,
    unread: Vec<u8>,
    unsent: Vec<u8>,
    /// Translator; None where the target speaks RESP.
    pub(super) translator: Option<Box<dyn Translator>>,
}

impl Connection {
    pub(super) fn open(
        address: SocketAddr,
        wire: Wire,
        sessions: VecDeque<u32>,
    ) -> Result<Connection> {
        let stream = TcpStream::connect_timeout(&address, CONNECT_TIMEOUT)
            .with_context(|| format!("connecting to {address}"))?;
        stream.set_nodelay(true)?;
        stream.set_nonblocking(true)?;
        Ok(Connection::over(Carrier::Tcp(stream), wire, sessions))
    }

    /// Wraps a connection that is already open over RDMA.
    pub(super) fn over_rdma(
        endpoint: Endpoint<scurry_rdma::Connection>,
        wire: Wire,
        sessions: VecDeque<u32>,
    ) -> Connection {
        Connection::over(Carrier::Rdma(Box::new(endpoint)), wire, sessions)
    }

    fn over(carrier: Carrier, wire: Wire, sessions: VecDeque<u32>) -> Connection {
        let in_flight = VecDeque::with_capacity(sessions.len());
        Connection {
            carrier,
            number: 0,
            ready: sessions,
            in_flight,
            held: VecDeque::new(),
            unread: Vec::new(),
            unsent: Vec::new(),
            translator: wire.translator(),
        }
    }

    /// Returns the RDMA endpoint; None over TCP.
    pub(super) fn endpoint(&mut self) -> Option<&mut Endpoint<scurry_rdma::Connection>> {
        match &mut self.carrier {
            Carrier::Tcp(_) => None,
            Carrier::Rdma(endpoint) => Some(endpoint),
        }
    }

    pub(super) fn register(&mut self, set: &OwnedFd, number: u64) -> Result<()> {
        self.number = number;
        // RDMA connections share one completion queue, which is watched separately.
        let Carrier::Tcp(stream) = &self.carrier else { return Ok(()) };
        epoll::add(set, stream, EventData::new_u64(number), EventFlags::IN)
            .context("watching a connection")
    }

    /// Returns how many requests are in flight, or answered but not acknowledged.
    pub(super) fn depth(&self) -> usize {
        self.in_flight.len() + self.held.len()
    }

    pub(super) fn next_ready(&mut self) -> Option<u32> {
        self.ready.pop_front()
    }

    pub(super) fn sending(&mut self, session: u32, operation: u8) {
        self.in_flight.push_back(RequestInFlight { sent: 0, written: 0, session, operation });
    }

    /// Sets the times of the last `count` requests, which are written at `now`; `time` returns when each was due.
    pub(super) fn stamp(&mut self, count: usize, now: u64, time: impl Fn(u64) -> u64) {
        let first = self.in_flight.len() - count;
        for (request, number) in self.in_flight.range_mut(first..).zip(0..) {
            (request.sent, request.written) = (time(number), now);
        }
    }

    pub(super) fn oldest(&self) -> Option<RequestInFlight> {
        self.in_flight.front().copied()
    }

    /// Completes the oldest request: its session may continue.
    pub(super) fn answered(&mut self) {
        if let Some(request) = self.in_flight.pop_front() {
            self.ready.push_back(request.session);
        }
    }

    /// Completes the request of this session; its reply may have overtaken older ones.
    pub(super) fn answered_by(&mut self, session: u32) -> Option<RequestInFlight> {
        let at = self.in_flight.iter().position(|request| request.session == session)?;
        let request = self.in_flight.remove(at)?;
        self.ready.push_back(session);
        Some(request)
    }

    /// Moves the oldest request to the queue that waits for enough copies.
    pub(super) fn hold(&mut self) {
        self.held.extend(self.in_flight.pop_front());
    }

    /// Handles the reply to a WAIT: returns the requests before it, and their sessions may continue.
    pub(super) fn acknowledged(&mut self) -> impl Iterator<Item = RequestInFlight> {
        self.in_flight.pop_front();
        self.ready.extend(self.held.iter().map(|request| request.session));
        self.held.drain(..)
    }

    /// Moves a partial reply from the last read to the front of `buffer`.
    pub(super) fn take_unread(&mut self, buffer: &mut [u8]) -> usize {
        let length = self.unread.len();
        buffer[..length].copy_from_slice(&self.unread);
        self.unread.clear();
        length
    }

    pub(super) fn keep_unread(&mut self, bytes: &[u8]) {
        self.unread.extend_from_slice(bytes);
    }

    pub(super) fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match &mut self.carrier {
            Carrier::Tcp(stream) => stream.read(buffer),
            Carrier::Rdma(endpoint) => read_endpoint(endpoint, buffer),
        }
    }

    /// Reports whether part of the last write is still buffered.
    pub(super) fn is_blocked(&self) -> bool {
        let waits = match &self.carrier {
            Carrier::Tcp(_) => false,
            Carrier::Rdma(endpoint) => endpoint.unsent() > 0,
        };
        waits || !self.unsent.is_empty()
    }

    /// Writes, and buffers the bytes that the socket does not accept.
    pub(super) fn write(&mut self, bytes: &[u8], set: &OwnedFd) -> Result<()> {
        if let Carrier::Rdma(endpoint) = &mut self.carrier {
            endpoint.parts().1.extend_from_slice(bytes);
            endpoint.commit();
            return self.flush(set);
        }
        // After a partial write everything is queued, so that the bytes stay in order.
        if self.is_blocked() {
            self.unsent.extend_from_slice(bytes);
            return Ok(());
        }
        let Carrier::Tcp(stream) = &mut self.carrier else { return Ok(()) };
        let taken = match stream.write(bytes) {
            Ok(taken) => taken,
            Err(error) if error.kind() == ErrorKind::WouldBlock => 0,
            Err(error) => return Err(error).context("writing requests"),
        };
        if taken < bytes.len() {
            self.unsent.extend_from_slice(&bytes[taken..]);
            self.watch(set, EventFlags::IN | EventFlags::OUT)?;
        }
        Ok(())
    }

    /// Writes the buffered bytes.
    pub(super) fn flush(&mut self, set: &OwnedFd) -> Result<()> {
        let stream = match &mut self.carrier {
            Carrier::Tcp(stream) => stream,
            Carrier::Rdma(endpoint) => {
                endpoint.publish().context("writing requests over RDMA")?;
                return Ok(());
            }
        };
        match stream.write(&self.unsent) {
            Ok(taken) => drop(self.unsent.drain(..taken)),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(error) => return Err(error).context("writing requests"),
        }
        // Stop watching for writability, which epoll would otherwise report all the time.
        if self.unsent.is_empty() {
            self.watch(set, EventFlags::IN)?;
        }
        Ok(())
    }

    fn watch(&self, set: &OwnedFd, flags: EventFlags) -> Result<()> {
        let Carrier::Tcp(stream) = &self.carrier else { return Ok(()) };
        epoll::modify(set, stream, EventData::new_u64(self.number), flags)
            .context("watching a connection")
    }
}

/// Copies as many received bytes as fit.
fn read_endpoint(
    endpoint: &mut Endpoint<scurry_rdma::Connection>,
    buffer: &mut [u8],
) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        let input = endpoint.input();
        if !input.is_empty() {
            let len = input.len().min(buffer.len() - filled);
            buffer[filled..filled + len].copy_from_slice(&input[..len]);
            endpoint.consume(len);
            filled += len;
            continue;
        }
        match endpoint.progress() {
            Progress::Drained(0) if filled == 0 => return Err(ErrorKind::WouldBlock.into()),
            Progress::Drained(0) | Progress::End => break,
            Progress::More(_) | Progress::Drained(_) => {}
        }
    }
    Ok(filled)
}
