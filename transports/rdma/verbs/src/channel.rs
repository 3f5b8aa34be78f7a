//! The channel for connection events, and one such event.

use crate::os_errors;
use crate::raw::Raw;
use scurry_rdma_sys::Library;
use scurry_rdma_sys::cm::{rdma_cm_id, rdma_event_channel};
use std::ffi::CStr;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr;

/// A channel for events of ids. Reads do not block.
#[derive(Debug)]
pub(crate) struct EventChannel {
    pub(crate) library: &'static Library,
    raw: Raw<rdma_event_channel>,
}

/// A connection event. It is already acknowledged.
#[derive(Debug)]
pub(crate) struct ConnectionEvent {
    /// `RDMA_CM_EVENT_*`
    pub(crate) kind: u32,
    /// 0, or the reason.
    pub(crate) status: i32,
    /// Id that the event is about. It may be compared; it may be dereferenced only while its owner is
    /// alive.
    pub(crate) id: *mut rdma_cm_id,
    /// Number that the owner gave to the id.
    pub(crate) number: u32,
}

impl EventChannel {
    /// Opens a non-blocking channel.
    pub(crate) fn new(library: &'static Library) -> io::Result<EventChannel> {
        // SAFETY: the function has no arguments.
        let raw = Raw::new(unsafe { (library.rdma_create_event_channel)() }).ok_or_else(|| {
            os_errors::last("no RDMA device here: cannot open /dev/infiniband/rdma_cm")
        })?;
        let channel = EventChannel { library, raw };
        do_not_wait(channel.fd())?;
        Ok(channel)
    }

    /// Returns the descriptor, which is readable when an event is pending.
    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        // SAFETY: the channel is alive and keeps its descriptor open for as long.
        unsafe { BorrowedFd::borrow_raw((*self.raw.get()).fd) }
    }

    pub(crate) fn get(&self) -> *mut rdma_event_channel {
        self.raw.get()
    }

    /// Returns the next event if one is pending.
    pub(crate) fn next_event(&self) -> io::Result<Option<ConnectionEvent>> {
        let mut event = ptr::null_mut();
        // SAFETY: the channel is alive, and `event` has room for the pointer.
        if unsafe { (self.library.rdma_get_cm_event)(self.get(), &raw mut event) } != 0 {
            let error = io::Error::last_os_error();
            return match error.kind() {
                io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => Ok(None),
                _ => Err(os_errors::last("cannot read an event of a connection")),
            };
        }
        // SAFETY: an event and its id stay valid until the event is acknowledged: destroying an id
        // waits for that. Owners set the context before events can arrive, and never again.
        let taken = unsafe {
            let id = (*event).id;
            let number = (*id).context as usize as u32;
            ConnectionEvent { kind: (*event).event, status: (*event).status, id, number }
        };
        // SAFETY: the event is acknowledged once, and not used afterwards.
        unsafe { (self.library.rdma_ack_cm_event)(event) };
        Ok(Some(taken))
    }
}

impl Drop for EventChannel {
    fn drop(&mut self) {
        // SAFETY: every id holds its channel, so no id is left; all events are acknowledged.
        unsafe { (self.library.rdma_destroy_event_channel)(self.get()) };
    }
}

impl ConnectionEvent {
    /// Returns the kind of the event as text, with its status.
    pub(crate) fn describe(&self, library: &Library) -> String {
        // SAFETY: the function returns a static string for every number.
        let text = unsafe { CStr::from_ptr((library.rdma_event_str)(self.kind)) };
        format!("{} ({})", text.to_string_lossy(), self.status)
    }
}

/// Makes a descriptor non-blocking: reads return `WouldBlock` when nothing is pending.
pub(crate) fn do_not_wait(fd: BorrowedFd<'_>) -> io::Result<()> {
    let fd = fd.as_raw_fd();
    // SAFETY: the calls only read and change a flag of an open descriptor.
    let flags = unsafe { libc::fcntl(fd, libc::F_GETFL) };
    // SAFETY: as above.
    if flags < 0 || unsafe { libc::fcntl(fd, libc::F_SETFL, flags | libc::O_NONBLOCK) } < 0 {
        return Err(os_errors::last("cannot set a descriptor to not wait"));
    }
    Ok(())
}
