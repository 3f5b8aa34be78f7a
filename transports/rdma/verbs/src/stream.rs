//! A blocking client connection for tools and tests, read and written like a socket.

use crate::budget::Budget;
use crate::connection::{Connection, Settings};
use crate::device::Device;
use crate::hub::{Hub, Notice};
use crate::os_errors;
use scurry_rdma_proto::{Counts, Endpoint, Fault, Progress, Role};
use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

/// Maximum time between two checks of the endpoint's timers, ms.
const LOOK_MS: u64 = 500;
/// Bytes formed before they are published.
const FORMED_MAX: usize = 64 * 1024;
/// Limit of pinned memory, bytes.
const PINNED_MAX: u64 = 256 << 20;

/// A client's connection.
#[derive(Debug)]
pub struct Stream {
    endpoint: Endpoint<Connection>,
    hub: Hub,
    began: Instant,
    /// Maximum duration of a read or a write.
    timeout: Option<Duration>,
    ended: bool,
}

impl Stream {
    /// Connects through the first device that has a route to the address.
    ///
    /// # Errors
    /// When there is no device, the peer does not answer in time, or it refuses.
    pub fn connect(
        to: SocketAddr,
        settings: scurry_rdma_proto::Settings,
        timeout: Duration,
    ) -> io::Result<Stream> {
        let narrow = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        let queues = Settings {
            receive_entries: narrow(settings.receives),
            send_entries: narrow(settings.send_depth),
            inline_max: narrow(settings.inline_max),
        };
        let mut refusal = None;
        for device in Device::all().map_err(io::Error::other)? {
            let completions = queues.completions();
            let mut hub = Hub::new(device, completions, Budget::new(PINNED_MAX))?;
            match hub.connect(to, &queues, timeout) {
                Ok(connection) => return Stream::over(connection, hub, settings),
                Err(error) => refusal = Some(error),
            }
        }
        Err(refusal.unwrap_or_else(|| io::ErrorKind::NotFound.into()))
    }

    fn over(
        connection: Connection,
        hub: Hub,
        settings: scurry_rdma_proto::Settings,
    ) -> io::Result<Stream> {
        let endpoint = Endpoint::new(connection, Role::Client, settings, 0).map_err(fault)?;
        let mut stream = Stream { endpoint, hub, began: now(), timeout: None, ended: false };
        stream.endpoint.open(0).map_err(fault)?;
        Ok(stream)
    }

    /// Sets the timeout of each later read and write; with `None` they wait for ever.
    pub fn set_timeout(&mut self, timeout: Option<Duration>) {
        self.timeout = timeout;
    }

    /// Returns the counters of the stream.
    #[must_use]
    pub fn counts(&self) -> &Counts {
        self.endpoint.counts()
    }

    /// Handles the events that have arrived, and waits for one if there are none.
    fn wait(&mut self, since: Instant) -> io::Result<()> {
        let count = self.pass_notices(|hub, f| hub.poll(f))?;
        // A completion that arrives before `rest` has armed the queues causes no event, so `rest`
        // polls again.
        if count > 0 || self.pass_notices(|hub, f| hub.rest(f))? > 0 {
            return Ok(());
        }
        let mut patience = Duration::from_millis(LOOK_MS);
        if let Some(timeout) = self.timeout {
            let left = timeout.saturating_sub(since.elapsed());
            if left.is_zero() {
                let what = "the peer does not answer over RDMA";
                return Err(io::Error::new(io::ErrorKind::TimedOut, what));
            }
            patience = patience.min(left);
        }
        let fds = [self.hub.completions_fd(), self.hub.connections_fd()].map(|fd| fd.as_raw_fd());
        let mut waiting = fds.map(|fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 });
        // At least 1 ms, so that the last fraction of a millisecond is not spent spinning.
        let ms = i32::try_from(patience.as_millis()).unwrap_or(i32::MAX).max(1);
        // SAFETY: the call gets two descriptors, which are open.
        if unsafe { libc::poll(waiting.as_mut_ptr(), 2, ms) } < 0
            && io::Error::last_os_error().kind() != io::ErrorKind::Interrupted
        {
            return Err(os_errors::last("cannot wait for a completion"));
        }
        if waiting[0].revents != 0 {
            self.hub.notified()?;
        }
        if waiting[1].revents != 0 {
            self.pass_notices(|hub, f| hub.poll_connections(f))?;
        }
        let now_ms = self.now_ms();
        self.endpoint.tick(now_ms).map_err(fault)
    }

    /// Passes the hub's notices to the endpoint.
    fn pass_notices(
        &mut self,
        poll: impl FnOnce(&mut Hub, &mut dyn FnMut(u32, Notice<'_>)) -> io::Result<usize>,
    ) -> io::Result<usize> {
        let now_ms = self.now_ms();
        let Stream { endpoint, hub, .. } = self;
        let mut outcome = Ok(());
        let count = poll(hub, &mut |_, notice| {
            if let Notice::Event(event) = notice
                && outcome.is_ok()
            {
                outcome = endpoint.event(event, now_ms);
            }
        })?;
        outcome.map_err(fault).map(|()| count)
    }

    fn now_ms(&self) -> i64 {
        i64::try_from(self.began.elapsed().as_millis()).unwrap_or(i64::MAX)
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let since = now();
        loop {
            let input = self.endpoint.input();
            if !input.is_empty() {
                let len = input.len().min(buffer.len());
                buffer[..len].copy_from_slice(&input[..len]);
                self.endpoint.consume(len);
                return Ok(len);
            }
            if self.ended {
                return Ok(0);
            }
            match self.endpoint.progress() {
                Progress::End => self.ended = true,
                Progress::Drained(0) => self.wait(since)?,
                Progress::More(_) | Progress::Drained(_) => {}
            }
        }
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = FORMED_MAX.saturating_sub(self.endpoint.unsent());
        if room == 0 {
            self.flush()?;
            return self.write(bytes);
        }
        let len = bytes.len().min(room);
        self.endpoint.parts().1.extend_from_slice(&bytes[..len]);
        self.endpoint.commit();
        Ok(len)
    }

    fn flush(&mut self) -> io::Result<()> {
        let since = now();
        while !self.endpoint.publish().map_err(fault)? {
            self.wait(since)?;
        }
        Ok(())
    }
}

#[expect(clippy::disallowed_methods, reason = "how long a tool waits, and no rule")]
fn now() -> Instant {
    Instant::now()
}

fn fault(fault: Fault) -> io::Error {
    io::Error::new(io::ErrorKind::ConnectionAborted, fault.to_string())
}
