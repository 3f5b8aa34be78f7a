//! One connection: the protocol together with its memory.

use crate::control_rate_limit::ControlRateLimit;
use crate::counts::Counts;
use crate::fabric::{CONTROL_LEN, Event, Queue};
use crate::fault::Fault;
use crate::inbound::{Inbound, Progress};
use crate::output::Output;
use crate::peer_windows::PeerWindows;
use crate::send_queue::SendQueue;
use crate::settings::{Role, SendBuffering, Settings};
use std::collections::VecDeque;

/// Maximum number of feature requests that wait for an answer.
pub(crate) const ASKED_MAX: usize = 64;

/// One connection over RDMA, from the time when receive entries can be posted.
///
/// Times are milliseconds of one clock that does not go backwards. After a [`Fault`] the endpoint is
/// unusable and must be dropped; its queue is dropped before its memory.
#[derive(Debug)]
pub struct Endpoint<Q: Queue> {
    pub(crate) send_queue: SendQueue<Q>,
    pub(crate) inbound: Inbound<Q::Window>,
    pub(crate) output: Output<Q::Staging>,
    pub(crate) peer_windows: PeerWindows,
    pub(crate) settings: Settings,
    pub(crate) role: Role,
    pub(crate) control_rate_limit: ControlRateLimit,
    /// True when the connection is established, so that requests can be posted.
    pub(crate) opened: bool,
    /// Feature words selected by the peer's feature requests that were not answered yet.
    pub(crate) asked: VecDeque<u16>,
    /// Number of messages posted up to and including the probe in flight; `None` without a probe.
    pub(crate) probed: Option<u64>,
    /// True when bytes wait for the peer to announce a window, and this stall was counted.
    pub(crate) stalled: bool,
    /// True when the peer waits for a window, and this stall was counted.
    pub(crate) window_stall_counted: bool,
    /// A fault to be returned by the next call that can return one.
    pub(crate) fault: Option<Fault>,
    /// True when a fault was returned.
    pub(crate) dead: bool,
    /// True when the peer is gone.
    pub(crate) ended: bool,
    pub(crate) finishing: bool,
    /// Time of the last event.
    pub(crate) last_event_ms: i64,
    /// Time when a tick last noticed received or sent data.
    pub(crate) active_ms: i64,
    /// Total of bytes received and sent at that time.
    pub(crate) bytes_seen: u64,
    /// Time when a tick first noticed that something is pending.
    pub(crate) waiting_since_ms: Option<i64>,
    /// Time when the peer was first found silent.
    pub(crate) suspected_ms: Option<i64>,
    pub(crate) keepalive_due_ms: i64,
}

