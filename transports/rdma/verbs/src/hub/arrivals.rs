//! Input of a hub: completions, events that announce completions, and connection events.

use super::{Hub, Notice, TAKEN_AT_ONCE};
use crate::channel::ConnectionEvent;
use scurry_rdma_proto::fabric::{CONTROL_LEN, Event};
use scurry_rdma_sys::cm::{
    RDMA_CM_EVENT_ADDR_CHANGE, RDMA_CM_EVENT_ESTABLISHED, RDMA_CM_EVENT_TIMEWAIT_EXIT,
};
use scurry_rdma_sys::verbs::{IBV_WC_RECV, IBV_WC_RECV_RDMA_WITH_IMM, IBV_WC_SUCCESS, ibv_wc};
use std::ffi::CStr;
use std::io;
use std::sync::Arc;

/// Maximum number of completions that one [`Hub::poll`] passes on, so that busy connections cannot block
/// the event loop.
const POLL_MAX: usize = 1024;

impl Hub {
    /// Takes completions and passes them to `f` as notices. Returns how many there were. It does not
    /// block, and on most devices makes no system call. When it returns 1,024 or more, further
    /// completions may be pending.
    ///
    /// # Errors
    /// When the device has failed; all connections are broken then.
    pub fn poll(&mut self, mut f: impl FnMut(u32, Notice<'_>)) -> io::Result<usize> {
        self.poll_with(&mut f)
    }

    fn poll_with(&mut self, f: &mut dyn FnMut(u32, Notice<'_>)) -> io::Result<usize> {
        // Connections dropped before this point cause no further completions: they are removed after all
        // queues are drained.
        self.leaving.extend(self.departed.1.try_iter());
        let (mut handed, count) = (0, self.queues.len());
        for step in 0..count {
            let place = (self.first + step) % count;
            if !self.drain(place, &mut handed, f)? {
                // The next call starts with another queue, so that none starves.
                self.first = (place + 1) % count;
                return Ok(handed);
            }
        }
        for number in std::mem::take(&mut self.leaving) {
            // A connection that was dropped before it was admitted may have had the number of a later,
            // live one.
            let gone = self.links.get(&number).is_some_and(|entry| entry.link.strong_count() == 0);
            if gone && let Some(entry) = self.links.remove(&number) {
                self.queues.give_back(entry.queue, entry.completions);
            }
        }
        Ok(handed)
    }

    /// Takes the completions of one queue. Returns false when the maximum per call is reached.
    fn drain(
        &mut self,
        place: usize,
        handed: &mut usize,
        f: &mut dyn FnMut(u32, Notice<'_>),
    ) -> io::Result<bool> {
        let queue = Arc::clone(self.queues.get(place));
        while *handed < POLL_MAX {
            let mut taken = std::mem::take(&mut self.taken);
            let count = queue.poll(&mut taken);
            for completion in &taken[..*count.as_ref().unwrap_or(&0)] {
                self.hand_out(completion, f);
            }
            self.taken = taken;
            let count = count?;
            *handed += count;
            self.counters.completions += count as u64;
            // The queue had fewer completions than fit into one call, so it is empty.
            if count < TAKEN_AT_ONCE {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn hand_out(&mut self, completion: &ibv_wc, f: &mut dyn FnMut(u32, Notice<'_>)) {
        let number = completion.qp_num;
        let Some(entry) = self.links.get_mut(&number) else { return };
        let Some(link) = entry.link.upgrade() else { return };
        if entry.broken.is_some() {
            return;
        }
        if completion.status != IBV_WC_SUCCESS {
            // SAFETY: the function returns a static string for every number.
            let text = unsafe {
                CStr::from_ptr((self.device.library.ibv_wc_status_str)(completion.status))
            };
            entry.broken = Some(text.to_string_lossy().into_owned());
            return f(number, Notice::Event(Event::Broken));
        }
        if !entry.established {
            // The peer's first message may arrive before the event that the connection is established.
            entry.established = true;
            f(number, Notice::Established);
        }
        match completion.opcode {
            IBV_WC_RECV => {
                let mut message = [0; CONTROL_LEN];
                let message = &mut message[..(completion.byte_len as usize).min(CONTROL_LEN)];
                link.note_used(completion.wr_id, Some(message));
                f(number, Notice::Event(Event::Control(message)));
            }
            IBV_WC_RECV_RDMA_WITH_IMM => {
                link.note_used(completion.wr_id, None);
                let immediate = u32::from_be(completion.imm_data);
                f(number, Notice::Event(Event::Immediate(immediate)));
            }
            _ => f(number, Notice::Event(Event::Sent(completion.wr_id))),
        }
    }

    /// Reads completion events. Call it when [`Hub::completions_fd`] is readable; [`Hub::poll`] then
    /// takes the completions.
    ///
    /// # Errors
    /// When the channel has failed.
    pub fn notified(&mut self) -> io::Result<()> {
        // An armed queue sends one event. When no queue is armed, no event is left to read, and a system
        // call is saved.
        while self.queues.is_any_armed() {
            self.counters.event_reads += 1;
            if !self.queues.read_event()? {
                break;
            }
            self.counters.completion_events += 1;
        }
        Ok(())
    }

    /// Prepares for the event loop to block: requests an event for the next completion, then polls once
    /// more, because a completion that arrived just before causes no event. The loop may block when this
    /// returns 0.
    ///
    /// # Errors
    /// When the device has failed.
    pub fn rest(&mut self, f: impl FnMut(u32, Notice<'_>)) -> io::Result<usize> {
        self.counters.arms += self.queues.arm()?;
        self.poll(f)
    }

    /// Handles connection events. Call it when [`Hub::connections_fd`] is readable. It reports
    /// connections that were established, and connections that have ended, each after all data received
    /// before.
    ///
    /// # Errors
    /// When the device has failed.
    pub fn poll_connections(&mut self, mut f: impl FnMut(u32, Notice<'_>)) -> io::Result<usize> {
        let mut count = 0;
        loop {
            self.counters.event_reads += 1;
            let Some(event) = self.channel.next_event()? else { return Ok(count) };
            self.counters.connection_events += 1;
            count += 1;
            self.hand_out_event(&event, &mut f)?;
        }
    }

    fn hand_out_event(
        &mut self,
        event: &ConnectionEvent,
        f: &mut dyn FnMut(u32, Notice<'_>),
    ) -> io::Result<()> {
        let established = event.kind == RDMA_CM_EVENT_ESTABLISHED;
        match event.kind {
            RDMA_CM_EVENT_ADDR_CHANGE | RDMA_CM_EVENT_TIMEWAIT_EXIT => return Ok(()),
            RDMA_CM_EVENT_ESTABLISHED => {}
            // Pass on the data that arrived before the end, then the end.
            _ => while self.poll_with(f)? >= POLL_MAX {},
        }
        let number = event.number;
        let Some(entry) = self.links.get_mut(&number) else { return Ok(()) };
        if entry.link.strong_count() == 0 || entry.broken.is_some() {
            return Ok(());
        }
        if !established {
            entry.broken = Some(event.describe(self.device.library));
            f(number, Notice::Event(Event::Broken));
        } else if !entry.established {
            entry.established = true;
            f(number, Notice::Established);
        }
        Ok(())
    }
}
