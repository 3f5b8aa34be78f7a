//! One connection: the protocol joined to memory.

use crate::allowance::Allowance;
use crate::codec::{Feature, Memory, Message};
use crate::counts::Counts;
use crate::fabric::{CONTROL_LEN, Event, Queue, Window};
use crate::fault::Fault;
use crate::inbound::{Inbound, Progress};
use crate::output::Output;
use crate::remote::Remote;
use crate::settings::{Handling, Role, Settings};
use crate::wire::Wire;
use std::collections::VecDeque;

/// Questions for features that wait to be answered, at most.
const ASKED_MAX: usize = 64;

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
    role: Role,
    allowance: Allowance,
    /// Requests can be posted.
    pub(crate) opened: bool,
    /// What a question for features selects, of those that were not answered.
    asked: VecDeque<u16>,
    /// A probe is under way: messages that were posted with it and before it.
    probed: Option<u64>,
    /// Bytes wait for the peer to announce a window, and that was counted.
    pub(crate) stalled: bool,
    /// The peer waits for a window, and that was counted.
    held_back: bool,
    /// Told with the next call that can.
    pub(crate) fault: Option<Fault>,
    /// A fault was told.
    dead: bool,
    /// The peer has gone.
    ended: bool,
    finishing: bool,
    /// Something came last.
    heard_ms: i64,
    /// Data came or went last, as far as ticks have seen it.
    active_ms: i64,
    /// Bytes that had come and gone then.
    bytes_seen: u64,
    /// Since then something is waited for, as far as ticks have seen it.
    waiting_since_ms: Option<i64>,
    keepalive_due_ms: i64,
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
        let copied = settings.input == Handling::Copied;
        let mut inbound = Inbound::new(settings.window_len, settings.windows, copied);
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

    /// Sends what is due, and looks whether the peer is alive. Wanted at [`Endpoint::next_due_ms`]; sooner
    /// and later do no harm.
    ///
    /// # Errors
    /// [`Fault::Silent`], and what the device refuses.
    pub fn tick(&mut self, now_ms: i64) -> Result<(), Fault> {
        if self.ended {
            return Ok(());
        }
        self.guard(|endpoint| {
            endpoint.keep_alive(now_ms)?;
            endpoint.watch(now_ms)?;
            endpoint.rest(now_ms);
            endpoint.control()
        })
    }

    /// When [`Endpoint::tick`] has something to do, ms; none when nothing is due.
    #[must_use]
    pub fn next_due_ms(&self) -> Option<i64> {
        if self.dead || self.ended {
            return None;
        }
        let keepalive = self.sends_keepalives().then_some(self.keepalive_due_ms);
        let watched = self.settings.silence_ms > 0 && self.is_waiting();
        let since = self.waiting_since_ms.unwrap_or(self.heard_ms).max(self.heard_ms);
        let silence = watched.then(|| since.saturating_add(self.settings.silence_ms));
        let idle = self.output.is_unused();
        let idle = idle.then(|| self.active_ms.saturating_add(self.settings.idle_ms));
        keepalive.into_iter().chain(silence).chain(idle).min()
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

    /// What has arrived and is not consumed, contiguous.
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

    /// What was appended is formed. It does not leave yet.
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
    pub fn settle(&mut self) {
        self.inbound.settle(false);
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
        let loose = self.inbound.carry_bytes() + self.output.loose_bytes();
        self.pinned_bytes() + loose as u64
    }

    /// Registered, bytes: windows, vectors and receive entries.
    #[must_use]
    pub fn pinned_bytes(&self) -> u64 {
        let entries = self.settings.receives * CONTROL_LEN;
        (self.inbound.pinned_bytes() + self.output.pinned_bytes() + entries) as u64
    }

    /// What it has done.
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

    fn immediate(&mut self, told: u32, now_ms: i64) -> Result<(), Fault> {
        self.wire.received()?;
        if told == 0 {
            return self.allowance.spend(now_ms);
        }
        self.allowance.earn();
        self.wire.counts.bytes_in += u64::from(told);
        self.inbound.arrived(told)
    }

    fn message(&mut self, bytes: &[u8], now_ms: i64) -> Result<(), Fault> {
        self.wire.received()?;
        let message = Message::decode(bytes)?;
        match (message, self.role) {
            (Message::RegisterXferMemory(memory), _) => {
                let taken = self.remote.announced(memory)?;
                self.wire.flight.answer(taken);
                self.stalled = false;
                return Ok(());
            }
            (Message::GetServerFeature(feature), Role::Server) => {
                if self.asked.len() == ASKED_MAX {
                    return Err(Fault::Flood);
                }
                self.asked.push_back(feature.select);
            }
            (Message::GetServerFeature(_), Role::Client) => {
                let before = self.probed.take().ok_or(Fault::Unasked(message.opcode()))?;
                self.wire.flight.answer(before);
                return Ok(());
            }
            (Message::SetClientFeature(_), Role::Client) => {
                return Err(Fault::Unasked(message.opcode()));
            }
            (Message::SetClientFeature(_), Role::Server) | (Message::Keepalive, _) => {}
        }
        self.allowance.spend(now_ms)
    }

    /// Sends the control messages that are due and have room, and lets them leave.
    pub(crate) fn control(&mut self) -> Result<(), Fault> {
        if self.opened && !self.is_gone() {
            self.announce()?;
            self.answer()?;
            self.probe()?;
            self.mark_end()?;
        }
        self.wire.ring()
    }

    /// The same, where nobody can be told of a fault now.
    fn control_later(&mut self) {
        if self.fault.is_none()
            && !self.dead
            && let Err(fault) = self.control()
        {
            self.fault = Some(fault);
        }
    }

    /// Announces a window when the peer needs one and one is free.
    fn announce(&mut self) -> Result<(), Fault> {
        while self.inbound.is_full() && self.wire.flight.has_control_room() {
            if self.inbound.free().is_none() && self.inbound.may_grow() {
                match self.wire.queue.window(self.settings.window_len) {
                    Ok(window) => self.inbound.add(window),
                    // It works with those that there are.
                    Err(_) => {
                        self.inbound.stop_growing();
                        self.wire.counts.windows_refused += 1;
                    }
                }
            }
            let Some(window) = self.inbound.free() else {
                self.wire.counts.stalls_in += u64::from(!self.held_back);
                self.held_back = true;
                break;
            };
            let length = u32::try_from(self.settings.window_len).expect("16 MiB at most");
            let memory = Memory { address: window.address(), length, key: window.key() };
            self.inbound.announced();
            self.held_back = false;
            self.wire.counts.announcements += 1;
            self.wire.send(&Message::RegisterXferMemory(memory), false)?;
        }
        Ok(())
    }

    /// Answers questions for features: there are none.
    fn answer(&mut self) -> Result<(), Fault> {
        while self.wire.flight.has_control_room()
            && let Some(select) = self.asked.pop_front()
        {
            let feature = Feature { select, features: 0 };
            self.wire.send(&Message::GetServerFeature(feature), false)?;
        }
        Ok(())
    }

    /// Asks for features to learn that the peer has taken what was sent before.
    fn probe(&mut self) -> Result<(), Fault> {
        let flight = &self.wire.flight;
        let wanted = self.settings.probes && self.probed.is_none() && flight.is_half_full();
        if wanted && flight.has_control_room() {
            self.wire.send(&Message::GetServerFeature(Feature::default()), false)?;
            self.probed = Some(self.wire.flight.messages());
        }
        Ok(())
    }

    /// At the end something must tell when the last write is done, and a keepalive does no harm.
    fn mark_end(&mut self) -> Result<(), Fault> {
        let flight = &self.wire.flight;
        let unmarked = flight.has_silent_tail() && flight.has_control_room();
        if self.finishing && self.output.unsent() == 0 && unmarked {
            self.wire.send(&Message::Keepalive, true)?;
        }
        Ok(())
    }

    fn sends_keepalives(&self) -> bool {
        self.role == Role::Server && self.settings.keepalive_ms > 0 && self.opened
    }

    fn keep_alive(&mut self, now_ms: i64) -> Result<(), Fault> {
        if !self.sends_keepalives() || now_ms < self.keepalive_due_ms {
            return Ok(());
        }
        self.keepalive_due_ms = now_ms.saturating_add(self.settings.keepalive_ms);
        // When the queue is full, there are enough signs of life to come.
        if self.wire.flight.has_control_room() {
            self.wire.send(&Message::Keepalive, true)?;
        }
        Ok(())
    }

    /// True when the device or the peer is to say something.
    fn is_waiting(&self) -> bool {
        let window = self.output.unsent() > 0 && self.remote.room() == 0;
        self.opened && (self.wire.flight.is_awaiting() || self.probed.is_some() || window)
    }

    fn watch(&mut self, now_ms: i64) -> Result<(), Fault> {
        let silence_ms = self.settings.silence_ms;
        if silence_ms == 0 || !self.is_waiting() {
            self.waiting_since_ms = None;
            return Ok(());
        }
        let since = *self.waiting_since_ms.get_or_insert(now_ms);
        let silent_ms = now_ms.saturating_sub(since.max(self.heard_ms));
        if silent_ms >= silence_ms { Err(Fault::Silent(silent_ms)) } else { Ok(()) }
    }

    /// Gives back what is not needed when no data has come or gone for a while.
    fn rest(&mut self, now_ms: i64) {
        let bytes = self.wire.counts.bytes_in + self.wire.counts.bytes_out;
        if std::mem::replace(&mut self.bytes_seen, bytes) != bytes {
            self.active_ms = now_ms;
        } else if now_ms.saturating_sub(self.active_ms) >= self.settings.idle_ms {
            self.inbound.settle(true);
            self.output.release(&mut self.wire.queue);
        }
    }
}
