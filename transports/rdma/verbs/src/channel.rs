//! The channel on which events of connections arrive, and one such event.

use crate::raw::Raw;
use crate::refusal;
use scurry_rdma_sys::Library;
use scurry_rdma_sys::cm::{rdma_cm_id, rdma_event_channel};
use std::ffi::CStr;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr;

/// Where events of ids arrive. Nothing here waits.
#[derive(Debug)]
pub(crate) struct EventChannel {
    pub(crate) library: &'static Library,
    raw: Raw<rdma_event_channel>,
}

/// An event; it is acknowledged already.
#[derive(Debug)]
pub(crate) struct ConnectionEvent {
    /// `RDMA_CM_EVENT_*`
    pub(crate) kind: u32,
    /// 0, or why.
    pub(crate) status: i32,
    /// Id that the event is about. It may be compared; it is alive when its owner is.
    pub(crate) id: *mut rdma_cm_id,
    /// The number that its owner has given the id.
    pub(crate) number: u32,
}

impl EventChannel {
    /// A channel whose reads do not wait.
    pub(crate) fn new(library: &'static Library) -> io::Result<EventChannel> {
        // SAFETY: it takes nothing.
        let raw = Raw::new(unsafe { (library.rdma_create_event_channel)() }).ok_or_else(|| {
            refusal::last("no RDMA device here: cannot open /dev/infiniband/rdma_cm")
        })?;
        let channel = EventChannel { library, raw };
        do_not_wait(channel.fd())?;
        Ok(channel)
    }

    /// Readable when there is an event.
    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        // SAFETY: the channel is alive and keeps its descriptor open as long.
        unsafe { BorrowedFd::borrow_raw((*self.raw.get()).fd) }
    }

    pub(crate) fn get(&self) -> *mut rdma_event_channel {
        self.raw.get()
    }

    /// The next event, if there is one.
    pub(crate) fn take(&self) -> io::Result<Option<ConnectionEvent>> {
        let mut event = ptr::null_mut();
        // SAFETY: the channel is alive, and there is room for the event.
        if unsafe { (self.library.rdma_get_cm_event)(self.get(), &raw mut event) } != 0 {
            let error = io::Error::last_os_error();
            return match error.kind() {
                io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => Ok(None),
                _ => Err(refusal::last("cannot read an event of a connection")),
            };
        }
        // SAFETY: an event is whole until it is acknowledged, and so is its id: ending an id waits for
        // that. Owners write the context before events can come, and never again.
        let taken = unsafe {
            let id = (*event).id;
            let number = (*id).context as usize as u32;
            ConnectionEvent { kind: (*event).event, status: (*event).status, id, number }
        };
        // SAFETY: it is acknowledged once, and not used after.
        unsafe { (self.library.rdma_ack_cm_event)(event) };
        Ok(Some(taken))
    }
}

impl Drop for EventChannel {
    fn drop(&mut self) {
        // SAFETY: every id holds its channel, so there is none any more; all events are acknowledged.
        unsafe { (self.library.rdma_destroy_event_channel)(self.get()) };
    }
}

impl ConnectionEvent {
    /// In words.
    pub(crate) fn describe(&self, library: &Library) -> String {
        // SAFETY: it gives a text that stays, for every number.
        let text = unsafe { CStr::from_ptr((library.rdma_event_str)(self.kind)) };
        format!("{} ({})", text.to_string_lossy(), self.status)
    }
}

/// Reads of the descriptor give `WouldBlock` from now on.
pub(crate) fn do_not_wait(fd: BorrowedFd<'_>) -> io::Result<()> {
    let fd = fd.as_raw_fd();
    // SAFETY: it changes a flag of a descriptor that is open.
    let flags = unsafe { libc::fcntl(fd, libc::F_GETFL) };
    // SAFETY: as above.
    if flags < 0 || unsafe { libc::fcntl(fd, libc::F_SETFL, flags | libc::O_NONBLOCK) } < 0 {
        return Err(refusal::last("cannot set a descriptor to not wait"));
    }
    Ok(())
}
