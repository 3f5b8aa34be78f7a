//! The completion queues of a hub, with their shared event channel. The hub adds queues as connections
//! are made, each as large as all earlier ones together. So few queues are polled, and no memory is
//! pinned for connections that are never made.

use crate::completion_queue_capacity::next_room;
use crate::completions::{CompletionChannel, CompletionQueue};
use crate::device::Device;
use std::io;
use std::os::fd::BorrowedFd;
use std::sync::Arc;

/// All completion queues of a hub.
#[derive(Debug)]
pub(crate) struct Queues {
    all: Vec<Shared>,
    channel: Arc<CompletionChannel>,
    /// Maximum number of pending completions of all connections together.
    room: u32,
    /// Maximum capacity of one queue on this device.
    most: u32,
}

/// One queue, shared by several connections.
#[derive(Debug)]
struct Shared {
    queue: Arc<CompletionQueue>,
    room: u32,
    /// Completions that the queue's connections may have pending.
    taken: u32,
    /// True when the next completion causes an event on the channel.
    armed: bool,
}

impl Queues {
    pub(crate) fn new(device: Device, room: u32) -> io::Result<Queues> {
        let (most, _) = device.queue_limits()?;
        let channel = Arc::new(CompletionChannel::new(device)?);
        Ok(Queues { all: Vec::new(), channel, room, most })
    }

    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.channel.fd()
    }

    /// Returns the number of queues.
    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    pub(crate) fn get(&self, place: usize) -> &Arc<CompletionQueue> {
        &self.all[place].queue
    }

    /// Returns the index of a queue with room for `wanted` more completions, and creates one if
    /// necessary.
    pub(crate) fn with_room(&mut self, wanted: u32) -> io::Result<usize> {
        if let Some(place) = self.all.iter().position(|one| one.room - one.taken >= wanted) {
            return Ok(place);
        }
        let made: u32 = self.all.iter().map(|one| one.room).sum();
        let Some(room) = next_room(made, wanted, self.room, self.most) else {
            let taken: u32 = self.all.iter().map(|one| one.taken).sum();
            let what = format!(
                "no room for {wanted} more completions: {taken} of {} are for other connections",
                self.room
            );
            return Err(io::Error::new(io::ErrorKind::QuotaExceeded, what));
        };
        let queue = Arc::new(CompletionQueue::new(&self.channel, room)?);
        self.all.push(Shared { queue, room, taken: 0, armed: false });
        Ok(self.all.len() - 1)
    }

    /// Reserves room for the completions of a connection.
    pub(crate) fn reserve(&mut self, place: usize, completions: u32) {
        self.all[place].taken += completions;
    }

    /// Releases the room of a connection that is gone.
    pub(crate) fn give_back(&mut self, place: usize, completions: u32) {
        self.all[place].taken -= completions;
    }

    /// Requests an event for the next completion of each queue. Returns how many queues were not armed
    /// before.
    pub(crate) fn arm(&mut self) -> io::Result<u64> {
        let mut count = 0;
        for one in self.all.iter_mut().filter(|one| !one.armed) {
            one.queue.arm()?;
            one.armed = true;
            count += 1;
        }
        Ok(count)
    }

    /// Reports whether any queue may send an event, or has sent one that was not read.
    pub(crate) fn is_any_armed(&self) -> bool {
        self.all.iter().any(|one| one.armed)
    }

    /// Reads one event. Returns false when none is pending.
    pub(crate) fn read_event(&mut self) -> io::Result<bool> {
        let Some(queue) = self.channel.read_event()? else { return Ok(false) };
        // The channel belongs to this hub, so its event is always about one of these queues.
        if let Some(one) = self.all.iter_mut().find(|one| one.queue.get() == queue) {
            one.armed = false;
            one.queue.told();
        }
        Ok(true)
    }
}
