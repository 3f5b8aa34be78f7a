//! What is inside the fabric: connections of two ends, the memory that each has registered, and what is on
//! its way. Nothing moves by itself: whoever runs it says which end's next request is carried out,
//! so that connections overtake each other and requests of one connection do not.

use scurry_rdma_proto::fabric::{Event, Target};
use std::cell::Cell;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

/// Limits of an end of a connection.
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

/// Effect of a request when it is carried out.
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
pub(crate) enum State {
    Up,
    Broken,
    /// A dead end: it does and says nothing any more, and nobody is told.
    Dead,
}

#[derive(Debug)]
pub(crate) struct End {
    pub(crate) peer: usize,
    pub(crate) limits: Limits,
    pub(crate) state: State,
    /// True when the queue pair is gone.
    pub(crate) closed: bool,
    pub(crate) entries: usize,
    pub(crate) tried: u32,
    /// Posted, before the doorbell.
    pub(crate) queued: VecDeque<Work>,
    /// To be carried out.
    pub(crate) leaving: VecDeque<Work>,
    /// Carried out, and not known to be: number, signalled.
    pub(crate) carried: VecDeque<(u64, bool)>,
    /// Posted, and their end was not told.
    pub(crate) untold: VecDeque<(u64, Option<Rc<Cell<usize>>>)>,
    pub(crate) events: VecDeque<Told>,
    pub(crate) pinned: usize,
}

/// Memory that the other end of its owner's connection may write.
#[derive(Debug)]
pub(crate) struct Region {
    pub(crate) owner: usize,
    pub(crate) address: u64,
    pub(crate) len: usize,
    /// Written, and not visible yet.
    pub(crate) pending: Vec<(usize, Vec<u8>)>,
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
    pub(crate) ends: Vec<End>,
    pub(crate) regions: BTreeMap<u32, Region>,
    pub(crate) causes: Vec<(usize, Cause)>,
    /// Registered stagings.
    pub(crate) stagings: usize,
    /// Keys that were given.
    pub(crate) keys: u32,
}

impl Net {
    /// A request of an end has failed: neither side goes on.
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

    /// Carries out the next request of an end. False when there is none, or when it must be tried again.
    pub(crate) fn carry(&mut self, end: usize) -> bool {
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
    pub(crate) fn break_off(&mut self) {
        if self.state == State::Up {
            self.state = State::Broken;
            self.leaving.clear();
            self.events.push_back(Told::Broken);
        }
    }

    /// Tells an end that its oldest request which was carried out is done.
    pub(crate) fn complete(&mut self) -> bool {
        if self.state != State::Up {
            return false;
        }
        let Some((number, signalled)) = self.carried.pop_front() else { return false };
        if signalled {
            self.events.push_back(Told::Sent(number));
        }
        true
    }

    pub(crate) fn take(&mut self) -> Option<Told> {
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
