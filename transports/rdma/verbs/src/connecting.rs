//! Connecting to a peer. This blocks, which suits clients; a server only accepts.

use crate::address::Address;
use crate::channel::EventChannel;
use crate::connection::{Connection, Settings};
use crate::hub::Hub;
use crate::id::Id;
use crate::os_errors;
use scurry_rdma_sys::cm::{
    RDMA_CM_EVENT_ADDR_RESOLVED, RDMA_CM_EVENT_ESTABLISHED, RDMA_CM_EVENT_ROUTE_RESOLVED,
};
use std::io;
use std::net::SocketAddr;
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::time::Duration;

impl Hub {
    /// Connects to a peer and blocks until the connection is established. Each of the three steps
    /// (resolving the address, resolving the route, the peer's consent) may take as long as the
    /// timeout.
    ///
    /// # Errors
    /// When there is no room, the budget is used up, the peer does not answer in time, or it refuses.
    pub fn connect(
        &mut self,
        to: SocketAddr,
        settings: &Settings,
        timeout: Duration,
    ) -> io::Result<Connection> {
        let queue = self.room_for(settings)?;
        let timeout_ms = i32::try_from(timeout.as_millis()).unwrap_or(i32::MAX).max(1);
        // A separate channel, so that events of other connections do not interfere.
        let channel = Arc::new(EventChannel::new(self.device().library)?);
        let step = Step { channel: &channel, to, timeout_ms };
        let id = Id::new(&channel, 0)?;
        id.resolve_address(&mut Address::new(to), timeout_ms)?;
        step.wait(RDMA_CM_EVENT_ADDR_RESOLVED)?;
        if id.device() != Some(self.device()) {
            let what = format!("the way to {to} leads through another device than this one");
            return Err(io::Error::new(io::ErrorKind::AddrNotAvailable, what));
        }
        id.resolve_route(timeout_ms)?;
        step.wait(RDMA_CM_EVENT_ROUTE_RESOLVED)?;
        let connection = self.build(id, queue, settings)?;
        connection.id().connect()?;
        step.wait(RDMA_CM_EVENT_ESTABLISHED)?;
        // From now on the hub reads the connection's events.
        self.admit_established(connection, queue, settings)
    }
}

/// A step of connecting that waits for an event.
struct Step<'a> {
    channel: &'a EventChannel,
    to: SocketAddr,
    timeout_ms: i32,
}

impl Step<'_> {
    fn wait(&self, kind: u32) -> io::Result<()> {
        let event = loop {
            if let Some(event) = self.channel.next_event()? {
                break event;
            }
            let fd = self.channel.fd().as_raw_fd();
            let mut waiting = libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
            // SAFETY: the call gets one descriptor, which is open.
            match unsafe { libc::poll(&raw mut waiting, 1, self.timeout_ms) } {
                0 => {
                    let what = format!("{} does not answer over RDMA", self.to);
                    return Err(io::Error::new(io::ErrorKind::TimedOut, what));
                }
                // A signal interrupted the wait; the timeout starts again.
                -1 if io::Error::last_os_error().kind() == io::ErrorKind::Interrupted => {}
                -1 => return Err(os_errors::last("cannot wait for a connection")),
                _ => {}
            }
        };
        if event.kind == kind {
            return Ok(());
        }
        let said = event.describe(self.channel.library);
        let what = format!("cannot connect to {} over RDMA: {said}", self.to);
        Err(io::Error::new(io::ErrorKind::ConnectionRefused, what))
    }
}
