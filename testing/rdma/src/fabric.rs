//! The simulated fabric's interface for programs and tests.

use crate::net::{Cause, End, Limits, Net, PostedRequest, Region, SimEvent, State};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

/// A simulated fabric. Clones refer to the same fabric.
#[derive(Clone, Debug, Default)]
pub struct Fabric {
    net: Rc<RefCell<Net>>,
}

impl Fabric {
    /// Connects two ends and returns their numbers.
    pub fn connect(&self, limits: [Limits; 2]) -> [usize; 2] {
        let mut net = self.net.borrow_mut();
        let first = net.ends.len();
        for (own, peer) in [(0, first + 1), (1, first)] {
            net.ends.push(End {
                peer,
                limits: limits[own],
                state: State::Up,
                closed: false,
                entries: 0,
                tried: 0,
                queued: VecDeque::new(),
                leaving: VecDeque::new(),
                carried: VecDeque::new(),
                untold: VecDeque::new(),
                events: VecDeque::new(),
                pinned: 0,
            });
        }
        [first, first + 1]
    }

    /// Returns the number of ends.
    #[must_use]
    pub fn ends(&self) -> usize {
        self.net.borrow().ends.len()
    }

    /// Executes the next request of an end. Returns false when nothing has changed.
    pub fn carry(&self, end: usize) -> bool {
        self.net.borrow_mut().carry(end)
    }

    /// Reports to an end that its oldest executed request is complete. Returns false when there is
    /// none.
    pub fn complete(&self, end: usize) -> bool {
        self.net.borrow_mut().ends[end].complete()
    }

    /// Drops a completion that the end ignores, which frees its place in the send queue.
    pub(crate) fn forget_completion(&self, end: usize) {
        let this = &mut self.net.borrow_mut().ends[end];
        if matches!(this.events.back(), Some(SimEvent::Sent(_))) {
            this.events.pop_back();
            this.untold.pop_front();
        }
    }

    /// Takes the next event of an end.
    pub fn next_event(&self, end: usize) -> Option<SimEvent> {
        self.net.borrow_mut().ends[end].next_event()
    }

    /// Breaks a connection, as too many retries would.
    pub fn break_off(&self, end: usize) {
        self.net.borrow_mut().break_both(end, Cause::Injected);
    }

    /// Makes an end dead without any notice to its peer.
    pub fn silence(&self, end: usize) {
        self.net.borrow_mut().ends[end].state = State::Dead;
    }

    /// Returns why this connection is broken.
    #[must_use]
    pub fn cause(&self, end: usize) -> Option<Cause> {
        let net = self.net.borrow();
        let peer = net.ends[end].peer;
        net.causes.iter().find(|(at, _)| *at == end || *at == peer).map(|(_, cause)| *cause)
    }

    /// Returns how many windows and how many stagings are registered.
    #[must_use]
    pub fn registered(&self) -> (usize, usize) {
        let net = self.net.borrow();
        (net.regions.len(), net.stagings)
    }

    /// Returns how many unused receive entries an end has.
    #[must_use]
    pub fn entries(&self, end: usize) -> usize {
        self.net.borrow().ends[end].entries
    }

    pub(crate) fn limits(&self, end: usize) -> Limits {
        self.net.borrow().ends[end].limits
    }

    pub(crate) fn add_entries(&self, end: usize, count: usize) {
        let this = &mut self.net.borrow_mut().ends[end];
        this.entries += count;
        assert!(
            this.entries <= this.limits.receives,
            "more receive entries than there is room for"
        );
    }

    pub(crate) fn post(&self, end: usize, work: PostedRequest) {
        let this = &mut self.net.borrow_mut().ends[end];
        assert!(this.untold.len() < this.limits.send_depth, "the send queue is full");
        let last = this.untold.back().map_or(0, |(number, _)| *number);
        assert!(work.number > last, "requests are numbered upwards");
        if let Some(held) = &work.held {
            held.set(held.get() + 1);
        }
        this.untold.push_back((work.number, work.held.clone()));
        this.queued.push_back(work);
    }

    pub(crate) fn ring(&self, end: usize) {
        let this = &mut self.net.borrow_mut().ends[end];
        let queued = std::mem::take(&mut this.queued);
        if this.state == State::Up {
            this.leaving.extend(queued);
        }
    }

    /// Destroys the queue pair of an end, which notifies the other end.
    pub(crate) fn close(&self, end: usize) {
        let mut net = self.net.borrow_mut();
        let peer = net.ends[end].peer;
        net.ends[end].closed = true;
        if net.ends[end].state != State::Dead {
            net.ends[end].break_off();
            net.ends[peer].break_off();
        }
    }

    pub(crate) fn is_closed(&self, end: usize) -> bool {
        self.net.borrow().ends[end].closed
    }

    /// Pins `len` more bytes for an end. Returns false when its limit does not allow it.
    pub(crate) fn pin(&self, end: usize, len: usize) -> bool {
        let this = &mut self.net.borrow_mut().ends[end];
        let fits = this.pinned + len <= this.limits.pinned_max;
        this.pinned += if fits { len } else { 0 };
        fits
    }

    pub(crate) fn unpin(&self, end: usize, len: usize) {
        self.net.borrow_mut().ends[end].pinned -= len;
    }

    pub(crate) fn count_staging(&self, added: bool) {
        let mut net = self.net.borrow_mut();
        net.stagings = if added { net.stagings + 1 } else { net.stagings - 1 };
    }

    pub(crate) fn add_region(&self, owner: usize, key: u32, address: u64, len: usize) {
        let region = Region { owner, address, len, pending: Vec::new() };
        self.net.borrow_mut().regions.insert(key, region);
    }

    pub(crate) fn remove_region(&self, key: u32) {
        self.net.borrow_mut().regions.remove(&key);
    }

    /// Takes the bytes that were written to a region since the last call.
    pub(crate) fn written(&self, key: u32) -> Vec<(usize, Vec<u8>)> {
        let mut net = self.net.borrow_mut();
        net.regions
            .get_mut(&key)
            .map_or_else(Vec::new, |region| std::mem::take(&mut region.pending))
    }

    /// Returns a key that was not used before.
    pub(crate) fn next_key(&self) -> u32 {
        let mut net = self.net.borrow_mut();
        net.keys += 1;
        net.keys
    }
}
