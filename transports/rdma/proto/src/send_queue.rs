//! The send queue and its bookkeeping: every request gets a number, is counted, and is submitted by a
//! doorbell.

use crate::codec::Message;
use crate::counts::Counts;
use crate::fabric::{Queue, SendFlags, Target};
use crate::fault::Fault;
use crate::requests_in_flight::{Request, RequestsInFlight};
use crate::settings::Settings;
use std::ops::Range;

/// A write to be posted.
#[derive(Clone, Debug)]
pub(crate) struct Write {
    /// Range of bytes in the staging to send.
    pub(crate) part: Range<usize>,
    pub(crate) to: Target,
    /// Number of bytes since the last immediate, when this write announces them to the peer.
    pub(crate) immediate: Option<u32>,
    /// True when the staging becomes free once this write completes.
    pub(crate) frees: bool,
}

/// A queue with its counters and the state of its requests.
#[derive(Debug)]
pub(crate) struct SendQueue<Q> {
    pub(crate) queue: Q,
    pub(crate) in_flight: RequestsInFlight,
    pub(crate) counts: Counts,
    inline_max: usize,
    batch: bool,
    /// True when requests are queued that no doorbell has submitted yet.
    waiting: bool,
    /// Receive entries that messages have used and that were not posted again yet.
    used: usize,
    /// Number of used receive entries that are posted again in one call.
    repost: usize,
}

impl<Q: Queue> SendQueue<Q> {
    pub(crate) fn new(queue: Q, settings: &Settings) -> SendQueue<Q> {
        SendQueue {
            in_flight: RequestsInFlight::new(settings),
            counts: Counts::default(),
            inline_max: settings.inline_max.min(queue.inline_max()),
            batch: settings.batch_doorbells,
            waiting: false,
            used: 0,
            // Used entries are posted again in groups: an eighth of all, and at most 16. The others stay
            // available meanwhile.
            repost: (settings.receives / 8).clamp(1, 16),
            queue,
        }
    }

    /// Returns the length of the longest inline write, bytes.
    pub(crate) fn inline_max(&self) -> usize {
        self.inline_max
    }

    /// Counts a message that used a receive entry, and posts used entries again when there are enough.
    pub(crate) fn received(&mut self) -> Result<(), Fault> {
        self.counts.messages_in += 1;
        self.used += 1;
        if self.used >= self.repost { self.receive(0) } else { Ok(()) }
    }

    /// Posts receive entries: the used ones again, and `more` new ones.
    pub(crate) fn receive(&mut self, more: usize) -> Result<(), Fault> {
        self.counts.receive_posts += 1;
        self.queue.post_receives(std::mem::take(&mut self.used) + more).map_err(Fault::Device)
    }

    /// Queues a write and returns its number.
    pub(crate) fn write(&mut self, from: &Q::Staging, write: Write) -> Result<u64, Fault> {
        let inline = write.part.len() <= self.inline_max;
        let request = Request { message: write.immediate.is_some(), awaited: write.frees };
        let (number, signalled) = self.posted(request);
        self.counts.writes += 1;
        self.counts.immediates += u64::from(write.immediate.is_some());
        self.counts.inline += u64::from(inline);
        self.counts.bytes_out += write.part.len() as u64;
        let flags = SendFlags { inline, signalled };
        self.queue.write(number, from, write.part, write.to, write.immediate, flags);
        self.left()?;
        Ok(number)
    }

    /// Queues a control message. It is signalled when `awaited`, or when it is the next to be signalled
    /// anyway.
    pub(crate) fn send(&mut self, message: &Message, awaited: bool) -> Result<(), Fault> {
        let (number, signalled) = self.posted(Request { message: true, awaited });
        self.counts.sends += 1;
        self.queue.send(number, &message.encode(), signalled);
        self.left()
    }

    /// Submits all queued requests with one doorbell.
    pub(crate) fn ring(&mut self) -> Result<(), Fault> {
        if !std::mem::take(&mut self.waiting) {
            return Ok(());
        }
        self.counts.doorbells += 1;
        self.queue.ring().map_err(Fault::Device)
    }

    fn posted(&mut self, request: Request) -> (u64, bool) {
        let (number, signalled) = self.in_flight.post(request);
        let counts = &mut self.counts;
        counts.signalled += u64::from(signalled);
        counts.in_flight_high = counts.in_flight_high.max(self.in_flight.unanswered());
        counts.queue_high = counts.queue_high.max(self.in_flight.queued() as u64);
        (number, signalled)
    }

    fn left(&mut self) -> Result<(), Fault> {
        self.waiting = true;
        if self.batch { Ok(()) } else { self.ring() }
    }
}
