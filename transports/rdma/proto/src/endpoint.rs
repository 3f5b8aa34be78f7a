//! One connection: the protocol joined to memory.

use crate::allowance::Allowance;
use crate::counts::Counts;
use crate::fabric::{CONTROL_LEN, Event, Queue};
use crate::fault::Fault;
use crate::inbound::{Inbound, Progress};
use crate::output::Output;
use crate::remote::Remote;
use crate::settings::{Handling, Role, Settings};
use crate::wire::Wire;
use std::collections::VecDeque;

/// Questions for features that wait to be answered, at most.
pub(crate) const ASKED_MAX: usize = 64;

/// One connection over RDMA, from the time when receive entries can be posted.
///
/// Times are milliseconds of one clock that does not go back. After a [`Fault`] the endpoint is of no
/// use, and is dropped; its queue is dropped first, then its memory.
#[derive(Debug)]
pub struct Endpoint<Q: Queue> {
    pub(crate) wire: Wire<Q>,
    pub(crate) inbound: Inbound<Q::Window>,
    pub(crate) output: Output<Q::Staging>,
    pub(crate) remote: Remote,
    pub(crate) settings: Settings,
    pub(crate) role: Role,
    pub(crate) allowance: Allowance,
    /// Requests can be posted.
    pub(crate) opened: bool,
    /// Words that questions for features select, of the questions that were not answered.
    pub(crate) asked: VecDeque<u16>,
    /// A probe is under way: messages that were posted with it and before it.
    pub(crate) probed: Option<u64>,
    /// Bytes wait for the peer to announce a window, and that was counted.
    pub(crate) stalled: bool,
    /// The peer waits for a window, and that was counted.
    pub(crate) held_back: bool,
    /// Told with the next call that can.
    pub(crate) fault: Option<Fault>,
    /// A fault was told.
    pub(crate) dead: bool,
    /// The peer has gone.
    pub(crate) ended: bool,
    pub(crate) finishing: bool,
    /// Something came last.
    pub(crate) heard_ms: i64,
    /// Data came or went last, as far as ticks have seen it.
    pub(crate) active_ms: i64,
    /// Bytes that had come and gone then.
    pub(crate) bytes_seen: u64,
    /// Since then something is waited for, as far as ticks have seen it.
    pub(crate) waiting_since_ms: Option<i64>,
    /// The peer was found to be silent.
    pub(crate) suspected_ms: Option<i64>,
    pub(crate) keepalive_due_ms: i64,
}

impl<Q: Queue> Endpoint<Q> {
    /// Registers memory and posts receive entries. Nothing is sent: this may come before the connection is
    /// accepted or asked for, so that the peer's first message finds an entry.
    ///
    /// # Errors
    /// When the device or the limit on pinned memory refuses it.
    pub fn new(
        queue: Q,
        role: Role,
        settings: Settings,
        now_ms: i64,
    ) -> Result<Endpoint<Q>, Fault> {
        let settings = settings.bounded(role);
        let mut wire = Wire::new(queue, &settings);
        let mut inbound = Inbound::new(settings.window_len, settings.windows);
        inbound.add(wire.queue.window(settings.window_len).map_err(Fault::Memory)?);
        wire.receive(settings.receives)?;
        Ok(Endpoint {
            wire,
            inbound,
            output: Output::new(settings.staging_len, settings.stagings),
            remote: Remote::default(),
            settings,
            role,
            allowance: Allowance::new(settings.control_burst, settings.control_per_s, now_ms),
            opened: false,
            asked: VecDeque::with_capacity(ASKED_MAX),
            probed: None,
            stalled: false,
            held_back: false,
            fault: None,
            dead: false,
            ended: false,
            finishing: false,
            heard_ms: now_ms,
            active_ms: now_ms,
            bytes_seen: 0,
            waiting_since_ms: None,
            suspected_ms: None,
            keepalive_due_ms: now_ms.saturating_add(settings.keepalive_ms),
        })
    }

    /// The connection is established: announces the first window.
    ///
    /// # Errors
    /// When the device refuses it.
    pub fn open(&mut self, now_ms: i64) -> Result<(), Fault> {
        self.guard(|endpoint| {
            endpoint.opened = true;
            endpoint.heard_ms = now_ms;
            endpoint.keepalive_due_ms = now_ms.saturating_add(endpoint.settings.keepalive_ms);
            endpoint.control()
        })
    }

