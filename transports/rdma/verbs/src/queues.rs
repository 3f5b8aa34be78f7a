//! The completion queues of a hub, with the one channel that tells of them. There are more of them the
//! more connections there are, each as large as all before it: few are looked at, and no memory is
//! pinned for connections that never come.

use crate::completions::{CompletionChannel, CompletionQueue};
use crate::device::Device;
use crate::room::next_room;
use std::io;
use std::os::fd::BorrowedFd;
use std::sync::Arc;

/// All of a hub.
#[derive(Debug)]
pub(crate) struct Queues {
    all: Vec<Shared>,
    channel: Arc<CompletionChannel>,
    /// Completions that may wait, all connections together.
    room: u32,
    /// Most completions that one queue can hold.
    most: u32,
}

/// One of them.
#[derive(Debug)]
struct Shared {
    queue: Arc<CompletionQueue>,
    room: u32,
    /// Completions that the queue's connections may have waiting.
    taken: u32,
    /// True when its next completion is told on the channel.
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

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    pub(crate) fn get(&self, place: usize) -> &Arc<CompletionQueue> {
        &self.all[place].queue
    }

    /// The place of a queue with room for so many more completions, which is made if need be.
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

    /// A connection may have so many waiting.
    pub(crate) fn take(&mut self, place: usize, completions: u32) {
        self.all[place].taken += completions;
    }

    /// Takes back the place of a connection that has gone.
    pub(crate) fn give_back(&mut self, place: usize, completions: u32) {
        self.all[place].taken -= completions;
    }

    /// Asks to be told of the next completion of each; how many were not asked before.
    pub(crate) fn arm(&mut self) -> io::Result<u64> {
        let mut count = 0;
        for one in self.all.iter_mut().filter(|one| !one.armed) {
            one.queue.arm()?;
            one.armed = true;
            count += 1;
        }
        Ok(count)
    }

    /// One of them may tell, or has told what was not read.
    pub(crate) fn is_any_armed(&self) -> bool {
        self.all.iter().any(|one| one.armed)
    }

    /// Reads one event; false when there is none.
    pub(crate) fn read_event(&mut self) -> io::Result<bool> {
        let Some(queue) = self.channel.read_event()? else { return Ok(false) };
        // A queue of the channel that is not of the hub does not exist.
        if let Some(one) = self.all.iter_mut().find(|one| one.queue.get() == queue) {
            one.armed = false;
            one.queue.told();
        }
        Ok(true)
    }
}
