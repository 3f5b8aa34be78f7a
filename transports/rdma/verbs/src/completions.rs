//! A completion queue, and the event channel that a hub's completion queues share.

use crate::channel::do_not_wait;
use crate::device::Device;
use crate::os_errors::{last, numbered};
use crate::raw::Raw;
use libc::{c_int, c_uint};
use scurry_rdma_sys::inline::{ibv_poll_cq, ibv_req_notify_cq};
use scurry_rdma_sys::verbs::{ibv_comp_channel, ibv_cq, ibv_wc};
use std::io;
use std::os::fd::BorrowedFd;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// Number of events that are acknowledged together, because each acknowledgement takes a lock.
const ACKNOWLEDGED_AT_ONCE: u32 = 64;

/// A completion queue.
#[derive(Debug)]
pub(crate) struct CompletionQueue {
    raw: Raw<ibv_cq>,
    /// Events that were read but not acknowledged.
    unacknowledged: AtomicU32,
    // Dropped after the queue.
    channel: Arc<CompletionChannel>,
}

/// The channel for events of a hub's completion queues. Reads do not block.
#[derive(Debug)]
pub(crate) struct CompletionChannel {
    raw: Raw<ibv_comp_channel>,
    device: Device,
}

impl CompletionQueue {
    /// Creates a queue with room for `room` completions.
    pub(crate) fn new(channel: &Arc<CompletionChannel>, room: u32) -> io::Result<CompletionQueue> {
        let device = channel.device;
        let room = c_int::try_from(room)
            .map_err(|_| io::Error::new(io::ErrorKind::InvalidInput, "too many completions"))?;
        // SAFETY: the device is open; the channel is alive and outlives the queue.
        let raw = unsafe {
            let context = device.context.get();
            (device.library.ibv_create_cq)(context, room, ptr::null_mut(), channel.raw.get(), 0)
        };
        let raw = Raw::new(raw).ok_or_else(|| last("cannot make a completion queue"))?;
        let channel = Arc::clone(channel);
        Ok(CompletionQueue { raw, unacknowledged: AtomicU32::new(0), channel })
    }

    pub(crate) fn get(&self) -> *mut ibv_cq {
        self.raw.get()
    }

    /// Takes completions into the front of `into` and returns how many. A count below `into.len()`
    /// means that the queue is empty.
    pub(crate) fn poll(&self, into: &mut [ibv_wc]) -> io::Result<usize> {
        let room = c_int::try_from(into.len()).unwrap_or(c_int::MAX);
        // SAFETY: the queue is alive, and `into` has room for `room` completions.
        let count = unsafe { ibv_poll_cq(self.get(), room, into.as_mut_ptr()) };
        usize::try_from(count).map_err(|_| numbered("cannot take completions", count))
    }

    /// Requests an event for the next completion.
    pub(crate) fn arm(&self) -> io::Result<()> {
        // SAFETY: the queue is alive.
        match unsafe { ibv_req_notify_cq(self.get(), 0) } {
            0 => Ok(()),
            number => Err(numbered("cannot ask to be told of completions", number)),
        }
    }

    /// Counts an event of the queue that was read, and acknowledges events when enough have
    /// collected.
    pub(crate) fn told(&self) {
        if self.unacknowledged.fetch_add(1, Ordering::Relaxed) + 1 >= ACKNOWLEDGED_AT_ONCE {
            self.acknowledge();
        }
    }

    fn acknowledge(&self) {
        let count: c_uint = self.unacknowledged.swap(0, Ordering::Relaxed);
        if count > 0 {
            // SAFETY: the queue is alive; each event is acknowledged once.
            unsafe { (self.channel.device.library.ibv_ack_cq_events)(self.get(), count) };
        }
    }
}

impl Drop for CompletionQueue {
    fn drop(&mut self) {
        // Destroying the queue would wait for unacknowledged events.
        self.acknowledge();
        // SAFETY: queue pairs hold their queue, so none is left; the queue is destroyed once.
        unsafe { (self.channel.device.library.ibv_destroy_cq)(self.get()) };
    }
}

impl CompletionChannel {
    pub(crate) fn new(device: Device) -> io::Result<CompletionChannel> {
        // SAFETY: the device is open.
        let raw = unsafe { (device.library.ibv_create_comp_channel)(device.context.get()) };
        let raw = Raw::new(raw).ok_or_else(|| last("cannot make a channel for completions"))?;
        let channel = CompletionChannel { raw, device };
        do_not_wait(channel.fd())?;
        Ok(channel)
    }

    /// Returns the descriptor, which is readable when an event is pending.
    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        // SAFETY: the channel is alive and keeps its descriptor open for as long.
        unsafe { BorrowedFd::borrow_raw((*self.raw.get()).fd) }
    }

    /// Reads one event. Returns the queue that it is about, only to be compared.
    pub(crate) fn read_event(&self) -> io::Result<Option<*mut ibv_cq>> {
        let (mut queue, mut context) = (ptr::null_mut(), ptr::null_mut());
        let library = self.device.library;
        // SAFETY: the channel is alive, and there is room for both results.
        let status =
            unsafe { (library.ibv_get_cq_event)(self.raw.get(), &raw mut queue, &raw mut context) };
        if status == 0 {
            return Ok(Some(queue));
        }
        match io::Error::last_os_error().kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => Ok(None),
            _ => Err(last("cannot read an event of completions")),
        }
    }
}

impl Drop for CompletionChannel {
    fn drop(&mut self) {
        // SAFETY: queues hold their channel, so none is left; the channel is destroyed once.
        unsafe { (self.device.library.ibv_destroy_comp_channel)(self.raw.get()) };
    }
}
