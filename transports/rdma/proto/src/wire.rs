//! The queue with its accounts: what is posted gets its number, is counted, and leaves with a doorbell.

use crate::codec::Message;
use crate::counts::Counts;
use crate::fabric::{Manner, Queue, Target};
use crate::fault::Fault;
use crate::flight::{Flight, Request};
use crate::settings::Settings;
use std::ops::Range;

/// A write that is to be posted.
#[derive(Clone, Debug)]
pub(crate) struct Write {
    /// Bytes of the staging that are sent.
    pub(crate) part: Range<usize>,
    pub(crate) to: Target,
    /// Bytes since the last immediate, when this write tells of them.
    pub(crate) immediate: Option<u32>,
    /// The staging is free when the write is done.
    pub(crate) frees: bool,
}

/// A queue and its accounts.
#[derive(Debug)]
pub(crate) struct Wire<Q> {
    pub(crate) queue: Q,
    pub(crate) flight: Flight,
    pub(crate) counts: Counts,
    inline_max: usize,
    batch: bool,
    /// Something is queued and has not left.
    waiting: bool,
    /// Receive entries that were used and not given back.
    used: usize,
    /// Given back at once.
    repost: usize,
}

impl<Q: Queue> Wire<Q> {
    pub(crate) fn new(queue: Q, settings: &Settings) -> Wire<Q> {
        Wire {
            flight: Flight::new(settings),
            counts: Counts::default(),
            inline_max: settings.inline_max.min(queue.inline_max()),
            batch: settings.batch_doorbells,
            waiting: false,
            used: 0,
            // One call for some of them; the others are there meanwhile.
            repost: (settings.receives / 8).clamp(1, 16),
            queue,
        }
    }

    /// Longest write that is inline, bytes.
    pub(crate) fn inline_max(&self) -> usize {
        self.inline_max
    }

    /// A message has used a receive entry.
    pub(crate) fn received(&mut self) -> Result<(), Fault> {
        self.counts.messages_in += 1;
        self.used += 1;
        if self.used >= self.repost { self.receive(0) } else { Ok(()) }
    }

    /// Gives the device entries: those that were used, and so many new ones.
    pub(crate) fn receive(&mut self, more: usize) -> Result<(), Fault> {
        self.counts.receive_posts += 1;
        self.queue.post_receives(std::mem::take(&mut self.used) + more).map_err(Fault::Device)
    }

    /// Queues a write; its number.
    pub(crate) fn write(&mut self, from: &Q::Staging, write: Write) -> Result<u64, Fault> {
        let inline = write.part.len() <= self.inline_max;
        let request = Request { message: write.immediate.is_some(), awaited: write.frees };
        let (number, signalled) = self.posted(request);
        self.counts.writes += 1;
        self.counts.immediates += u64::from(write.immediate.is_some());
        self.counts.inline += u64::from(inline);
        self.counts.bytes_out += write.part.len() as u64;
        let manner = Manner { inline, signalled };
        self.queue.write(number, from, write.part, write.to, write.immediate, manner);
        self.left()?;
        Ok(number)
    }

    /// Queues a control message. Its end is told when something waits for it, or when its turn comes.
    pub(crate) fn send(&mut self, message: &Message, awaited: bool) -> Result<(), Fault> {
        let (number, signalled) = self.posted(Request { message: true, awaited });
        self.counts.sends += 1;
        self.queue.send(number, &message.encode(), signalled);
        self.left()
    }

    /// Lets everything leave that is queued.
    pub(crate) fn ring(&mut self) -> Result<(), Fault> {
        if !std::mem::take(&mut self.waiting) {
            return Ok(());
        }
        self.counts.doorbells += 1;
        self.queue.ring().map_err(Fault::Device)
    }

    fn posted(&mut self, request: Request) -> (u64, bool) {
        let (number, signalled) = self.flight.post(request);
        let counts = &mut self.counts;
        counts.signalled += u64::from(signalled);
        counts.in_flight_high = counts.in_flight_high.max(self.flight.unanswered());
        counts.queue_high = counts.queue_high.max(self.flight.queued() as u64);
        (number, signalled)
    }

    fn left(&mut self) -> Result<(), Fault> {
        self.waiting = true;
        if self.batch { Ok(()) } else { self.ring() }
    }
}
