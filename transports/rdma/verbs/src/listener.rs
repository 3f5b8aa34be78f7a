//! Listening for connection requests.

use crate::address::Address;
use crate::channel::EventChannel;
use crate::device::Device;
use crate::id::Id;
use crate::raw::Raw;
use scurry_rdma_sys::Library;
use scurry_rdma_sys::cm::RDMA_CM_EVENT_CONNECT_REQUEST;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::sync::Arc;

/// An address that accepts connections. Its descriptor is readable when a connection request is pending.
#[derive(Debug)]
pub struct Listener {
    id: Id,
    channel: Arc<EventChannel>,
}

/// A peer's connection request. It may be sent to the thread of the hub that accepts it; dropping it refuses
/// the peer.
#[derive(Debug)]
pub struct Request {
    /// `None` once it is accepted.
    id: Option<Id>,
}

impl Listener {
    /// Listens on an address; the system chooses the port when it is 0. Up to `backlog` requests wait.
    ///
    /// # Errors
    /// When the libraries are missing, or no device has the address.
    pub fn bind(address: SocketAddr, backlog: u16) -> io::Result<Listener> {
        let library = Library::open().map_err(io::Error::other)?;
        let channel = Arc::new(EventChannel::new(library)?);
        let id = Id::new(&channel, 0)?;
        id.reuse_address()?;
        id.bind(&mut Address::new(address))
            .map_err(|error| io::Error::new(error.kind(), format!("{error} to {address}")))?;
        id.listen(i32::from(backlog))?;
        Ok(Listener { id, channel })
    }

    /// Returns the address that it listens on.
    #[must_use]
    pub fn local_address(&self) -> Option<SocketAddr> {
        self.id.local()
    }

    /// Returns the next connection request if one is pending.
    ///
    /// # Errors
    /// When the device has failed.
    pub fn next_request(&self) -> io::Result<Option<Request>> {
        while let Some(event) = self.channel.next_event()? {
            // Other events mean that a requesting peer is gone: accepting its request fails anyway.
            if event.kind == RDMA_CM_EVENT_CONNECT_REQUEST
                && let Some(raw) = Raw::new(event.id)
            {
                // SAFETY: the library created the id for this request, and nothing else holds it.
                let id = unsafe { Id::of_request(raw, &self.channel) };
                return Ok(Some(Request { id: Some(id) }));
            }
        }
        Ok(None)
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.channel.fd()
    }
}

impl AsRawFd for Listener {
    fn as_raw_fd(&self) -> RawFd {
        self.channel.fd().as_raw_fd()
    }
}

impl Request {
    /// Returns the peer's address.
    #[must_use]
    pub fn peer(&self) -> Option<SocketAddr> {
        self.id.as_ref()?.peer()
    }

    /// Returns the device on which the request arrived.
    #[must_use]
    pub fn device(&self) -> Option<Device> {
        self.id.as_ref()?.device()
    }

    /// Refuses the request, as dropping it does.
    pub fn reject(self) {
        drop(self);
    }

    /// Returns the id, to be accepted on this device.
    pub(crate) fn into_id(mut self, device: Device) -> io::Result<Id> {
        if self.device() != Some(device) {
            let what = "the connection comes in by a device that this thread does not serve";
            return Err(io::Error::new(io::ErrorKind::AddrNotAvailable, what));
        }
        self.id.take().ok_or_else(|| io::ErrorKind::NotConnected.into())
    }
}

impl Drop for Request {
    fn drop(&mut self) {
        if let Some(id) = &self.id {
            // This fails if the peer is already gone.
            let _ = id.reject();
        }
    }
}
