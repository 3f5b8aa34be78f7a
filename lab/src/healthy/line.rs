//! One connection of the healthy client: a schedule, and at most one request in flight.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::OwnedFd;

use anyhow::{Context, Result, bail, ensure};
use rustix::event::epoll::{self, EventData, EventFlags};

use crate::clock::Clock;
use crate::resp::Stop;

const CHUNK: usize = 16_384;

/// The connection.
#[derive(Debug)]
pub(super) struct HealthyConnection {
    stream: TcpStream,
    /// When the next request is meant to be sent.
    due: u64,
    period: u64,
    /// When the request in flight was meant to be sent, and when it was.
    waiting: Option<(u64, u64)>,
    free_since: u64,
    received: Vec<u8>,
}

impl HealthyConnection {
    pub(super) fn open(
        address: SocketAddr,
        set: &OwnedFd,
        number: u32,
        first: u64,
        period: u64,
    ) -> Result<HealthyConnection> {
        let stream = TcpStream::connect(address)
            .with_context(|| format!("connecting the healthy client to {address}"))?;
        stream.set_nodelay(true)?;
        stream.set_nonblocking(true)?;
        epoll::add(set, &stream, EventData::new_u64(u64::from(number)), EventFlags::IN)?;
        let received = Vec::with_capacity(CHUNK);
        Ok(HealthyConnection {
            stream,
            due: first,
            period,
            waiting: None,
            free_since: first,
            received,
        })
    }

    pub(super) fn due(&self) -> u64 {
        self.due
    }

    pub(super) fn is_idle(&self) -> bool {
        self.waiting.is_none()
    }

    pub(super) fn waits_since(&self) -> Option<u64> {
        self.waiting.map(|(_, sent)| sent)
    }

    /// When the last answer came.
    pub(super) fn free_since(&self) -> u64 {
        self.free_since
    }

    /// Sends the request that is due. The schedule goes on from when it was meant to be sent.
    pub(super) fn send(&mut self, request: &[u8], now: u64) -> Result<()> {
        self.waiting = Some((self.due, now));
        self.due += self.period;
        // One short request on an idle connection always has room.
        self.stream.write_all(request).context("sending a request of the healthy client")
    }

    /// Reads; gives when the request was meant to be sent once its answer is whole.
    pub(super) fn receive(
        &mut self,
        mut accept: impl FnMut(&[u8]) -> Result<usize, Stop>,
        clock: Clock,
    ) -> Result<Option<u64>> {
        let mut chunk = [0; CHUNK];
        match self.stream.read(&mut chunk) {
            Ok(0) => bail!("the server closed a connection of the healthy client"),
            Ok(count) => self.received.extend_from_slice(&chunk[..count]),
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(None),
            Err(error) => return Err(error).context("reading for the healthy client"),
        }
        let Some((meant, _)) = self.waiting else { bail!("the server answers unasked") };
        match accept(&self.received) {
            Ok(length) => {
                ensure!(length == self.received.len(), "the server answers more than was asked");
                self.received.clear();
                self.waiting = None;
                self.free_since = clock.nanos();
                Ok(Some(meant))
            }
            Err(Stop::Incomplete) => Ok(None),
            Err(Stop::Malformed) => bail!(
                "an answer to the healthy client is not what was asked for: {}",
                self.received.escape_ascii()
            ),
        }
    }
}
