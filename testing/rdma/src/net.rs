//! Internals of the simulated fabric: connections of two ends, their registered memory, and requests in
//! flight. Nothing moves by itself: the caller chooses the end that executes its next request. So
//! connections overtake each other, and requests of one connection do not.

use scurry_rdma_proto::fabric::{Event, Target};
use std::cell::Cell;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

/// Limits of one end of a connection.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Maximum number of requests in the send queue that are not reported complete.
    pub send_depth: usize,
    /// Maximum number of receive entries.
    pub receives: usize,
    /// Length of the longest inline request, bytes.
    pub inline_max: usize,
    /// How often a request is retried when the other end has no receive entry; `None` retries for ever.
    pub retries: Option<u32>,
    /// Maximum number of registered bytes.
    pub pinned_max: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            send_depth: 128,
            receives: 256,
            inline_max: 220,
            retries: None,
            pinned_max: 64 << 20,
        }
    }
}

/// An event that an end has not taken yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SimEvent {
    /// A control message.
    Control(Vec<u8>),
    /// An immediate.
    Immediate(u32),
    /// A request and all before it are complete.
    Sent(u64),
    /// The connection is broken.
    Broken,
}

impl SimEvent {
    /// Returns the same event in the form that an endpoint takes.
    #[must_use]
    pub fn event(&self) -> Event<'_> {
        match self {
            SimEvent::Control(bytes) => Event::Control(bytes),
            SimEvent::Immediate(told) => Event::Immediate(*told),
            SimEvent::Sent(number) => Event::Sent(*number),
            SimEvent::Broken => Event::Broken,
        }
    }
}

/// Effect of a request when it is executed.
#[derive(Clone, Debug)]
pub(crate) enum Act {
    Write { bytes: Vec<u8>, to: Target, immediate: Option<u32> },
    Send(Vec<u8>),
}

/// A posted request.
#[derive(Clone, Debug)]
pub(crate) struct PostedRequest {
    pub(crate) number: u64,
    pub(crate) act: Act,
    pub(crate) signalled: bool,
    /// Counter of the staging that the request reads from: its requests in flight.
    pub(crate) held: Option<Rc<Cell<usize>>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Up,
    Broken,
    /// Sends and receives nothing any more, without notice to the peer.
    Dead,
}

#[derive(Debug)]
pub(crate) struct End {
    pub(crate) peer: usize,
    pub(crate) limits: Limits,
    pub(crate) state: State,
    /// True when the queue pair is destroyed.
    pub(crate) closed: bool,
    pub(crate) entries: usize,
    pub(crate) tried: u32,
    /// Posted requests before the doorbell.
    pub(crate) queued: VecDeque<PostedRequest>,
    /// Submitted requests that are not executed yet.
    pub(crate) leaving: VecDeque<PostedRequest>,
    /// Executed requests without a completion: number, signalled.
    pub(crate) carried: VecDeque<(u64, bool)>,
    /// Posted requests that are not reported complete.
    pub(crate) untold: VecDeque<(u64, Option<Rc<Cell<usize>>>)>,
    pub(crate) events: VecDeque<SimEvent>,
    pub(crate) pinned: usize,
}

/// Memory that the peer of its owner may write.
#[derive(Debug)]
pub(crate) struct Region {
    pub(crate) owner: usize,
    pub(crate) address: u64,
    pub(crate) len: usize,
    /// Bytes written but not visible yet.
    pub(crate) pending: Vec<(usize, Vec<u8>)>,
}

/// The reason why a connection is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// A request found no receive entry too often.
    NotReady,
    /// A write went outside of the memory that its key permits.
    Access,
    /// The test broke it.
    Injected,
}

#[derive(Debug, Default)]
pub(crate) struct Net {
    pub(crate) ends: Vec<End>,
    pub(crate) regions: BTreeMap<u32, Region>,
    pub(crate) causes: Vec<(usize, Cause)>,
    /// Number of registered stagings.
    pub(crate) stagings: usize,
    /// Number of keys handed out.
    pub(crate) keys: u32,
}

impl Net {
    /// Breaks both ends of a connection after a request of `end` failed.
    pub(crate) fn break_both(&mut self, end: usize, cause: Cause) {
        self.causes.push((end, cause));
        for end in [end, self.ends[end].peer] {
            self.ends[end].break_off();
        }
    }

    fn allows(&self, peer: usize, to: Target, len: usize) -> Option<usize> {
        let region = self.regions.get(&to.key).filter(|region| region.owner == peer)?;
        let offset = usize::try_from(to.address.checked_sub(region.address)?).ok()?;
        (offset.checked_add(len)? <= region.len).then_some(offset)
    }

    /// Executes the next request of an end. Returns false when none is left, or when it waits for a
    /// receive entry.
    pub(crate) fn carry(&mut self, end: usize) -> bool {
        let peer = self.ends[end].peer;
        if self.ends[end].state != State::Up || self.ends[peer].state != State::Up {
            return false;
        }
        let Some(work) = self.ends[end].leaving.pop_front() else { return false };
        // Only messages use a receive entry of the peer; a plain write does not.
        let message = !matches!(work.act, Act::Write { immediate: None, .. });
        if message && self.ends[peer].entries == 0 {
            return self.try_again(end, work);
        }
        self.ends[end].tried = 0;
        if let Act::Write { bytes, to, .. } = &work.act {
            // A device breaks the connection when a write is not within a region of the peer.
            let Some(offset) = self.allows(peer, *to, bytes.len()) else {
                self.break_both(end, Cause::Access);
                return true;
            };
            let region = self.regions.get_mut(&to.key).expect("it was found");
            region.pending.push((offset, bytes.clone()));
        }
        let receiver = &mut self.ends[peer];
        receiver.entries -= usize::from(message);
        receiver.events.extend(match work.act {
            Act::Write { immediate, .. } => immediate.map(SimEvent::Immediate),
            Act::Send(bytes) => Some(SimEvent::Control(bytes)),
        });
        self.ends[end].carried.push_back((work.number, work.signalled));
        true
    }

    fn try_again(&mut self, end: usize, work: PostedRequest) -> bool {
        let this = &mut self.ends[end];
        this.leaving.push_front(work);
        let Some(retries) = this.limits.retries else { return false };
        this.tried += 1;
        if this.tried > retries {
            self.break_both(end, Cause::NotReady);
        }
        true
    }
}

impl End {
    pub(crate) fn break_off(&mut self) {
        if self.state == State::Up {
            self.state = State::Broken;
            self.leaving.clear();
            self.events.push_back(SimEvent::Broken);
        }
    }

    /// Reports the oldest executed request as complete. Returns false when there is none.
    pub(crate) fn complete(&mut self) -> bool {
        if self.state != State::Up {
            return false;
        }
        let Some((number, signalled)) = self.carried.pop_front() else { return false };
        if signalled {
            self.events.push_back(SimEvent::Sent(number));
        }
        true
    }

    pub(crate) fn next_event(&mut self) -> Option<SimEvent> {
        if self.state == State::Dead {
            return None;
        }
        let told = self.events.pop_front()?;
        if let SimEvent::Sent(number) = told {
            while let Some((_, held)) = self.untold.pop_front_if(|(first, _)| *first <= number) {
                if let Some(held) = held {
                    held.set(held.get() - 1);
                }
            }
        }
        Some(told)
    }
}
