//! The fabric itself: connections of two ends, the memory that each has registered, and what is on
//! its way. Nothing moves by itself: whoever runs it says which end's next request is carried out,
//! so that connections overtake each other and requests of one connection do not.

use scurry_rdma_proto::fabric::{Event, Target};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

/// What an end of a connection can do.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Requests of the send queue whose end was not told.
    pub send_depth: usize,
    /// Receive entries.
    pub receives: usize,
    /// Longest inline request, bytes.
    pub inline_max: usize,
    /// How often a request of this end is tried again when the other has no receive entry; none for
    /// without end.
    pub retries: Option<u32>,
    /// Memory that it may register, bytes.
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

/// An event that waits to be taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Told {
    /// A control message.
    Control(Vec<u8>),
    /// An immediate.
    Immediate(u32),
    /// A request and those before it are done.
    Sent(u64),
    /// The connection is broken.
    Broken,
}

impl Told {
    /// The same, as an endpoint takes it.
    #[must_use]
    pub fn event(&self) -> Event<'_> {
        match self {
            Told::Control(bytes) => Event::Control(bytes),
            Told::Immediate(told) => Event::Immediate(*told),
            Told::Sent(number) => Event::Sent(*number),
            Told::Broken => Event::Broken,
        }
    }
}

/// What a request does when it is carried out.
#[derive(Clone, Debug)]
pub(crate) enum Act {
    Write { bytes: Vec<u8>, to: Target, immediate: Option<u32> },
    Send(Vec<u8>),
}

/// A request that was posted.
#[derive(Clone, Debug)]
pub(crate) struct Work {
    pub(crate) number: u64,
    pub(crate) act: Act,
    pub(crate) signalled: bool,
    /// The staging that it reads from counts it.
    pub(crate) held: Option<Rc<Cell<usize>>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Up,
    Broken,
    /// It does and says nothing any more, and nobody is told.
    Dead,
}

#[derive(Debug)]
struct End {
    peer: usize,
    limits: Limits,
    state: State,
    /// Its queue pair is gone.
    closed: bool,
    entries: usize,
    tried: u32,
    /// Posted, before the doorbell.
    queued: VecDeque<Work>,
    /// To be carried out.
    leaving: VecDeque<Work>,
    /// Carried out, and not known to be: number, signalled.
    carried: VecDeque<(u64, bool)>,
    /// Posted, and their end was not told.
    untold: VecDeque<(u64, Option<Rc<Cell<usize>>>)>,
    events: VecDeque<Told>,
    pinned: usize,
}

/// Memory that the other end of its owner's connection may write.
#[derive(Debug)]
struct Region {
    owner: usize,
    address: u64,
    len: usize,
    /// Written, and not visible yet.
    pending: Vec<(usize, Vec<u8>)>,
}

/// Why a connection has broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// A request found no receive entry too often.
    NotReady,
    /// A write was outside of what its key allows.
    Access,
    /// The fault was wanted.
    Injected,
}

#[derive(Debug, Default)]
pub(crate) struct Net {
    ends: Vec<End>,
    regions: BTreeMap<u32, Region>,
    causes: Vec<(usize, Cause)>,
    /// Registered stagings.
    stagings: usize,
    /// Keys that were given.
    keys: u32,
}

impl Net {
    /// A request of an end has failed: neither side goes on.
    fn break_both(&mut self, end: usize, cause: Cause) {
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

    /// Carries out the next request of an end. False when there is none, or when it must be tried again.
    fn carry(&mut self, end: usize) -> bool {
        let peer = self.ends[end].peer;
        if self.ends[end].state != State::Up || self.ends[peer].state != State::Up {
            return false;
        }
        let Some(work) = self.ends[end].leaving.pop_front() else { return false };
        let message = !matches!(work.act, Act::Write { immediate: None, .. });
        if message && self.ends[peer].entries == 0 {
            return self.try_again(end, work);
        }
        self.ends[end].tried = 0;
        if let Act::Write { bytes, to, .. } = &work.act {
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
            Act::Write { immediate, .. } => immediate.map(Told::Immediate),
            Act::Send(bytes) => Some(Told::Control(bytes)),
        });
        self.ends[end].carried.push_back((work.number, work.signalled));
        true
    }