impl<Q: Queue> Endpoint<Q> {
    /// Registers memory and posts receive entries. Nothing is sent: the caller may do this before the
    /// connection is accepted or requested, so that the peer's first message finds an entry.
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
        let mut send_queue = SendQueue::new(queue, &settings);
        let mut inbound = Inbound::new(settings.window_len, settings.windows);
        inbound.add(send_queue.queue.window(settings.window_len).map_err(Fault::Memory)?);
        send_queue.receive(settings.receives)?;
        Ok(Endpoint {
            send_queue,
            inbound,
            output: Output::new(settings.staging_len, settings.stagings),
            peer_windows: PeerWindows::default(),
            settings,
            role,
            control_rate_limit: ControlRateLimit::new(
                settings.control_burst,
                settings.control_per_s,
                now_ms,
            ),
            opened: false,
            asked: VecDeque::with_capacity(ASKED_MAX),
            probed: None,
            stalled: false,
            window_stall_counted: false,
            fault: None,
            dead: false,
            ended: false,
            finishing: false,
            last_event_ms: now_ms,
            active_ms: now_ms,
            bytes_seen: 0,
            waiting_since_ms: None,
            suspected_ms: None,
            keepalive_due_ms: now_ms.saturating_add(settings.keepalive_ms),
        })
    }

    /// Records that the connection is established, and announces the first window.
    ///
    /// # Errors
    /// When the device refuses it.
    pub fn open(&mut self, now_ms: i64) -> Result<(), Fault> {
        self.guard(|endpoint| {
            endpoint.opened = true;
            endpoint.last_event_ms = now_ms;
            endpoint.keepalive_due_ms = now_ms.saturating_add(endpoint.settings.keepalive_ms);
            endpoint.control()
        })
    }

    /// Handles an event of the device. Afterwards there may be more to read ([`Endpoint::progress`]), and
    /// more room to write ([`Endpoint::is_writable`]).
    ///
    /// # Errors
    /// The peer's violation of the protocol, or the device's refusal of a request.
    pub fn event(&mut self, event: Event<'_>, now_ms: i64) -> Result<(), Fault> {
        if self.ended {
            return Ok(());
        }
        self.guard(|endpoint| {
            if let Event::Broken = event {
                endpoint.ended = true;
                return Ok(());
            }
            endpoint.last_event_ms = now_ms;
            match event {
                Event::Control(bytes) => endpoint.message(bytes, now_ms)?,
                Event::Immediate(told) => endpoint.immediate(told, now_ms)?,
                Event::Sent(number) => {
                    endpoint.send_queue.counts.completions += 1;
                    endpoint.send_queue.in_flight.done(number)?;
                    let known = endpoint.send_queue.in_flight.known();
                    endpoint.output.done(&mut endpoint.send_queue.queue, known);
                }
                Event::Broken => {}
            }
            endpoint.control()
        })
    }

    /// Copies bytes that have arrived into the input. [`Progress::More`] asks for another call after the
    /// caller has parsed the input: more bytes may be waiting in the windows.
    pub fn progress(&mut self) -> Progress {
        if self.dead {
            return Progress::End;
        }
        let found = self.inbound.progress(&mut self.send_queue.counts);
        self.send_control_deferring_fault();
        match found {
            // The end is reported only after all data before it was read.
            Progress::Drained(0) if self.ended => Progress::End,
            Progress::Drained(len) if self.ended => Progress::More(len),
            found => found,
        }
    }

    /// Returns the bytes that have arrived and are not consumed, contiguous.
    #[must_use]
    pub fn input(&self) -> &[u8] {
        self.inbound.input()
    }

    /// Drops the first `len` bytes of the input.
    pub fn consume(&mut self, len: usize) {
        self.inbound.consume(len);
        self.send_control_deferring_fault();
    }

    /// Returns the input, and the vector to append replies to. The bytes that it already holds must stay.
    pub fn parts(&mut self) -> (&[u8], &mut Vec<u8>) {
        // If no memory can be registered, replies are formed but not sent: the next call that can returns
        // the fault.
        if self.settings.output == SendBuffering::InPlace
            && !self.dead
            && let Err(fault) =
                self.output.open(&mut self.send_queue.queue, &mut self.send_queue.counts)
        {
            self.fault.get_or_insert(fault);
        }
        (self.inbound.input(), self.output.vector())
    }

    /// Commits the appended bytes. [`Endpoint::publish`] sends them.
    pub fn commit(&mut self) {
        self.output.commit();
    }

    /// Returns how many committed bytes are not posted.
    #[must_use]
    pub fn unsent(&self) -> usize {
        self.output.unsent()
    }

    /// Frees memory that only an unusual request needed. Registered vectors are kept until no data has
    /// arrived for a while, because registering is expensive.
    pub fn release_memory(&mut self) {
        self.inbound.release(false);
    }

    /// Declares that no more replies will be formed. Once [`Endpoint::is_finished`], the connection can be
    /// closed without losing data: the protocol has no message for its end.
    pub fn finish(&mut self) {
        self.finishing = true;
        self.send_control_deferring_fault();
    }

    /// Reports whether all committed bytes are in the peer's memory, or the peer is gone.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        let sent = self.output.unsent() == 0 && self.send_queue.in_flight.queued() == 0;
        self.ended || self.dead || (self.finishing && sent)
    }

    /// Returns how many bytes the endpoint holds: pinned memory and other buffers.
    #[must_use]
    pub fn memory_bytes(&self) -> u64 {
        let loose = self.inbound.copy_bytes() + self.output.loose_bytes();
        self.pinned_bytes() + loose as u64
    }

    /// Returns how many bytes are registered: windows, vectors and receive entries.
    #[must_use]
    pub fn pinned_bytes(&self) -> u64 {
        let entries = self.settings.receives * CONTROL_LEN;
        (self.inbound.pinned_bytes() + self.output.pinned_bytes() + entries) as u64
    }

    /// Returns the counters of the endpoint.
    #[must_use]
    pub fn counts(&self) -> &Counts {
        &self.send_queue.counts
    }

    /// Returns the settings, with every value in its range.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Returns the queue underneath.
    pub fn queue(&mut self) -> &mut Q {
        &mut self.send_queue.queue
    }

    /// Runs `call` unless a fault was returned before. Returns a kept fault instead, if there is one;
    /// after any fault the endpoint is dead.
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

    /// Reports whether nothing can be posted any more.
    pub(crate) fn is_gone(&self) -> bool {
        self.dead || self.ended
    }
}