    /// The device says something. Afterwards there may be more to read ([`Endpoint::progress`]), and
    /// more room to write ([`Endpoint::is_writable`]).
    ///
    /// # Errors
    /// Whatever the peer must not do, and what the device refuses.
    pub fn event(&mut self, event: Event<'_>, now_ms: i64) -> Result<(), Fault> {
        if self.ended {
            return Ok(());
        }
        self.guard(|endpoint| {
            if let Event::Broken = event {
                endpoint.ended = true;
                return Ok(());
            }
            endpoint.heard_ms = now_ms;
            match event {
                Event::Control(bytes) => endpoint.message(bytes, now_ms)?,
                Event::Immediate(told) => endpoint.immediate(told, now_ms)?,
                Event::Sent(number) => {
                    endpoint.wire.counts.completions += 1;
                    endpoint.wire.flight.done(number)?;
                    let known = endpoint.wire.flight.known();
                    endpoint.output.done(&mut endpoint.wire.queue, known);
                }
                Event::Broken => {}
            }
            endpoint.control()
        })
    }

    /// Takes in what has arrived. [`Progress::More`] asks for another call, after the input was looked at:
    /// there are bytes that are not shown, or the window is full and what is left of it must be
    /// carried to the next.
    pub fn progress(&mut self) -> Progress {
        if self.dead {
            return Progress::End;
        }
        let found = self.inbound.progress(&mut self.wire.counts);
        self.control_later();
        match found {
            Progress::Drained(0) if self.ended => Progress::End,
            Progress::Drained(len) if self.ended => Progress::More(len),
            found => found,
        }
    }

    /// The bytes that have arrived and are not consumed, contiguous.
    #[must_use]
    pub fn input(&self) -> &[u8] {
        self.inbound.input()
    }

    /// The first bytes of the input are done with.
    pub fn consume(&mut self, len: usize) {
        self.inbound.consume(len);
        self.control_later();
    }

    /// The input, and the vector to append replies to. What it holds already must stay.
    pub fn parts(&mut self) -> (&[u8], &mut Vec<u8>) {
        // When nothing can be registered, replies go nowhere: the next call that can says why.
        if self.settings.output == Handling::InPlace
            && !self.dead
            && let Err(fault) = self.output.open(&mut self.wire.queue, &mut self.wire.counts)
        {
            self.fault.get_or_insert(fault);
        }
        (self.inbound.input(), self.output.vector())
    }

    /// Bytes that were appended are formed. They do not leave yet.
    pub fn commit(&mut self) {
        self.output.commit();
    }

    /// Committed and not posted, bytes.
    #[must_use]
    pub fn unsent(&self) -> usize {
        self.output.unsent()
    }

    /// Gives back memory that only an unusual request has needed. Registered vectors stay until nothing
    /// has come for a while, since registering is dear.
    pub fn release_memory(&mut self) {
        self.inbound.release(false);
    }

    /// Nothing more will be formed. When [`Endpoint::is_finished`], the connection can be ended without
    /// losing anything: the protocol has no message that says so.
    pub fn finish(&mut self) {
        self.finishing = true;
        self.control_later();
    }

    /// True when everything that was committed is in the peer's memory, or the peer has gone.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        let sent = self.output.unsent() == 0 && self.wire.flight.queued() == 0;
        self.ended || self.dead || (self.finishing && sent)
    }

    /// Held, bytes: everything that is pinned, and what is kept beside it.
    #[must_use]
    pub fn memory_bytes(&self) -> u64 {
        let loose = self.inbound.copy_bytes() + self.output.loose_bytes();
        self.pinned_bytes() + loose as u64
    }

    /// Registered, bytes: windows, vectors and receive entries.
    #[must_use]
    pub fn pinned_bytes(&self) -> u64 {
        let entries = self.settings.receives * CONTROL_LEN;
        (self.inbound.pinned_bytes() + self.output.pinned_bytes() + entries) as u64
    }

    /// Counts of what the endpoint has done.
    #[must_use]
    pub fn counts(&self) -> &Counts {
        &self.wire.counts
    }

    /// The settings, with every number in its range.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The queue beneath.
    pub fn queue(&mut self) -> &mut Q {
        &mut self.wire.queue
    }

    /// Calls it, unless there was a fault before; a fault of it is the last.
    pub(crate) fn guard<T>(
        &mut self,
        call: impl FnOnce(&mut Endpoint<Q>) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        if self.dead {
            return Err(Fault::Gone);
        }
        let result = match self.fault.take() {
            Some(fault) => Err(fault),
            None => call(self),
        };
        self.dead = result.is_err();
        result
    }

    /// True when nothing can be posted any more.
    pub(crate) fn is_gone(&self) -> bool {
        self.dead || self.ended
    }
}