    fn try_again(&mut self, end: usize, work: Work) -> bool {
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
    fn break_off(&mut self) {
        if self.state == State::Up {
            self.state = State::Broken;
            self.leaving.clear();
            self.events.push_back(Told::Broken);
        }
    }

    /// Tells an end that its oldest request which was carried out is done.
    fn complete(&mut self) -> bool {
        if self.state != State::Up {
            return false;
        }
        let Some((number, signalled)) = self.carried.pop_front() else { return false };
        if signalled {
            self.events.push_back(Told::Sent(number));
        }
        true
    }

    fn take(&mut self) -> Option<Told> {
        if self.state == State::Dead {
            return None;
        }
        let told = self.events.pop_front()?;
        if let Told::Sent(number) = told {
            while let Some((_, held)) = self.untold.pop_front_if(|(first, _)| *first <= number) {
                if let Some(held) = held {
                    held.set(held.get() - 1);
                }
            }
        }
        Some(told)
    }
}

/// A fabric; its copies are the same one.
#[derive(Clone, Debug, Default)]
pub struct Fabric {
    net: Rc<RefCell<Net>>,
}

impl Fabric {
    /// Connects two ends; their numbers.
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

    /// How many ends there are.
    #[must_use]
    pub fn ends(&self) -> usize {
        self.net.borrow().ends.len()
    }

    /// Carries out the next request of an end. False when nothing has changed.
    pub fn carry(&self, end: usize) -> bool {
        self.net.borrow_mut().carry(end)
    }

    /// An end learns that its oldest request is done which was carried out.
    pub fn complete(&self, end: usize) -> bool {
        self.net.borrow_mut().ends[end].complete()
    }

    /// A completion that an end does not look at: its place in the queue is free.
    pub(crate) fn forget_completion(&self, end: usize) {
        let this = &mut self.net.borrow_mut().ends[end];
        if matches!(this.events.back(), Some(Told::Sent(_))) {
            this.events.pop_back();
            this.untold.pop_front();
        }
    }

    /// The next event of an end.
    pub fn take(&self, end: usize) -> Option<Told> {
        self.net.borrow_mut().ends[end].take()
    }

    /// A connection breaks, as when a request was tried too often.
    pub fn break_off(&self, end: usize) {
        self.net.borrow_mut().break_both(end, Cause::Injected);
    }

    /// An end says nothing any more, and nobody is told.
    pub fn silence(&self, end: usize) {
        self.net.borrow_mut().ends[end].state = State::Dead;
    }

    /// Why this connection has broken.
    #[must_use]
    pub fn cause(&self, end: usize) -> Option<Cause> {
        let net = self.net.borrow();
        let peer = net.ends[end].peer;
        net.causes.iter().find(|(at, _)| *at == end || *at == peer).map(|(_, cause)| *cause)
    }

    /// Windows and stagings that are registered.
    #[must_use]
    pub fn registered(&self) -> (usize, usize) {
        let net = self.net.borrow();
        (net.regions.len(), net.stagings)
    }

    /// Receive entries of an end that are not used.
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

    pub(crate) fn post(&self, end: usize, work: Work) {
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

    /// The queue pair of an end is gone. The other end is told.
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

    /// Registers memory, if the end may: so many bytes more of it.
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

    /// What was written to a region since the last time.
    pub(crate) fn written(&self, key: u32) -> Vec<(usize, Vec<u8>)> {
        let mut net = self.net.borrow_mut();
        net.regions
            .get_mut(&key)
            .map_or_else(Vec::new, |region| std::mem::take(&mut region.pending))
    }

    /// A key that was not given before.
    pub(crate) fn next_key(&self) -> u32 {
        let mut net = self.net.borrow_mut();
        net.keys += 1;
        net.keys
    }
}
